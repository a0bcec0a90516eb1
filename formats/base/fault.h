/* SPDX-License-Identifier: MIT */
/* A fault is the first cause of a failure, in words a user can act on. Whoever knows it best says it in one line:
 *
 *     return fault(why, "cannot read process %d: %s", pid, strerror(errno));
 *
 * Later faults do not overwrite it, so callers may add theirs without asking. `= {0}` is "nothing went wrong". */
#ifndef PYREEL_FORMATS_BASE_FAULT_H
#define PYREEL_FORMATS_BASE_FAULT_H

#include <stdbool.h>

struct fault {
    char text[1024];
};

/* Notes the cause unless one is there already. `why` may be NULL. Always returns false. */
bool fault(struct fault *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
