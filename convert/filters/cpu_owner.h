/* SPDX-License-Identifier: MIT */
/* Gives CPU time to the looks to which it belongs. A recording has the kernel's count of each thread's CPU time, and
 * looks that the clock alone chose. So of the looks that saw a thread run, each stands for an equal part of the CPU
 * time that the thread used, whatever the thread did between the looks:
 *
 *     look               f, running    sleep    g, running    g, running    sleep
 *     count grew by, ms  2.0           1.0      0             5.0           1.0       9 ms, 3 looks
 *     CPU time, in ms    3.0           0        3.0           3.0           0
 *
 * Looks wait here until their window is over: a quarter of a second, or longer if looks are rare. Then the CPU time
 * that was counted in the window is shared out among the looks that saw the thread run, in proportion to their
 * wall-clock time. A thread cannot have run at one place, from its first look there to the last, for longer than was
 * counted: the part of the wall-clock time that is more counts as two looks. CPU time of a window in which no look saw
 * the thread run is kept for the next window.
 *
 * What a thread used after its last look, and what threads used at which nobody looked, is known of the process as a
 * whole only: the recorder tells it for the entry <not sampled>. The threads that ended in a window share this time and
 * their own among all their looks that saw one of them run: short threads are seen as often as their CPU time is worth,
 * together. A thread with many looks has its own time, and shares for its last moment only. So all CPU time that a
 * recording has is given to somebody:
 *
 *     to looks, or to the one stack that a thread ever had
 *     the rest to the frame <not sampled>: what a thread used that was never seen to run, or more than the looks at
 *         threads that ended can stand for
 *     where a recording has no such frame: to the thread's latest look that saw it run, or else to the latest one; of a
 *         thread without a look to nobody, and `unplaced_ns` has it
 *
 * CPU time that is given when its look is over comes as a run of count 0.
 *
 * The end of a window is also the time at which the waits for native threads are known (native_waits.h). */
#ifndef PYREEL_CONVERT_FILTERS_CPU_OWNER_H
#define PYREEL_CONVERT_FILTERS_CPU_OWNER_H

#include "convert/filters/native_waits.h"

#include "formats/model/sink.h"
#include "formats/model/tables.h"

/* Windows end at the ticks behind multiples of this time. A reader that gives runs ends them there. */
#define CPU_WINDOW_NS 250000000u

struct cpu_thread {
    uint32_t process;
    uint64_t *waiting; /* numbers of the events that are looks which saw the thread run */
    size_t count, room;
    uint64_t weight_ns;  /* while a window is closed: of the waiting looks */
    uint64_t counted_ns; /* CPU time that no look has yet */
    struct run latest;   /* the last look; .stands_ns is 0 when there was none */
    struct run ran;      /* the same of the looks that saw the thread run */
    uint64_t looks;      /* so far */
    uint64_t tail_ns;    /* while a window is closed: the weight of what the thread used after its last look */
    uint32_t stacks;     /* how many different stacks the looks had: 0, 1, or 2 for more */
    bool native;         /* a native thread */
    struct native_waiter waiter;
    bool active; /* it stands in `active` */
    bool ended;
};

/* The CPU time of a process that no thread has. */
struct cpu_pool {
    uint32_t entry; /* the entry <not sampled>; 0: none */
    uint32_t stack; /* that of the frame <not sampled>; 0: none */
    uint64_t time_ns;
    uint64_t rest_ns; /* CPU time that no look has yet */
    /* While a window is closed, of the threads that ended in the window: */
    uint64_t left_ns, weight_ns;    /* CPU time that is to be given, and the weight of the looks that get it */
    uint64_t most_ns;               /* how much of the rest the looks can stand for */
    struct native_process *natives; /* NULL: no native thread has run */
};

/* An event behind a look that waits, or that look. */
struct cpu_event {
    struct event event;
    bool waits;         /* a look of which something is not known yet */
    bool goes_on;       /* a look that found what the thread's look before it found, which waits, too */
    uint64_t weight_ns; /* while a window is closed: its weight */
};

/* `= {0}` is empty. */
struct cpu_owner {
    const struct tables *tables; /* of the events: which threads are native. NULL: none is */
    struct cpu_thread *threads;  /* by number */
    size_t room;
    struct cpu_pool *pools; /* by number of the process */
    size_t pools_room;
    uint32_t *active; /* numbers of the threads with looks that wait or CPU time to give, or that ended */
    size_t active_count, active_room;
    struct cpu_event *events; /* a ring: event n is at n % events_room, which is a power of 2 */
    size_t events_room;
    uint64_t first, next; /* numbers of the first event that waits, and of the next one that comes */
    uint64_t
        *beside; /* numbers of the events that are looks beside native threads: of the threads that may wait for them */
    size_t beside_count, beside_room;
    bool live;            /* set by the caller: whoever looks does not wait for rare looks */
    uint64_t window_ns;   /* when the window ends; 0: none has begun */
    uint64_t stands_ns;   /* how long the latest look stands for */
    uint64_t unplaced_ns; /* CPU time that no stack has */
};

/* Takes an event, and gives the events that are due to the output. A look gets its CPU time, and has no frames any
 * more. False with the reason when the output refused. */
bool cpu_owner_take(struct cpu_owner *owner, struct event *event, const struct sink *output, struct fault *why);

/* Gives all that waits. Call this at the end, also of a recording that was cut. */
bool cpu_owner_finish(struct cpu_owner *owner, const struct sink *output, struct fault *why);

/* Frees the memory. */
void cpu_owner_free(struct cpu_owner *owner);

#endif
