/* SPDX-License-Identifier: MIT */
/* The signals that pyreel-record and its command get.
 *
 * ^C on a terminal reaches the command by itself, because the command is in the same process group. A signal that was
 * sent to pyreel-record alone is passed on to the command. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT asks
 * pyreel-record to stop cleanly; the second ends pyreel-record at once. */
#ifndef PYREEL_RECORD_LAUNCH_SIGNALS_H
#define PYREEL_RECORD_LAUNCH_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/* Installs the handlers. `with_command`: also handles signals that mean nothing to pyreel-record, to pass them on. */
void signals_handle(bool with_command);

/* Sets the process to which signals are passed on; 0: none. Call this with 0 before the process is reaped, because its
 * number may then become that of another process. */
void signals_pass_on_to(pid_t pid);

/* The signal that asked pyreel-record to stop; 0: none. */
int signals_stop(void);

/* Whether pyreel-record was stopped (SIGSTOP, ^Z) and continued since the last call. */
bool signals_continued(void);

#endif
