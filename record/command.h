/* SPDX-License-Identifier: MIT */
/* The command that pyreel-record starts: prepared as a process that waits, so that its number is known before it runs;
 * then run, waited for, and its exit code told. */
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

#endif
