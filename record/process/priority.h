/* SPDX-License-Identifier: MIT */
/* A priority of our own: a recorder that waits for a processor misses ticks, more of them while the program computes
 * than while the program sleeps. What is allowed is taken, best first:
 *
 *     real time   SCHED_FIFO 1 (CAP_SYS_NICE). A watchdog gives the priority back when a thread of ours runs on for
 *                 WATCHDOG_MS without a pause, so that nothing of ours can keep a processor.
 *     nice        -20 (CAP_SYS_NICE or RLIMIT_NICE)
 *     slice       the shortest time slice that the kernel has: whoever asks for little is served sooner (Linux 6.12) */
#ifndef PYREEL_RECORD_PROCESS_PRIORITY_H
#define PYREEL_RECORD_PROCESS_PRIORITY_H

enum priority { PRIORITY_OWN, PRIORITY_SLICE, PRIORITY_NICE, PRIORITY_REAL_TIME };

/* Raises the calling thread, and says how far. A process that we start later does not inherit real time. */
enum priority priority_raise(void);

/* "real time", "nice -20", ... */
const char *priority_text(enum priority priority);

#endif
