/* SPDX-License-Identifier: MIT */
/* Does work on a chosen processor at a chosen moment. The work runs in a post: a thread of the recorder that is bound
 * to the processor. When a post wakes, the kernel preempts the thread that runs there. While the post runs, nothing
 * else runs on this processor, so a thread of the program on it stands still. This needs no privilege, and the program
 * sees only what any other process would do to it.
 *
 * The caller may appoint work on several processors, when it does not know on which of them the program runs, or when
 * several of its threads run at the same time. All their posts wake at the moment. The last one to come does the work,
 * and the others stay until it is done, so that the program stands still on all of the processors. A post that leaves
 * before says so (stand->stayed, stand_stayed_on()):
 *
 *     post 0     │ stays                          ·
 *     post 1     │ stays                          ·
 *     post 2         │ does it                  ·
 *
 * A post that woke for an announced moment in vain stays for the work of the others, too: whoever ran on its processor
 * is not taken for somebody who waits for a processor (process/cpu.h).
 *
 * Each post wakes by its own timer on its own processor. The timer's interrupt stops the program exactly at the drawn
 * moment. A wake-up from another processor would distort samples: the kernel first marks the program's thread for
 * preemption, and the interrupt follows some microseconds later. A system call that ends between the two yields to the
 * post early. Samples would show the ends of system calls three times too often (tests/bench/README.md).
 *
 *     caller        announces 1, 2, 3   meets 1, announces 4         meets 2, announces 5
 *     post          arms 1, 2 ·········│1│ arms 3 ··················│2│ arms 4 ·········
 *     the program   runs ··············   runs ·····················   runs
 *
 * When a post ends its work, the timer of the next moment is armed already, and the post arms the timer of the moment
 * after that. Arming a timer that is not the next one to expire needs no access to the timer's hardware, which takes 5
 * us in a virtual machine. So the caller announces MOMENTS_AHEAD moments beyond the one that is due.
 *
 * The data of the work belongs to the post from the appointed moment until stand_meet() returns. The caller does not
 * touch the data in that time, so no lock is needed. Work during which the post slept is done again at once, because
 * the program ran meanwhile. If the recorder may use one processor only, the caller does the work itself. */
#ifndef PYREEL_RECORD_EXACT_STAND_H
#define PYREEL_RECORD_EXACT_STAND_H

#include "record/process/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAND_PROCESSORS CPU_SETSIZE
/* Time from the moment to the end of the work, as a rule. The caller calls stand_meet() that long after the moment. */
#define STAND_LATE_NS 45000

struct post;
struct capture;

/* Does the work. Called in a post on this processor. False when there was nothing to do. */
typedef bool stand_work(void *data, uint32_t processor, uint64_t now_ns);

#define STAND_AT_ONCE 16 /* most processors per appointment */

/* The processors of an appointment, on which the program stands still. `= {0}` is none. */
struct posts {
    uint32_t processors[STAND_AT_ONCE]; /* in the order in which they were added */
    size_t count;
};

/* Whether there is a post on this processor. */
static inline bool posts_have(const struct posts *posts, uint32_t processor)
{
    for (size_t i = 0; i < posts->count; i++)
        if (posts->processors[i] == processor)
            return true;
    return false;
}

/* Adds a processor. Does nothing when it is there, or when there are STAND_AT_ONCE. */
static inline void posts_add(struct posts *posts, uint32_t processor)
{
    if (posts->count < STAND_AT_ONCE && !posts_have(posts, processor))
        posts->processors[posts->count++] = processor;
}

/* `= {0}` is closed. */
struct stand {
    /* Only the caller uses these, except for `raise`. */
    bool open;
    cpu_set_t allowed;   /* processors that the recorder may use, ... */
    int count;           /* ... and their number */
    bool raise;          /* posts raise their priority. Posts read it, too */
    struct post **posts; /* in any order; not more than one on each processor */
    size_t posts_count, posts_room;
    struct post *ending; /* posts that were told to end, and whose threads may still run */

    /* The work of the posts. Posts read it from the appointed moment until they have passed the moment or are called
     * off; the caller writes it outside that time. */
    struct post *appointed[STAND_AT_ONCE]; /* the posts of the last appointment ... */
    size_t appointed_count;                /* ... and their number; 0: the caller does the work itself */
    stand_work *work;
    void *data;
    struct capture *captures; /* set by the caller between two appointments: one for each post of an appointment, in
                               * the order of its processors. The work says which thread each of them stops, after the
                               * work, from its processor; NULL: no thread is stopped */

