/* SPDX-License-Identifier: MIT */
/* The threads of a program that run Python at the same time: in a free-threaded build, or in interpreters that each
 * have a lock of their own. A look at all of them needs a post on each of their processors (stand_appoint()). What
 * is read here before and after the look proves that all of them stood still:
 *
 *     a thread that is attached,            last ran on the processor of a post, and on no other one since: the kernel
 *     or holds the lock of its interpreter  writes the number into the thread's rseq area
 *     any other thread                      runs no Python before and after the look, and is on the same processor
 *     a lock                                has the same holder, and the same count of switches */
#ifndef PYREEL_RECORD_EXACT_CROWD_H
#define PYREEL_RECORD_EXACT_CROWD_H

#include "record/exact/stand.h"
#include "record/unwind/thread_list.h"

/* A thread state, as it was read. */
struct crowd_thread {
    uint64_t pointer;   /* its thread, as the list had it: another thread may get the address of the state */
    uint64_t frame;     /* its current frame; before 3.13, its newest C frame */
    uint32_t processor; /* on which the thread ran last */
    uint32_t attachment;
    bool lost;               /* a part of this is not readable */
    bool asked, known, runs; /* it was read; the processor is known; the thread may run Python */
};

/* All threads and locks at a moment. `= {0}` is empty. */
struct crowd {
    bool whole;                   /* all could be read */
    struct crowd_thread *threads; /* by the index of the member: a new list spoils nothing */
    size_t count, room;
    struct crowd_lock {
        uint64_t at;                         /* address; 0: not known */
        unsigned char bytes[LAYOUT_GIL_MAX]; /* as they were read, ... */
        struct gil gil;                      /* ... and what they say */
    } * locks;                               /* of the interpreters, in their order */
    size_t locks_count, locks_room;
};

/* Reads the threads of the list, or of a long list those that ran lately, and the locks. `rseq`: offset of a thread's
 * rseq area from CPython's id of the thread. */
void crowd_read(struct crowd *crowd, const struct thread_list *thread_list, int64_t rseq);

/* How many of the threads that were asked for in this tick may have run Python between two readings, while these posts
 * stayed. */
size_t crowd_moved(const struct crowd *before, const struct crowd *after, const struct thread_list *thread_list,
                   const struct posts *posts);

/* Whether the second reading has threads that the first has not. */
bool crowd_has_new(const struct crowd *before, const struct crowd *after);

/* Whether a thread runs Python where no post is. */
bool crowd_is_elsewhere(const struct crowd *crowd, const struct posts *posts);

/* Whether no thread runs Python. */
bool crowd_sleeps(const struct crowd *crowd);

/* Frees the memory. */
void crowd_free(struct crowd *crowd);

#endif
