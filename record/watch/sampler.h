/* SPDX-License-Identifier: MIT */
/* Samples processes: looks at one process after the other, and gives the stacks of its threads to the sink.
 *
 * Each process has its own clock, a budget (budget.h) that draws the moments of its ticks at random. A tick belongs to
 * one process, and only one process is looked at at a time:
 *
 *     process 1    ·  |      ·    |   ·       |      ·          | an interval, · a tick
 *     process 2    ·    ·   ·  |   ·    ·   ·   |
 *     process 3    (rests)                 ·                  (rests)
 *
 * A look that falls due while another process is looked at comes late, and never earlier or later for what its own
 * process does. Each tick has the time at which it was made. A tick that could not be made in time counts as missed;
 * later ticks do not make up for it. One exception: while a look waits for the lock of the process's memory, the
 * process does what the look then finds. So the ticks of this time repeat what the look found, see sampler_turn().
 *
 * Processes on one processor share the limit of what sampling may take from this processor: the part of each process
 * follows from the cost of its ticks.
 *
 * Where there are several processes, a process that sleeps for a while rests: its time is divided into windows, the
 * longer the longer it sleeps, and in each window, at a random moment, the kernel is asked whether the process has run.
 * Both answers make a tick that stands for the window: "no" repeats the last samples, "yes" is a look. Then the windows
 * end, and the process has ticks in its budget's intervals again, which are nothing but shorter windows. So a window's
 * length follows from what was known at its beginning, and no moment is preferred. Long windows are made of beats,
 * which all processes share, so one wake-up asks many; the more processes, the longer is the longest window, from 64 ms
 * to a second:
 *
 *     beats       |     .     |  .        |       .   |   .       |     16 ms each, with a random moment
 *     process 1   |     ?                             |   ?             4 beats: asked in one of them
 *     process 2   |              ?        |       ?   |   ?             2 beats, then 1
 */
#ifndef PYREEL_RECORD_WATCH_SAMPLER_H
#define PYREEL_RECORD_WATCH_SAMPLER_H

#include "record/watch/watched_look.h"
#include "record/watch/watched_search.h"

#define SAMPLER_ENDING 32 /* forgotten processes whose posts still end */

struct sampler {
    /* set by the caller, before sampler_open() */
    struct watch_options options;
    struct synthetic_frames synthetic; /* the caller sets .native, .gc and .depth (0: no limit) only */

    struct emitter emitter;
    struct watch_shared shared;
    struct watched **watched; /* every process that sampler_watch() was called for, without the forgotten ones */
    size_t count, room;
    struct watched *ending[SAMPLER_ENDING]; /* forgotten processes whose posts still end, the oldest first */
    size_t ending_count;
    struct watched_counters forgotten; /* counters of the forgotten processes, ... */
    uint64_t forgotten_left_out;       /* ... and the ticks that their budgets left out */
    uint64_t time_ns;                  /* time of the last tick since the start of the recording; times never go back */
    uint64_t seed;                     /* of the moments of beats */
    uint64_t rest_due_ns;              /* when processes that rest are asked next (monotonic); 0: none rests */
    uint64_t measure_due_ns;           /* when sampler_measure() is due (monotonic); 0: no tick was made yet */
    uint64_t measures;                 /* number of calls of sampler_measure() */
    uint64_t lived_ns;                 /* see sampler_lives_ns(), of the detached processes */
    uint64_t missed, missed_ns;        /* number of missed ticks, and the total length of their intervals */
    uint64_t paused_ns;                /* total length of the pauses */
    uint32_t continued;                /* signals_continued() at the last pause */
    uint64_t blocked;                  /* number of ticks whose moment was while a look waited */
};

/* Starts without processes. The sink must live as long. */
void sampler_open(struct sampler *sampler, struct sink sink);

/* Watches one more process, see watched_open(). The sampler owns the returned struct, until sampler_forget() or
 * sampler_close(). */
struct watched *sampler_watch(struct sampler *sampler, pid_t pid, struct command *command);

/* Detaches a process as watched_detach() does, and tells which ticks it missed at last. */
void sampler_detach(struct sampler *sampler, struct watched *watched, enum fate fate);

/* Detaches a process that has ended, and frees all that is known of it. Does not wait for its posts, because other
 * processes are due meanwhile. */
void sampler_forget(struct sampler *sampler, struct watched *watched);

