/* SPDX-License-Identifier: MIT */
/* The signals that pyreel-record and its command get.
 *
 * The command shall get what it would get without pyreel-record, once. A key such as ^C, and the end of a shell, send a
 * signal to the whole foreground process group, so the command has the signal already. Each other signal reaches
 * pyreel-record alone, and is passed on: from kill(1), from the terminal to a command in another process group, and the
 * hangup of the terminal, which only the leader of a session gets (ssh -t HOST pyreel-record ..., a container).
 *
 * Descendants of the command get nothing. Once the command has ended, there is nobody to whom a signal is passed on,
 * even if others of its tree live: who started the recorder meant the command, and the others have their own parents.
 *
 * The first SIGINT, SIGTERM or SIGQUIT asks pyreel-record to stop cleanly; the second ends pyreel-record at once.
 * SIGHUP asks to stop cleanly, however often it comes: when a terminal is closed, the shell sends one SIGHUP, and the
 * kernel another when the shell has ended. */
#ifndef PYREEL_RECORD_LAUNCH_SIGNALS_H
#define PYREEL_RECORD_LAUNCH_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Installs the handlers. */
void signals_handle(void);

/* Sets the process to which signals are passed on; 0: none. Call this with 0 before the process is reaped, because its
 * number may then become that of another process. */
void signals_pass_on_to(pid_t pid);

/* The signal that asked pyreel-record to stop; 0: none. */
int signals_stop(void);

/* SIGUSR1 (or SIGUSR2: `number`) is for pyreel-record itself from now on, also with a command. Without this call, both
 * are passed on to the command; without a command, they are always for pyreel-record. SIGHUP (`number`) asks for
 * something else than to stop from now on, unless the terminal was closed. */
void signals_user_keep(int number);

/* How often SIGUSR1 (or SIGUSR2, SIGHUP: `number`) came for pyreel-record itself. Signals that come together may count
 * as one. A signal also ends a clock_sleep_until() early. */
uint32_t signals_user_count(int number);

/* How often pyreel-record was stopped (SIGSTOP, ^Z) and continued so far. */
uint32_t signals_continued(void);

#endif
