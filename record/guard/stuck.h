/* SPDX-License-Identifier: MIT */
/* Ends the recorder when the memory of the program does not answer. A page of the program may lie on a file system
 * whose server is dead, or whose server is the program itself and plays dead (FUSE). A thread of the recorder that
 * reads such a page sleeps in the kernel, where only SIGKILL or the end of the recorder reaches it. So a thread of its
 * own looks once a second whether another thread is stuck. What was written of the recording is good; the rest of it is
 * lost. */
#ifndef PYREEL_RECORD_GUARD_STUCK_H
#define PYREEL_RECORD_GUARD_STUCK_H

#include <stdbool.h>

/* Starts the thread. `is_asked_to_stop`: whether a signal has asked the recorder to end. Then the thread waits for less
 * long. `exit_code`: that of the recorder. Call after whatever the program of a command would inherit. */
void stuck_watch(bool (*is_asked_to_stop)(void), int exit_code);

#endif
