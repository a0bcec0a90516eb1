/* SPDX-License-Identifier: MIT */
/* The command that we start, and the signals that we and it get.
 *
 * ^C on a terminal reaches the command by itself, as it is in the same process group; a signal that was sent to us
 * alone is passed on. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT asks us to stop cleanly; the second ends us at
 * once. */
#ifndef PYREEL_RECORD_COMMAND_H
#define PYREEL_RECORD_COMMAND_H

#include "formats/base/fault.h"

#include <sys/types.h>

#define EXIT_OURS 125 /* pyreel-record itself failed, as timeout(1) and env(1) say it */

struct command {
    pid_t pid;   /* 0: there is none */
    int gate;    /* it waits for a byte here before it runs; -1 once open */
    int verdict; /* it says here why it could not run; -1 once read */
    bool ended;
    int wait_status; /* as waitpid() gave it, once ended */
};

/* Starts a process that will run the command once command_run() says so. `to_stderr`: its standard output goes to
 * standard error, as ours is taken by the recording. False when no process could be made. */
bool command_prepare(struct command *command, char **arguments, bool to_stderr, struct fault *why);

/* Lets it run. 0 when it does; else the exit code for us, 126 (not executable) or 127 (not found), with the reason. */
int command_run(struct command *command, char **arguments, struct fault *why);

/* Ends a process that was prepared and never ran. */
void command_cancel(struct command *command);

/* Whether the command has ended; looks without waiting. */
bool command_ended(struct command *command);

/* Waits for its end. */
void command_wait(struct command *command);

/* The exit code a shell would give for it: its own, or 128 + N for signal N. */
int command_exit_code(const struct command *command);

/* From now on signals are handled as told above. `command` may be NULL. */
void signals_handle(const struct command *command);

/* The signal that asked us to stop; 0 when none did. */
int signals_stop(void);

/* Whether we were stopped (SIGSTOP, ^Z) and continued since this was last asked. */
bool signals_continued(void);

#endif
