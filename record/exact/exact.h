/* SPDX-License-Identifier: MIT */
/* Looks at a program at one moment, which the clock alone chooses.
 *
 * In a CPython with a global lock, only the lock's holder changes Python stacks. So a post goes to the processor on
 * which the holder runs (stand.h). The holder stands still meanwhile, and with it all stacks of the interpreter, and a
 * post reads them. Three facts, checked before and after the read, prove this:
 *
 *   - the lock has the same holder and the same count of switches;
 *   - the holder last ran on the processor of a post: the kernel writes that processor's number into the thread's rseq
 *     area (glibc 2.35 and later). So the holder ran on no other processor;
 *   - this post was on its processor all the time (stand_stayed_on()). So the holder did not run here either.
 *
 * The post reads nothing of the program before it stands on the processor. A read can wait for the lock of the
 * program's memory, and then the program would choose the moment. So the post goes to the processor where the holder
 * was last. If the holder has moved, the look is thrown away and made again there, a few times per tick. If no look of
 * the tick is proven, the last one is kept as it is, and counted as unproved. Two other unproven looks are kept at
 * once:
 *
 *   - a look that began while the program slept, even if the program woke meanwhile. A second look would show what the
 *     program does after the sleep instead;
 *   - a look that began long after its moment. The program may have influenced when the kernel let the post run.
 *
 * Threads may hand on the lock within microseconds, and run on several processors. Following the lock then favours the
 * thread that has it most of the time: a thread that has the lock 80 % of the time would be seen 90 % of the time. So
 * when following fails, the recorder appoints posts on all processors where recent holders ran (16 at most) for a
 * while. The last one to come makes the look, and the others stay.
 *
 * Where threads run Python at the same time, in a free-threaded build, or in interpreters with locks of their own,
 * posts stand in the same way on all processors on which recent looks saw threads run, and each thread is proved by
 * itself (crowd.h).
 *
 * Of some programs no look is proved: of those on processors that the recorder may not use, of those with a real-time
 * priority, and of those whose threads are on unknown processors. The caller makes one look in each tick, as it is. */
#ifndef PYREEL_RECORD_EXACT_EXACT_H
#define PYREEL_RECORD_EXACT_EXACT_H

#include "record/exact/crowd.h"
#include "record/exact/stand.h"
#include "record/unwind/thread_list.h"

/* Reads the threads: one look. May run in a post, and several times per tick. */
typedef enum thread_list_state exact_look(void *self, uint64_t now_ns);

/* The thread that holds the lock, or held it last. */
struct holder {
    uint64_t thread;    /* address of the thread state; 0: not known */
    uint64_t pointer;   /* the thread pointer; 0: the thread is gone */
    uint64_t switches;  /* the lock's count of switches */
    uint32_t processor; /* the processor on which the thread runs, or ran last */
};

/* A thread that held the lock in a recent look. */
struct recent_holder {
    uint64_t thread;    /* address of the thread state; 0: the row is empty */
    uint32_t processor; /* the processor on which the thread ran */
    uint64_t look;      /* number of the look */
};

#define EXACT_RECENT STAND_AT_ONCE

struct exact {
    struct stand stand;
    struct target *target;
    struct thread_list *thread_list;
    /* Set by the caller where the stand captures C stacks: the recorder's numbers of the threads, by those of the
     * process's pid namespace. It changes only while no look is made. */
    const struct intern_pairs *host_threads;
    int64_t rseq;         /* offset of a thread's rseq area from CPython's id of the thread; 0: threads have none */
    struct holder holder; /* as the last look found it: the next look starts with this holder */
    struct recent_holder recent[EXACT_RECENT];
    uint64_t looks;     /* number of looks that were asked for so far */
    uint64_t random;    /* state of the random generator */
    uint64_t lost[2];   /* numbers of the last two looks that followed the lock in vain; 0: none */
    bool appointed;     /* the next look is appointed */
    bool alone;         /* the holder is gone, so the caller makes the look itself, without a post */
    bool standing;      /* a look is being made, and the program should stand still */
    bool proven;        /* the last look is proven to be one moment, ... */
    size_t moved;       /* ... but for so many of its threads */
    uint64_t moment_ns; /* when the last look began (monotonic) */
    bool waited;        /* the last look waited for the lock of the program's memory */
    uint64_t hops;      /* number of appointed looks that were thrown away */
    struct exact_work {
        exact_look *look;
        void *self;
        uint64_t due_ns;      /* the moment of the look; the time of the appointment if that is later */
        struct holder holder; /* the holder that must stand still */
        struct posts posts;   /* the processors on which the program stands still */
        bool begun;           /* the posts have come, and the look has begun */
        enum thread_list_state state;
        uint64_t looks;   /* that were made so far: a post whose thread slept during a look looks again */
        bool retry_later; /* a thread was in the middle of a change, and its memory does not show its stack: look again
                           * at another moment */
        bool same;        /* before and after the look: the same holder on the same processor */
        bool crowd;       /* several threads may run Python at the same time, ... */
        size_t moved;     /* ... and so many may have moved during the look */
        bool elsewhere;   /* one of them ran where no post was, when the look began */
        bool slept;       /* the program slept when the look began */
    } work;               /* the last look that was appointed */
    uint64_t asked, ask_again_ns; /* the thread whose priority was looked up last; when the next lookup is due */
    bool ahead;                   /* that thread has a real-time priority */
    struct crowd before, after;   /* of a program whose threads run at the same time: around the last look */
    const char *refusal; /* why the last look cannot be one moment, for the user; NULL: it can, or nothing is known */
};

/* Starts with a process. May be called again for another process. `thread_list` must be open, and must live as long. */
void exact_open(struct exact *exact, struct thread_list *thread_list, bool raise_priority);

/* Reads the threads and finds the lock's holder while the program runs, shortly before the next look is appointed. What
 * is read is believed no more than a look that is thrown away, but the look then knows the threads that are new, what
 * there is to read of them, and where the holder runs. So a new thread takes no more of the program's time than one
 * that is known. */
void exact_look_ahead(struct exact *exact, uint64_t now_ns);

/* Appoints the next look at moments->due_ns. True: the caller calls exact_read() STAND_LATE_NS after that moment.
 * False: the look will be made by the caller, who calls exact_read() at the moment. */
bool exact_appoint(struct exact *exact, exact_look *look, void *self, const struct moments *moments);

/* Waits for the appointed look, and returns its result. Makes one look itself, now, when no look was appointed or none
 * could be made. `now_ns` is the monotonic clock. */
enum thread_list_state exact_read(struct exact *exact, exact_look *look, void *self, uint64_t now_ns);

/* Whether no look at the program can be one moment, as far as known. */
bool exact_refuses(const struct exact *exact);

/* Calls off the appointed look. Afterwards only the caller uses the thread list. */
void exact_cancel(struct exact *exact);

/* Ends the posts on processors where no look was made lately. Call this now and then while no look is appointed. */
void exact_trim(struct exact *exact, uint64_t now_ns);

/* Tells all posts to end, and does not wait. No look may be appointed, now or later. */
void exact_end(struct exact *exact);

/* Whether all posts have ended after exact_end(), so that exact_close() does not wait. */
bool exact_ended(struct exact *exact);

/* Ends all posts, and waits until they have ended. */
void exact_close(struct exact *exact);

#endif
