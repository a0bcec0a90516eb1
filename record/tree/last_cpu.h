/* SPDX-License-Identifier: MIT */
/* The CPU time of processes at their ends. A process that has ended keeps its CPU clock until its parent has asked for
 * the end, which a parent that waits does within 50 us: long before tree_look(). So a thread of its own waits for the
 * ends and reads the clocks at once. Where the parent is faster, the time is not known: one of ten to one of three
 * ends.
 */
#ifndef PYREEL_RECORD_TREE_LAST_CPU_H
#define PYREEL_RECORD_TREE_LAST_CPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LAST_CPU_MOST 256 /* ends that nobody has asked for yet; more push out the oldest ones */

/* `= {0}` is closed. */
struct last_cpu {
    bool open;
    int epoll, stop; /* the pidfds of the processes, and an eventfd */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    struct {
        pid_t pid;
        uint64_t cpu_ns;
    } ends[LAST_CPU_MOST]; /* end n is at n % LAST_CPU_MOST */
    uint64_t count;
};

/* Starts the thread. Without it, all answers are "not known". The struct stays where it is until last_cpu_close(). */
void last_cpu_open(struct last_cpu *last);

/* Waits for the end of a process, until it comes or last_cpu_forget(). */
void last_cpu_watch(struct last_cpu *last, pid_t pid, int pidfd);
void last_cpu_forget(struct last_cpu *last, int pidfd);

/* The CPU time of all threads of a process that has ended, once; 0: not known. */
uint64_t last_cpu_take(struct last_cpu *last, pid_t pid);

/* Ends the thread. */
void last_cpu_close(struct last_cpu *last);

#endif
