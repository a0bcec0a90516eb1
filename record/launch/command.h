/* SPDX-License-Identifier: MIT */
/* The command that pyreel-record starts. command_prepare() makes a process that waits, so that its number is known.
 * command_run() lets this process run the command, and command_wait() waits for its end. */
#ifndef PYREEL_RECORD_LAUNCH_COMMAND_H
#define PYREEL_RECORD_LAUNCH_COMMAND_H

#include "formats/base/fault.h"

#include <stdint.h>
#include <sys/types.h>

#define EXIT_OURS 125 /* exit code when pyreel-record itself failed, the same as that of timeout(1) and env(1) */

struct command {
    pid_t pid;           /* 0: there is no command */
    int gate;            /* pipe: the process waits for a byte here before it runs the command; -1 afterwards */
    int verdict;         /* pipe: the process writes the error here if it cannot run the command; -1 once read */
    bool ended;          /* the process was reaped, ... */
    int wait_status;     /* ... and waitpid() gave this status */
    uint64_t cpu_ns;     /* CPU time of the process at its end; 0: not known */
    uint64_t all_cpu_ns; /* the same with that of all its children for which it waited, and of theirs */
};

/* Returns the command behind "python3" when the command is a Python file, which only Python can run. The array is
 * owned. NULL: the command is something else. */
char **command_with_python(char **arguments);

/* Starts a process that will run the command. `to_stderr`: its standard output goes to standard error, because the
 * recording goes to standard output. False with the reason when no process could be made. */
bool command_prepare(struct command *command, char **arguments, bool to_stderr, struct fault *why);

/* Lets the prepared process run the command. Returns 0, or with the reason the exit code for pyreel-record: 126 (not
 * executable) or 127 (not found). */
int command_run(struct command *command, char **arguments, struct fault *why);

/* Ends a process that was prepared and did not run the command. */
void command_cancel(struct command *command);

/* Whether the command has ended. Does not wait. */
bool command_ended(struct command *command);

/* Waits for the end of the command. */
void command_wait(struct command *command);

/* The exit code that a shell would give for the ended command: its exit code, or 128 + N for signal N. */
int command_exit_code(const struct command *command);

#endif
