/* SPDX-License-Identifier: MIT */
/* A look at a program at one moment, chosen by the clock alone.
 *
 * In a CPython with a global lock only the lock's holder changes Python stacks. So a tick finds out who holds the lock
 * and on which processor that thread runs, stands there (stand.h), and reads: the holder stands still, and with it all
 * stacks of the interpreter. What shows that it did, before the read and after it:
 *
 *   - the lock: the same holder, and the same count of switches;
 *   - the processor: the kernel notes in each thread's rseq area (glibc 2.35 and later) on which processor the thread
 *     last ran code of its program. It is ours, so the thread ran on no other;
 *   - ourselves: we were on that processor all the time (stand->stayed), so the thread did not run there either.
 *
 * Nothing of the program is read before we stand there: a read waits for the lock of the program's memory, and moments
 * would be chosen by when the program lets go of it. So we go to where the holder was last. When the holder moved, we
 * follow, a few times in a tick. What was read without the proof is thrown away, whatever it shows; then the tick is
 * read live (unwind.h), and counted so. A look that began while the program slept is kept even if the program woke
 * meanwhile, and counted as live: what the program does after it slept must not take its place. A look that comes long
 * after its moment is kept and counted as live too: where the kernel does not let us in at once, the program may have
 * had a say in when it does.
 *
 * Threads may hand the lock on within microseconds, and run on several processors. Following the lock then favours the
 * thread that has the lock most of the time: a thread that has the lock 80 % of the time would be seen 90 % of the
 * time. So once following failed, the recorder stands for a while on every processor on which a recent holder ran (on
 * 16 at most), and looks from the processor on which the holder runs.
 *
 * Live from the beginning are programs without such a lock (free-threaded builds), with several of them
 * (sub-interpreters of 3.12 and later), and on processors where we may not run. */
#ifndef PYREEL_RECORD_EXACT_EXACT_H
#define PYREEL_RECORD_EXACT_EXACT_H

#include "record/exact/stand.h"
#include "record/unwind/thread_list.h"

/* The function that reads the threads at the moment. It is called again when the first look was not one moment. */
typedef enum thread_list_state exact_look(void *self, uint64_t now_ns);

/* Who holds the lock, or held it last, and where. */
struct holder {
    uint64_t thread;    /* address of its state; 0: not known */
    uint64_t pointer;   /* its thread pointer; 0: the thread is gone */
    uint64_t switches;  /* of the lock */
    uint32_t processor; /* that the thread runs on, or ran on last */
};

/* A thread that had the lock lately. */
struct recent_holder {
    uint64_t thread;    /* address of its state; 0: there is none here */
    uint32_t processor; /* where it ran then */
    uint64_t look;      /* the number of that look */
};

#define EXACT_RECENT STAND_AT_ONCE

struct exact {
    struct stand stand;
    struct target *target;
    struct thread_list *thread_list;
    int64_t rseq;         /* of a thread's note of its processor, from its thread pointer; 0: there is none */
    struct holder holder; /* at the end of the last look: with whom the next one begins */
    struct recent_holder recent[EXACT_RECENT];
    uint64_t looks;     /* that were asked for so far */
    uint64_t random;    /* the state of the generator */
    uint64_t lost[2];   /* the last two looks to which the lock was followed in vain; 0: none */
    bool appointed;     /* the next look has been */
    bool alone;         /* it is with nobody: the holder is gone, and the caller does it */
    bool proven;        /* the last look was one moment */
    uint64_t moment_ns; /* when it began */
    bool waited;        /* a read of it waited: for the lock of the program's memory */
    uint64_t hops;      /* looks that were thrown away */
    struct exact_work {
        exact_look *look;
        void *self;
        uint64_t due_ns;                    /* its moment, or when it was appointed if that was later */
        struct holder holder;               /* whom it is with */
        uint32_t processors[STAND_AT_ONCE]; /* where it may be, in rising order */
        size_t processors_count;
        enum thread_list_state state;
        bool retry_later; /* a thread stood where its memory does not tell its stack: another moment is looked at */
        bool same;        /* the holder was the same before and after, and on the same processor */
        bool slept;       /* the program slept when the look began */
    } work;               /* the last one that was appointed */
    uint64_t asked, ask_again_ns; /* whose priority was asked for last, and when it is asked for again */
    bool ahead;                   /* that thread has a priority of real time */
    const char *refusal;          /* why the last look could not be one moment, in words; NULL: it could */
};

/* May be called again for another process; `thread_list` must be open, and live as long. */
void exact_open(struct exact *exact, struct thread_list *thread_list, bool raise_priority);

/* Appoints the next look, at moments->due_ns. False when it can't be one moment: then exact_read() is to be called at
 * the moment itself; else STAND_LATE_NS later. */
bool exact_appoint(struct exact *exact, exact_look *look, void *self, const struct moments *moments);

/* Waits for the look that was appointed, and returns its result. Without an appointment, or when no look of the tick is
 * proven, the threads are read live, now. `now_ns` is the clock's time. */
enum thread_list_state exact_read(struct exact *exact, exact_look *look, void *self, uint64_t now_ns);

/* Calls off the look that was appointed: the thread list is nobody's but the caller's again. */
void exact_cancel(struct exact *exact);

void exact_close(struct exact *exact);

#endif
