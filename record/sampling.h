/* SPDX-License-Identifier: MIT */
/* Finds the Pythons among the watched processes, and takes their ticks, until the recording is over. */
#ifndef PYREEL_RECORD_SAMPLING_H
#define PYREEL_RECORD_SAMPLING_H

#include "record/session.h"

/* How long a process to which pyreel-record attaches may take to become a Python. */
#define BECOME_PYTHON_NS 1000000000u

/* Waits until the program, which runs already, is a running Python, or until it is certain that it will not be one
 * before `give_up_ns` (monotonic). Then session->why has the reason. With `give_up_ns` 0, only a program that cannot be
 * read takes time. The program is not attached yet. */
enum target_state sampling_find(struct session *session, uint64_t give_up_ns);

/* Begins the pause of --delay, behind which --duration begins. */
void sampling_delay(struct session *session);

/* Samples the program, and with --subprocesses all processes of its tree, one program after the other: execve starts
 * another program. Returns when no process is left or the recording must stop, and sets session->reason. */
void sampling_run(struct session *session);

/* Waits for the end of the command. Takes no ticks; lets threads of the command that were stopped go on meanwhile. */
void sampling_wait_for_command(struct session *session);

#endif