    /* Only the caller uses these. */
    uint32_t processor; /* used when the caller does the work: its processor, ... */
    uint64_t moment_ns; /* ... and the moment */

    /* Caller and posts read and write these at any time. */
    _Atomic uint32_t claim;     /* enum claim of stand.c: whether a post has taken the work */
    _Atomic uint32_t came;      /* posts of the last appointment that have come */
    _Atomic uint64_t look_ns;   /* the moment of the last appointment */
    _Atomic uint32_t passes;    /* moments that posts have passed. A futex: the caller sleeps on it */
    _Atomic bool caller_sleeps; /* the caller sleeps, or is about to: posts wake it */

    /* Only the caller uses these. */
    bool stayed;         /* nothing else ran on any of the processors during the last work */
    bool waited;         /* the post slept during the last work, and did the work again */
    uint64_t began_ns;   /* when the last work began (monotonic) */
    uint64_t turns;      /* number of appointments */
    uint64_t works;      /* appointments that a post came to, or that the caller did itself */
    uint64_t waits;      /* how often the caller slept to wait for a post or a moment */
    uint64_t starved_ns; /* for how long the caller slept because the posts did not get their processors */
    uint64_t taken_ns;   /* see stand_taken_ns() */
    bool busy;           /* a post still waits for the stop of a thread, so there was no appointment */
    bool ticking;        /* there was an appointment since the last tick ended */
    bool crowded;        /* the caller has no processor besides those of the appointment, and runs on one of these */
};

/* Finds the processors that the recorder may use. `raise`: posts raise their priority. */
void stand_open(struct stand *stand, bool raise);

/* Whether the recorder may use this processor. */
bool stand_may(const struct stand *stand, uint32_t processor);

/* Appoints work(data, processor, now) at moments->due_ns, while these posts stand, at least one. The posts also learn
 * the next moments, for which the same processors are likely appointed. False when the recorder may not use one of the
 * processors, or when a post is busy. */
bool stand_appoint(struct stand *stand, const struct posts *posts, const struct moments *moments, stand_work *work,
                   void *data);

/* Waits until the last appointment is over. Returns whether a post did the work. False when there was nothing to do,
 * when a post did not come, or when the posts passed the moment before the appointment was made. */
bool stand_meet(struct stand *stand);

/* Whether nothing else ran on this processor of the last appointment during the last work. */
bool stand_stayed_on(const struct stand *stand, uint32_t processor);

/* Calls off the last appointment. After the return no post does the work any more, and the data is the caller's. */
void stand_cancel(struct stand *stand);

/* Ends a tick, when everything is done that is due to the last appointments. What the caller uses until the next tick
 * is no cost of ticks. */
void stand_end_tick(struct stand *stand);

/* The processor time that all work has taken from the program, with an estimate for interrupts and switches. Where
 * several posts woke at one moment, the post that took most counts. Where the caller has no processor besides those of
 * the posts, its own time in a tick counts, too. */
uint64_t stand_taken_ns(const struct stand *stand);

/* Ends the posts that had no appointment for a second, so that a process has posts only where it runs. Does not wait
 * for their threads. Call this now and then between two appointments. */
void stand_trim(struct stand *stand, uint64_t now_ns);

/* Tells all posts to end, and does not wait: a post ends when it gets its processor, which can take long on a busy
 * machine. Nothing may be appointed, now or later. */
void stand_end(struct stand *stand);

/* Whether all posts have ended after stand_end(), so that stand_close() does not wait. */
bool stand_ended(struct stand *stand);

/* Ends all posts, and waits until they have ended. Safe on a zeroed or closed struct. */
void stand_close(struct stand *stand);

/* How often the calling thread has left its processor so far. While both counts stay the same, the thread was on its
 * processor all the time, and nothing else ran there. */
struct stay {
    uint64_t waits;       /* the thread slept */
    uint64_t preemptions; /* the kernel ran another thread instead */
    uint64_t used_ns;     /* processor time so far, to the microsecond */
};
struct stay stand_stay_now(void);

#endif