/* Attaches to a process, whose target is open. Its first tick is due soon. */
void sampler_attach(struct sampler *sampler, struct watched *watched);

/* The attached process whose tick is due first. NULL: there is none, or all rest. */
struct watched *sampler_next(const struct sampler *sampler);

/* When processes that rest are asked next (monotonic); UINT64_MAX: none rests. */
uint64_t sampler_rest_due_ns(const struct sampler *sampler);

enum sampler_state {
    SAMPLER_GOING,
    SAMPLER_LOST,  /* the process is lost (watched->lost): the caller detaches it */
    SAMPLER_STUCK, /* the sink refused an event, with the reason */
};

/* From sampler_rest_due_ns() on, asks the processes that rest and are due whether they still sleep, and makes their
 * ticks. No look may be appointed. Not SAMPLER_LOST: a lost process is due at once. */
enum sampler_state sampler_ask_resting(struct sampler *sampler, uint64_t now_ns, struct fault *why);

/* Appoints the look of the process's next tick, if the look can be one moment. True: the caller calls sampler_turn()
 * STAND_LATE_NS after the tick is due. False: at that moment. Without a call, the next tick is unproved. Until the call
 * of sampler_turn() or watched_cancel(), no other function of the sampler may be called. */
bool sampler_appoint(struct watched *watched);

/* Makes the tick of a process that is due, and goes on to the next moment of the process. Counts ticks that were missed
 * meanwhile. If the look waited for the lock of the process's memory, emits the ticks of this time as well. */
enum sampler_state sampler_turn(struct sampler *sampler, struct watched *watched, struct fault *why);

/* Makes one tick of a process: now, or the appointed one. `now_ns` is the monotonic clock. `missed` is the number of
 * ticks missed before this tick. Part of sampler_turn(). Not inlined, so that tests/bench can measure its cost. */
__attribute__((noinline)) enum sampler_state sampler_tick(struct sampler *sampler, struct watched *watched,
                                                          uint64_t now_ns, uint64_t missed, struct fault *why);

/* Emits `count` more ticks of a process, evenly spaced from its last tick to now, which repeat the samples of that
 * tick. Part of sampler_turn(). False when the sink refused. */
bool sampler_ticks_again(struct sampler *sampler, struct watched *watched, uint64_t count, struct fault *why);

/* Says that the time since the last tick was a pause: a signal had stopped the recorder (signals_continued()). No
 * sample stands for that time, and the CPU time that threads used in it does not count. Call this at the end of the
 * pause, while no look is appointed. A pause is a tick of each process without samples, behind which threads are looked
 * at anew (see sample.fresh), and all clocks start anew. sampler_tick() does the same for a stop during its look. False
 * when the sink refused. */
bool sampler_pause(struct sampler *sampler, struct fault *why);

/* How often sampler_measure() is due: so often that a curve shows what a program does, and so rarely that the cost does
 * not count, in system calls (one, and two for each process) and in bytes of the file. */
#define SAMPLER_MEASURE_NS 100000000u

/* When measures are due (monotonic); UINT64_MAX before the first tick. */
uint64_t sampler_measure_due_ns(const struct sampler *sampler);

/* Emits a measure of each attached process, and shares the limit between the processes of each processor. A process
 * that rests is measured rarely. Call this between ticks, while no look is appointed. */
void sampler_measure(struct sampler *sampler, uint64_t now_ns);

/* Calls freeze_settle() for each process. Returns whether threads are left that still have to stop. */
bool sampler_settle(struct sampler *sampler);

/* The two steps from one stream to the next, between ticks: sampler_flush() emits what is kept back, and behind the
 * description of the new stream, sampler_restart() emits all anew that the new stream needs to be complete by itself.
 */
void sampler_flush(struct sampler *sampler);
void sampler_restart(struct sampler *sampler);

/* The time that looks have taken from all processes so far. */
uint64_t sampler_taken_ns(const struct sampler *sampler);

/* The sum of the lives of all processes that had ticks, from attaching on: the time in which ticks of several processes
 * were due. Readers of the recording find the same time. */
uint64_t sampler_lives_ns(const struct sampler *sampler);

/* The number of ticks that the budgets of all processes have left out so far. */
uint64_t sampler_left_out(const struct sampler *sampler);

/* The sums of the counters of all processes. */
struct watched_counters sampler_counters(const struct sampler *sampler);

/* Detaches every process, and frees everything. */
void sampler_close(struct sampler *sampler);

#endif
