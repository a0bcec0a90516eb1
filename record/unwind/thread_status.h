/* SPDX-License-Identifier: MIT */
/* What each thread of a process does at a tick: whether it holds the interpreter's lock, waits for the lock, has a
 * processor, or handles an exception. Also decides which samples the mode (--mode) keeps. */
#ifndef PYREEL_RECORD_UNWIND_THREAD_STATUS_H
#define PYREEL_RECORD_UNWIND_THREAD_STATUS_H

#include "formats/model/event.h"
#include "record/process/cpu.h"
#include "record/unwind/halt.h"
#include "record/unwind/thread_list.h"

enum mode { MODE_WALL, MODE_CPU, MODE_GIL, MODE_EXCEPTION, MODES };
extern const char *const mode_names[MODES];

/* The state for one process. Set `mode` and `interval_ns`, then call thread_status_open(). A tick asks for the
 * processors of threads in this order, cheapest first:
 *   1. The process's CPU clock. If it has not moved, no thread ran.
 *   2. The threads that ran at the last look. If what the clock has gained is theirs, the others have slept on.
 *   3. All others, if asking takes a small share of the time. Else nobody knows in this tick what they do.
 * The rest is the clock minus the time of all threads that are known, those that have ended included: the time of
 * threads that lived between two looks or that Python does not know, and what threads used between their last look and
 * their end. Others have run if the rest has grown since all were asked. */
struct statuses {
    enum mode mode;
    uint64_t interval_ns; /* the least time between two ticks; 0: the process is no process, and nothing is asked */
    pid_t pid;
    struct cpu_process process;
    uint64_t tick;     /* number of the tick */
    bool ask_cpu;      /* ask for the processors of threads in this tick ... */
    bool others;       /* ... and for those of threads that slept at the last look */
    uint64_t rest_ns;  /* the rest when all threads were asked last, without what was told since; never too high */
    bool rest_known;   /* all threads were asked once */
    uint64_t ended_ns; /* the time of the threads that have ended, as far as their looks showed it */
    uint64_t due_ns;   /* asking for the others has its share of the time again */
    bool ran;          /* some thread may have run since the last tick */
    bool slept;        /* set by the caller before thread_status_tick(): no thread has run since the last tick */
    struct halt *halt; /* set by the caller: whether the process stands stopped; NULL: never */
    bool untold; /* set by the caller: nothing that the process used is told so far, so threads tell all of theirs */
    bool stops;  /* set by the caller: the recorder stops the process for each look, after thread_status_ask_ahead() */
};

/* The state for one thread. `= {0}` is a thread that was not asked for yet. It belongs to the thread that has the
 * process, see struct watched. */
struct watch {
    struct cpu cpu;
    struct cpu_look ahead;    /* what thread_status_ask_ahead() saw ... */
    bool asked_ahead;         /* ... since the last thread_status_of(), ... */
    uint64_t asked_tick;      /* ... the last time in this tick */
    uint64_t told_ns;         /* set by the caller before the first look, see cpu_open() */
    uint64_t cpu_ns;          /* CPU time since the last thread_status_of() */
    bool known;               /* the kernel knew the thread in the last thread_status_of() that asked for it */
    struct left_out left_out; /* what the mode left out since the thread's last sample; left_out.thread is not set */
};

/* Begins to watch the CPU clock of a process. */
void thread_status_open(struct statuses *statuses, pid_t pid);

/* Begins a tick. */
void thread_status_tick(struct statuses *statuses);

/* Whether the thread is asked in each tick: it ran at the last look, or is new. */
bool thread_status_may_run(const struct watch *watch);

/* When those threads were asked: decides what is known of the others in this tick, see struct statuses. `known_ns`: the
 * CPU time of all threads that are watched; `others`: how many the others are. Returns whether to ask for them, and
 * then to call thread_status_asked_all(). `now_ns` is the monotonic clock. */
bool thread_status_ask_others(struct statuses *statuses, uint64_t known_ns, size_t others, uint64_t now_ns);
void thread_status_asked_all(struct statuses *statuses, uint64_t known_ns);

/* Takes the CPU time that thread_status_ask_ahead() saw since the last thread_status_of(): the next one does not have
 * it. */
uint64_t thread_status_take_unused_ns(struct watch *watch);

/* Asks what a thread does before the recorder stops the thread: a stopped thread seems to run. Or in a post; then
 * `asker` says so. For a thread that had a thread_status_of() before, and after thread_status_tick(). */
void thread_status_ask_ahead(struct statuses *statuses, struct watch *watch, enum cpu_asker asker);

/* Returns the status of a thread that was read or has not moved, in bits of enum status, and sets watch->cpu_ns. `tid`
 * is the recorder's own number for the thread. `member` is the state that tells what the thread does; NULL: the thread
 * has no state now. A thread of a process that stands stopped neither works with the lock
 * nor waits for the lock, whatever the memory of the process says. `now_ns` is the moment of the tick (monotonic). */
uint32_t thread_status_of(struct statuses *statuses, struct watch *watch, const struct thread_list *thread_list,
                          struct member *member, pid_t tid, uint64_t now_ns);

/* Whether the mode keeps a sample with this status. */
bool thread_status_kept(const struct statuses *statuses, uint32_t status);

/* Begins to ask for a thread, whose told_ns is set: what it used so far is a part of the rest. */
void thread_status_watch_open(struct statuses *statuses, struct watch *watch, pid_t tid);

/* Takes CPU time out of the rest, because a thread has that time from now on. Returns the part that the rest does not
 * have: it was told as the rest before, or comes back as the rest. */
uint64_t thread_status_tell(struct statuses *statuses, uint64_t told_ns);

/* Forgets the CPU time that the thread has used since the last look. */
void thread_status_pause(struct watch *watch);

/* Closes the files of a thread that has ended, and resets it to `= {0}`. */
void thread_status_watch_close(struct statuses *statuses, struct watch *watch);

#endif
