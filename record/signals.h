/* SPDX-License-Identifier: MIT */
/* The signals that pyreel-record and its command get.
 *
 * ^C on a terminal reaches the command by itself, because the command is in the same process group. A signal that was
 * sent to pyreel-record alone is passed on to the command. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT asks
 * pyreel-record to stop cleanly; the second ends pyreel-record at once. */
#ifndef PYREEL_RECORD_SIGNALS_H
#define PYREEL_RECORD_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on signals are handled as told above. `with_command`: signals that mean nothing to pyreel-record are handled
 * too, to be passed on. */
void signals_handle(bool with_command);

/* The process that gets the signals that were sent to us; 0: none. A process that ends is taken back before it is
 * reaped: its number is free for other processes then. */
void signals_pass_on_to(pid_t pid);

/* The signal that asked us to stop; 0: none did. */
int signals_stop(void);

/* Whether we were stopped (SIGSTOP, ^Z) and continued since the last call. */
bool signals_continued(void);

#endif
