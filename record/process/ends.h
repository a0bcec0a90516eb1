/* SPDX-License-Identifier: MIT */
/* Ends of children, as waitid() tells them. */
#ifndef PYREEL_RECORD_PROCESS_ENDS_H
#define PYREEL_RECORD_PROCESS_ENDS_H

#include <signal.h>
#include <stdbool.h>

/* Whether the child has ended. waitid() with WEXITED also tells that a thread stopped which the caller traces
 * (--blocking), and that is no end. */
static inline bool ends_is_end(const siginfo_t *info)
{
    return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED;
}

#endif
