/* SPDX-License-Identifier: MIT */
/* Raises the recorder's priority. A recorder that waits for a processor misses ticks, more of them while the program
 * computes than while it sleeps. The recorder takes the best that it is allowed to, best first:
 *
 *     real time   SCHED_FIFO 1 (CAP_SYS_NICE). A watchdog gives the priority back when a thread of the recorder
 *                 runs for WATCHDOG_MS without a pause, so the recorder cannot block a processor.
 *     nice        -20 (CAP_SYS_NICE or RLIMIT_NICE)
 *     slice       the shortest time slice that the kernel has, so that a thread gets a processor sooner (Linux 6.12) */
#ifndef PYREEL_RECORD_PROCESS_PRIORITY_H
#define PYREEL_RECORD_PROCESS_PRIORITY_H

#include <pthread.h>

enum priority { PRIORITY_OWN, PRIORITY_SLICE, PRIORITY_NICE, PRIORITY_REAL_TIME };

/* Raises the priority of the calling thread; returns how far. A process that the recorder starts later does not inherit
 * real time. */
enum priority priority_raise(void);

/* Gives real time to a thread that was just created, if the caller has it. A thread that would raise its own priority
 * has to wait for its first turn, which takes long where many others want the processor. */
void priority_lend(pthread_t thread);

/* The name of a priority for messages: "real-time", "nice -20", ... */
const char *priority_text(enum priority priority);

#endif
