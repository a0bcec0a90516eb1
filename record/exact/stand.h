/* SPDX-License-Identifier: MIT */
/* Standing on a processor: work is done by a thread of ours, a post, that is bound to it. When a post wakes, the kernel
 * preempts whatever runs there, and as long as the post runs, nothing else does. So a thread of the program whose
 * processor that is stands still. No privilege is needed, and the program only sees what any other process would do to
 * it.
 *
 * Work may be appointed on several processors when it is not known on which of them there will be something to do. All
 * their posts wake at the moment. One after the other, each asks whether the work is its own, until one takes it:
 *
 *     post 0     │ asks: no ·
 *     post 1     │ waits    │ asks: yes │ does it ·
 *     post 2         │ waits            ·
 *
 * A post wakes by a timer of its own, on its own processor. The timer's interrupt stops the program at the moment that
 * was drawn, wherever the program is. To wake the post from another processor would be wrong: the kernel marks the
 * program's thread at once, and the interrupt follows some microseconds later; a system call that ends in between gives
 * way to the post early. A program that makes many calls would be seen at their ends, three times as often as it is
 * there (tests/bench/README.md).
 *
 *     caller        tells 1, 2, 3       meets 1, tells 4             meets 2, tells 5
 *     post          arms 1, 2 ·········│1│ arms 3 ··················│2│ arms 4 ·········
 *     the program   runs ··············   runs ·····················   runs
 *
 * When a post leaves, the timer of the next moment is armed already, and the post arms the timer of the moment after
 * that: to arm a timer that is not the next one costs no access to the timer's hardware, which takes 5 us in a virtual
 * machine. So the caller tells MOMENTS_AHEAD moments beyond the one that is due. While a post works the caller waits or
 * is elsewhere: all that the work uses is the post's from the moment that was appointed until stand_meet(), and nothing
 * needs a lock. Work that has waited for something is done again at once, since the program went on meanwhile. Where we
 * have only one processor, the caller does the work itself, being there already. */
#ifndef PYREEL_RECORD_EXACT_STAND_H
#define PYREEL_RECORD_EXACT_STAND_H

#include "record/process/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAND_PROCESSORS CPU_SETSIZE
#define STAND_LATE_NS                                                                                                  \
    45000 /* work is done so long after its moment, as a rule: when the caller should come to meet it */

struct post;
/* Whether the work is to be done on this processor, where it is asked. */
typedef bool stand_ask(void *data, uint32_t processor);
/* Does the work on this processor. False when there was none. */
typedef bool stand_work(void *data, uint32_t processor, uint64_t now_ns);

#define STAND_AT_ONCE 16 /* processors of an appointment, at most */

/* `= {0}` is closed. */
struct stand {
    cpu_set_t allowed; /* processors that we may run on */
    int count;
    bool raise;                           /* posts raise their priority */
    struct post *posts[STAND_PROCESSORS]; /* by processor; NULL: none yet */

    struct post *appointed[STAND_AT_ONCE]; /* the posts of the last appointment ... */
    size_t appointed_count;                /* ... and how many there are; 0: the caller itself */
    stand_ask *ask;
    stand_work *work;
    void *data;
    uint32_t processor; /* for the caller itself */
    uint64_t moment_ns; /* the same */

    _Atomic uint32_t claim;  /* which post has the work: see stand.c */
    _Atomic uint32_t passes; /* of posts. A futex: the caller sleeps on it */
    _Atomic bool caller_sleeps;

    bool stayed;         /* nothing else ran on the processor while the last work was done there */
    bool waited;         /* the last work waited for something, and was done again right after */
    uint64_t began_ns;   /* when the last work began */
    uint64_t works;      /* appointments that posts came to, or the caller */
    uint64_t waits;      /* of the caller for a post, in the kernel */
    uint64_t taken_ns;   /* see stand_taken_ns() */
    uint64_t counted_ns; /* of the caller's processor time, in it */
    bool crowded;        /* the caller has no processor besides those of the appointment */
};

/* Asks which processors we may use. */
void stand_open(struct stand *stand, bool raise);

/* Whether work can be done on a processor. */
bool stand_may(const struct stand *stand, uint32_t processor);

/* Appoints work(data, processor, now) on one of the processors at moments->due_ns, and tells the posts which moments
 * will most likely be appointed there next. ask(data, processor) tells which processor it is; where there is but one,
 * nobody is asked. False when work can't be done on one of the processors. */
bool stand_appoint(struct stand *stand, const uint32_t *processors, size_t count, const struct moments *moments,
                   stand_ask *ask, stand_work *work, void *data);

/* Waits until the work that was appointed last is done, and tells whether it is. False when it was none of the posts',
 * or when they came by before the work was theirs: the appointment was made too late. */
bool stand_meet(struct stand *stand);

/* Calls off what was appointed and not met: it is done by now, or never will be. */
void stand_cancel(struct stand *stand);

/* The time that all the work has taken from the processors it was done on, with an estimate of what it takes to get
 * there and back. Processors lose theirs at once: it is that of the one that lost most. */
uint64_t stand_taken_ns(const struct stand *stand);

/* Safe on a zeroed or closed one. */
void stand_close(struct stand *stand);

/* How often the calling thread has left its processor so far: by itself, since it waited for something, or not. While
 * neither changes, the thread stays there, and nothing else runs there. */
struct stay {
    uint64_t waits, preemptions;
    uint64_t used_ns; /* processor time so far, to the microsecond */
};
struct stay stand_stay_now(void);

#endif
