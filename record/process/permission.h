/* SPDX-License-Identifier: MIT */
/* Explains why a process may not be read. The kernel only says "not permitted". This module checks the possible causes
 * one by one, so that the message names the cause and what to do about it. */
#ifndef PYREEL_RECORD_PROCESS_PERMISSION_H
#define PYREEL_RECORD_PROCESS_PERMISSION_H

#include "formats/base/fault.h"

#include <stdint.h>
#include <sys/types.h>

/* The capabilities of the recorder that hold now, a bit for each. */
uint64_t permission_capabilities(void);

/* Puts the cause, and what to do, into `why`. Always returns false. */
bool permission_explain(pid_t pid, struct fault *why);

/* The same for a process that is not in /proc: whether there is none, or /proc does not show it. Always returns false.
 */
bool permission_explain_absence(pid_t pid, struct fault *why);

/* Whether /proc shows the processes that the recorder's own numbers of processes mean. False with the reason, and with
 * what to do. */
bool permission_see_processes(struct fault *why);

#endif
