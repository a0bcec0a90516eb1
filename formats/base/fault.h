/* SPDX-License-Identifier: MIT */
/* A fault is the first cause of a failure, in words that a user can act on. The function that knows the cause best
 * reports it in one line:
 *
 *     return fault(why, "cannot read process %d: %s", pid, strerror(errno));
 *
 * The text may be printed on a terminal as it is: names in it are made printable (utf8.h).
 *
 * A later fault does not replace an earlier one, so each caller may report its own. `= {0}` means that nothing went
 * wrong. */
#ifndef PYREEL_FORMATS_BASE_FAULT_H
#define PYREEL_FORMATS_BASE_FAULT_H

#include <stdbool.h>

struct fault {
    char text[1024];
};

/* Notes the cause, unless `why` already holds one. `why` may be NULL. Always returns false. */
bool fault(struct fault *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
