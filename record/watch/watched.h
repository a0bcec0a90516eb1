/* SPDX-License-Identifier: MIT */
/* One watched process, from the time its number is known until its end. At first the process may not run Python. With
 * execve, it may become another program:
 *
 *     not yet a Python:   watched_open  watched_seek  watched_find  watched_find ...
 *     a CPython:          watched_attach  ticks  watched_detach
 *     after an execve:    watched_seek  watched_find ...
 *
 * The struct has all state of one process: its memory, code objects, threads, tasks, and what was emitted of them. The
 * state that the processes of a recording share is in `struct emitter` and `struct watch_options`. So a recording of
 * several processes has an array of watched processes (sampler.h). */
#ifndef PYREEL_RECORD_WATCH_WATCHED_H
#define PYREEL_RECORD_WATCH_WATCHED_H

#include "record/asyncio/asyncio.h"
#include "record/asyncio/loop_callback.h"
#include "record/emit/emitter.h"
#include "record/exact/budget.h"
#include "record/exact/exact.h"
#include "record/exact/freeze.h"
#include "record/labels/publications.h"
#include "record/launch/command.h"
#include "record/names/thread_names.h"
#include "record/names/title.h"
#include "record/native/c_frames.h"
#include "record/process/idle.h"
#include "record/process/meter.h"
#include "record/process/procfs.h"
#include "record/unwind/halt.h"
#include "record/unwind/synthetic_frames.h"
#include "record/unwind/thread_list.h"
#include "record/unwind/thread_status.h"

#define PROGRAM_NAMES 16 /* names of a first thread that are remembered */

struct watched;

/* The options of a recording that concern each process. */
struct watch_options {
    uint64_t interval_ns;
    uint64_t start_ns; /* start of the recording (monotonic) */
    enum threads which;
    const char *names; /* with THREADS_NAMED: the threads, see name_list.h */
    bool anew;         /* read each stack completely at each tick */
    bool with_status;  /* record the status of threads; if not, all samples are kept, whatever the mode */
    enum mode mode;
    enum async async;
    bool instructions; /* record the instruction of each frame */
    bool c_frames;     /* record C functions, too */
    /* The registers of a thread in saved memory; NULL: the process lives. False: they are not known. Gets `self`. */
    bool (*registers)(void *self, pid_t tid, struct c_registers *registers);
    bool patient;       /* looks are few, and may take their time */
    bool freezes;       /* stop the process while it is read */
    bool stands;        /* read the process from its own processor, see exact.h */
    bool raise;         /* posts raise their priority */
    bool tree;          /* there may be several processes, and each tick says whose it is */
    bool bare_commands; /* leave arguments out of command lines */
    double limit;       /* see struct budget, as the next field */
    bool even;
    bool plain_threads; /* with ASYNC_ALL: each thread has a sample of its own, too, without tasks in its stack */
    bool all_names;     /* look up the names of all threads in each tick, however long that takes */
    void (*while_frozen)(void *self, struct watched *watched); /* with `freezes`: called after a look, while all
                                                                * threads are stopped; NULL: nothing to do */
    void *self;                                                /* for the function */
};

/* What the processes of a recording share, besides the sink. `= {0}` is empty. */
struct watch_shared {
    size_t processes;          /* number of watched processes */
    struct elf_files files;    /* what is known of the files that processes map */
    struct code_bodies bodies; /* of all code objects */
    uint64_t search_ns;        /* before this time, growth of a process is no reason to search it (monotonic) */
};

/* A thread of the kernel that has, or had, a thread state, from then until its end. Thread states come and go on a
 * thread: one for each call of Python from a thread of C, one for each interpreter in which the thread works. */
struct emitted_thread {
    uint64_t interpreter_id; /* of the first state */
    uint32_t number;         /* as emitted; 0: the row is free */
    uint32_t serial;         /* serial of the thread; 0: none yet */
    uint32_t native_id;      /* the kernel's number of the thread, in the pid namespace of the process */
    pid_t tid;               /* the kernel's number of the thread, in the recorder's pid namespace */
    uint32_t states;         /* listed states of the thread */
    uint32_t first, last;    /* of those that were wanted in tick `tick`: index + 1 in `states` */
    uint64_t tick;
    bool left;             /* one of its states has left the list since it was asked whether it lives */
    uint32_t innermost;    /* in the last sample: index + 1 in `states` of the state with the innermost stack */
    bool asked;            /* the name was looked up, ... */
    uint64_t name_read_ns; /* ... in the tick at this time, ... */
    uint64_t name_ran_ns;  /* ... when the thread had used so much CPU time */
    uint64_t name_due_ns;  /* when the name is looked up again (monotonic) */
    uint64_t name_wait_ns; /* the wait after that lookup */
    uint32_t name_tries;   /* lookups that did not find Python's name */
    bool named;            /* Python's name of the thread was found once */
    bool own_name;         /* a main thread whose name is not the kernel's */
    struct text name;
    struct watch watch;
    uint32_t shown; /* the state of the last sample: index + 1 in `states`, and `expansion` is of that sample; 0: the
                     * last sample had no such state, and `emitted` is its stack */
    struct expansion expansion;
    struct frames stack, emitted; /* of several states, or with the labels of the task: the stack of this tick, of the
                                   * last sample */
    uint64_t left_out_since_ns;   /* see watch.left_out */
    uint32_t status;              /* with --async all: the status in this tick ... */
    uint64_t cpu_ns;              /* ... and the CPU time, for the task that the thread runs */
    uint64_t owed_ns;             /* with --async all, and of a native thread: CPU time that no sample has yet */
    uint32_t native;              /* of a native thread: its frame, an index of the definitions; else 0 */
    int note;                     /* of a native thread: see cpu_open_note(), while `native` is set */
    bool busy; /* a native thread used a quarter of the time between the last two questions for its CPU time, or more */
    bool brief; /* the row of several native threads, see struct brief */
};

/* Native threads that live too briefly for rows of their own, as those of a call that starts its threads anew: all of
 * one name have a row, in the place of the first of them. */
struct brief {
    uint32_t native_id; /* one that was seen, and has no row so far; 0: none was */
    pid_t tid;
    struct text name;
    uint64_t noted_ns; /* when it was first seen (monotonic) */
    uint32_t row;      /* native_id of the row that gets their CPU time; 0: none */
    uint64_t turns;    /* thread_list.turns at the last question: while it is the same, no look saw a thread of Python
                        * come or go */
    uint64_t other_ns; /* as much of the rest may be the time of such threads */
};

/* What is known of the CPU time that no thread of Python used: watched_natives.h. `= {0}`: nothing. */
struct natives {
    bool opened;
    struct native *rows; /* the threads of the kernel that Python does not know, when they were asked last */
    size_t count, room;
    struct intern_pairs index; /* native_id -> index in `rows` + 1 */
    size_t shown;              /* those with a row in `threads` */
    size_t busy, busy_before;  /* those that run, so far in this tick, and in the tick before */
    uint64_t asked_ns, due_ns; /* monotonic: when they were asked last, and may be asked again */
    uint64_t listed_ns;        /* when all of them were listed last (monotonic) */
    uint64_t seen_ns;          /* the rest at that time, or less */
    struct brief brief;
    uint64_t before_ns;     /* CPU time before the first look, which is not told yet */
    uint32_t entry, serial; /* number and serial of the entry <not sampled>; 0: none yet */
    bool counted;           /* the entry is one of emitter.rests */
};

/* A thread state, by its index in the thread list. */
struct thread_state {
    uint64_t interpreter_id;
    uint32_t native_id;     /* as it was noted in the state when its thread was found */
    uint32_t owner;         /* the kernel's number of its thread, in the pid namespace of the process; 0: not known */
    bool ended;             /* a thread has left the state behind at its end */
    bool chosen;            /* with THREADS_NAMED: the name of the thread was one of options->names, ... */
    uint64_t judge_ns;      /* ... else it is looked up again at this time, ... */
    uint64_t judge_wait_ns; /* ... and the wait after the last lookup */
    bool lent;              /* `owner` is not the thread that is noted in the state, nor that of its thread pointer */
    uint32_t thread;        /* the thread: index + 1 in `threads`; 0: none */
    uint32_t next;          /* the next state of the thread in this tick: index + 1; 0: none */
    uint32_t above; /* links of the thread's other stacks above this one in this tick; UINT32_MAX: it is not shown */
    struct loop_callback callback;
    struct mapping stack; /* the C stack on which its frames were when that was looked up */
    uint64_t due_ns;      /* a state without a thread: when the thread is searched again (monotonic), ... */
    uint64_t wait_ns;     /* ... and the wait after that search */
};

/* Counters of the work to read a process. All fields are uint64_t: watched_counters_add() sums them as an array. */
struct watched_counters {
    struct unwind_counters unwind;
    struct native_counters native;
    uint64_t exact, unproved; /* samples of one proven moment; samples that were read while the thread may have run */
    uint64_t hops;            /* looks that were thrown away, see struct exact */
    uint64_t outside;         /* samples of threads without a state */
    uint64_t joined;    /* states that were read and are a part of the sample of their thread, which has several */
    uint64_t ownerless; /* states that were read and have no sample: no thread of the process has them, or not yet */
    uint64_t interpreters_cut; /* ticks of a process with more interpreters than are read */
    uint64_t before_looks_ns;  /* CPU time that Pythons used before their first look, at most: see begun_cpu_ns */
    uint64_t cpu_ns;           /* CPU time while the process was recorded, of those that have ended */
    uint64_t codes_gone;       /* see codes_gone() */
    uint64_t code_reads;       /* code objects that were read */
    uint64_t taken_ns;         /* see watched_taken_ns() */
    uint64_t starved_ns;       /* for how long posts did not get their processors, ... */
    uint64_t blocked_ns;       /* ... and looks waited for the lock of a process's memory */
    uint64_t idle_ticks;       /* ticks in which the process slept since the tick before, so nothing was read */
    uint64_t partial_ticks, stopped_ticks;                          /* see struct freeze */
    uint64_t stopped_ns, signalled_ns, traced_ns, cgroup_frozen_ns; /* lengths of halts, see struct halt: stopped by a
                                                                     * signal or a tracer, each of them; frozen */
    uint64_t reads, pieces, bytes; /* reads of foreign memory: system calls, pieces, bytes */
};

/* A process rests when it has slept for a while and other processes are recorded, too: see sampler.h. Times are
 * monotonic. */
struct rest {
    uint64_t since_ns; /* the process sleeps at least since then; 0: its last look did not show that it sleeps */
    bool rests;        /* it is not looked at in the moments of its budget, ... */
    uint64_t due_ns;   /* ... but asked at this time whether it still sleeps */
    uint64_t begins_ns, length_ns; /* the window of this question: the answer stands for the window */
};

/* The search for a CPython, and of which process this one is a fork: watched_search.c. Times are monotonic. */
struct search {
    enum target_state found;  /* the result of the last search, final or not */
    uint64_t find_ns;         /* when watched_find() is due */
    uint64_t believe_ns;      /* a refusal before this time is not final */
    uint64_t began_ns;        /* when the search began, or when the process was last seen with another program */
    uint64_t started_ns;      /* when `likely` was first seen to start; 0: it does not */
    uint64_t ran_ns;          /* when the process was last seen to have run */
    uint64_t due_ns;          /* before this time, only a change of the process is worth a search */
    struct cpu_process clock; /* tells whether the process ran */
    uint64_t device, inode;   /* the program that the process ran, ... */
    uint64_t pages;           /* ... and the size of its memory at the last search: a library makes it larger */
    struct runtime likely;    /* see struct runtime_hints */
    uint64_t fork_random;     /* procfs_random() of the process that ran Python and made this one by fork(); 0: none */
    bool searched;            /* the process lived on after a search that found no Python */
    bool judged, puzzled;     /* of the program: judge_files(), watched_puzzles() have asked for its files */
};

/* The look of a tick: watched_look.c. */
struct tick_look {
    bool prepared;                /* the checks that precede the next look were made */
    uint32_t ahead_ticks;         /* ticks for which watched_look_ahead() is still worth its time, ... */
    uint64_t ahead_turns;         /* ... since thread_list.turns was another number than this, ... */
    uint64_t ahead_took_ns;       /* ... and how long it takes lately */
    size_t span_turn;             /* in thread_list.order: the thread whose span variable was searched last */
    bool ahead_waited;            /* it waited for the lock of the process's memory beyond the moment */
    bool idle_looked;             /* there was a look since the process was seen asleep */
    bool slept;                   /* the process has slept since that look, so the last look read nothing. A post may
                                   * write it */
    uint64_t moment_ns;           /* moment of the last look (monotonic) */
    uint64_t idle_ns;             /* time that looks took while the process slept */
    uint64_t frozen_ns;           /* time for which looks stopped the process (--blocking) */
    enum thread_list_state state; /* the result of the last look */
    bool one_moment; /* the last look showed one proven moment of the process, but for watched_moved() threads */
    bool waited;     /* the last look had to wait for the lock of the process's memory */
};

/* The names of threads: watched_names.c. */
struct naming {
    struct thread_names python;               /* how to read the names that Python has of them */
    uint64_t lookups_ns;                      /* time of the tick in which ... */
    uint32_t lookups, lookups_again;          /* ... so many names may still be looked up, so many of them again */
    size_t unasked;                           /* threads whose name was never looked up */
    struct text program_names[PROGRAM_NAMES]; /* the first thread's names in the kernel, which new threads inherit: the
                                                 latest first */
};

/* The threads and their states: watched_threads.c. */
struct rows {
    struct emitted_thread *threads;
    size_t threads_count, threads_room;
    struct intern_pairs index; /* native_id → index in `threads` + 1, also of threads that have ended */
    struct thread_state *states;
    size_t states_count, states_room;
    uint32_t *nested; /* of the thread that is being emitted: indexes of the states that have frames, innermost last */
    size_t nested_count, nested_room;
    struct intern_pairs kernel_threads; /* native_id → tid of the process's threads: watched_map_threads() */
    uint64_t mapped_tick;               /* the tick in which kernel_threads was last filled */
    bool map_failed;                    /* the threads could not be read then */
    bool proved;                        /* a state got another owner: the wanted states are chosen anew */
    uint64_t live_due_ns, count_due_ns; /* when all threads are asked whether they live, or counted */
    bool looked;                        /* there was a look that read all threads */
    uint64_t list;                      /* thread_list.list at the last check for threads that left the list */
};

/* The look of this tick asks the kernel what the threads do: watched_threads.c. A post may write these fields. */
struct asks {
    bool done;          /* the look has asked what the threads do, ... */
    bool posted;        /* ... in a post, ... */
    size_t others_wait; /* ... but not these many, which slept at the look before */
};

/* From the moment of an appointed look until stand_meet() or stand_cancel() returns, a post makes the look: it owns
 * what it reads and writes, which is `target`, `codes` (with the definitions of the emitter, and shared->bodies),
 * `thread_list`, `asyncio`, `publications`, `exact`, `statuses`, `asks`, the `watch` of each thread in `rows`, `idle`
 * and look.slept. All else belongs to the sampler's thread at all times. */
struct watched {
    const struct watch_options *options;
    struct emitter *emitter;
    struct synthetic_frames *synthetic;
    struct watch_shared
        *shared; /* set by the caller after watched_open(); must live as long. NULL: nothing is shared */

    /* The process and its life, by watched.c and the sampler. */
    pid_t pid;
    struct command *command; /* the command that pyreel-record started as this process; NULL: not started by it */
    int pidfd;               /* pidfd of a process that pyreel-record did not start; -1: the kernel has no pidfds */
    pid_t parent_pid;        /* the process that started it; 0: not known */
    uint32_t parent; /* number of the nearest recorded ancestor; after an execve, that of its program before; 0: none */
    uint32_t forebear;     /* number of the nearest ancestor that may be in the next stream, too; 0: none */
    bool forked;           /* the program is the one of the process that made this one by fork() */
    uint64_t begun_cpu_ns; /* CPU time of the process when it was last known to run no Python, or to be recorded; 0:
                            * since its birth, which was in the recording */
    int wait_status;       /* after its end: its status, if somebody told; -1: not known */
    uint64_t ended_cpu_ns; /* after its end: what it used, if somebody told; 0: not known */
    bool refused;          /* it cannot be read: it is not searched again */
    bool unread;           /* its program seemed to be a Python that could not be read, ... */
    bool told;             /* ... and the user was told so */
    bool was_attached;     /* its program was attached at some time */
    bool ended;            /* it has ended */
    bool attached;         /* the process is a CPython; its target, code objects, threads and tasks are open */
    bool lost;             /* the process has ended, or runs another program than the attached one, ... */
    uint64_t checked_ns;   /* ... which it was last known to run at this time since the start of the recording */
    uint64_t attached_ns;  /* when it was attached, since the start of the recording */
    uint32_t number;       /* number of the process, as emitted; 0: it was not attached yet */
    uint32_t first;        /* number of its first program in this stream: smaller than those of its children; 0: none */
    uint32_t serial;       /* serial of the process; 0: none yet */

    /* Its ticks, by the sampler. */
    struct budget budget; /* their moments */
    struct rest rest;
    uint64_t missed; /* ticks missed since the last one */
    uint64_t tick;   /* number of the tick */
    bool ticked;     /* there was a tick since it was attached */
    uint64_t ran_ns; /* time of the last tick whose look found that the process had run */

    /* Each part has a file of its own. The watched_*.c also note in each other's parts what concerns these. */
    struct search search;
    struct target target;
    struct codes codes;
    struct thread_list thread_list;
    struct asyncio asyncio;
    struct publications publications;
    struct exact exact;
    struct freeze freeze; /* with options->freezes: open from watched_find() to watched_close() */
    struct idle idle;
    struct tick_look look;
    struct statuses statuses;
    struct asks asks;
    struct halt halt;
    struct rows rows;
    struct naming naming;
    struct natives natives;
    struct meter meter;
    struct metered metered; /* the last measure */
    struct title title;
    struct text attributes;           /* struct process has the same, owned */
    struct c_frames *c_frames;        /* with options->c_frames, once it was attached; else NULL */
    struct expanded expanded;         /* the stack that is being emitted */
    struct watched_counters counters; /* of closed targets; watched_counters() adds those of the open target */
};

/* ---- a process ---- */

/* Starts to watch a process. `command` is NULL, or the command that the process runs. The options, the emitter and the
 * synthetic frames must live as long. */
void watched_open(struct watched *watched, pid_t pid, struct command *command, const struct watch_options *options,
                  struct emitter *emitter, struct synthetic_frames *synthetic);

/* Detaches the process, and frees everything. */
void watched_close(struct watched *watched);

/* Whether the process has ended. A zombie has, too. */
bool watched_ended(struct watched *watched);

/* How much CPU time the process has used; 0: not known. */
uint64_t watched_cpu_ns(const struct watched *watched);

/* The status of a process that has ended, as waitpid() gives it; -1: not known. */
int watched_wait_status(const struct watched *watched);

/* Notes that the process began before the recording, or ran in a pause: the recording does not want its CPU time until
 * now. Call this after watched_seek(). */
void watched_existed(struct watched *watched);

/* Notes the number of the nearest recorded ancestor; 0: none. Call this before the process is attached. */
void watched_descends(struct watched *watched, uint32_t ancestor);

/* Whether the process was never recorded, nor searched so that it is known what it ran. */
static inline bool watched_is_passed(const struct watched *watched)
{
    return watched->number == 0 && !watched->unread && !watched->search.searched;
}

/* Whether the process is one whose Python could not be read at any time, and the user was not told so. */
static inline bool watched_is_untold(const struct watched *watched)
{
    return watched->unread && !watched->told && !watched->was_attached;
}

/* ---- a CPython ---- */

/* Attaches to the process, whose target is open, and emits the process. Ticks may follow. */
void watched_attach(struct watched *watched);

/* Takes over the code objects that are known of the process which called fork to make this one, if this one still runs
 * the program of its parent. Call this right after watched_attach(). A process that only adopted an orphan is not
 * meant: it has not the memory that the orphan had from its parent. */
void watched_inherit(struct watched *watched, struct watched *parent);

/* Emits the ends of the threads and of the process, and closes the target. Does nothing when not attached. */
void watched_detach(struct watched *watched, enum fate fate);

/* Emits what is kept back of the process, before the stream ends and another one takes what is emitted. Call this
 * between ticks, while no look is appointed. */
void watched_flush(struct watched *watched);

/* Emits the process and its threads anew, because another stream takes what is emitted. Tasks and stacks follow with
 * the samples that need them. Does nothing when not attached. */
void watched_restart(struct watched *watched);

/* Whether the process still runs the attached program; if not, sets `lost`. Checks about once a millisecond, and looks
 * for new interpreters, too. Call this after the look: the check can wait for the lock of the process's memory, and the
 * look would come too late. */
bool watched_same_program(struct watched *watched, uint64_t time_ns);

/* Emits the samples of the last look. `time_ns` is the time since the start of the recording. Sets `lost` when the
 * process does not run the attached program any more. False when the sink refused. */
bool watched_emit(struct watched *watched, uint64_t time_ns, struct fault *why);

/* Emits the samples of the last look again, for a tick whose moment was while that look waited. False when the sink
 * refused. */
bool watched_emit_again(struct watched *watched, uint64_t time_ns, struct fault *why);

/* Emits a measure of the attached process: what it uses now. `recorder_cpu_ns` is meter_own_cpu_ns(). Call this between
 * ticks, while no look is appointed: a look may emit, too. Ends the posts that the process does not need any more. */
void watched_measure(struct watched *watched, uint64_t recorder_cpu_ns);

/* The time that looks have taken from the process so far, in nanoseconds. */
uint64_t watched_taken_ns(const struct watched *watched);

/* The counters of the process so far. */
struct watched_counters watched_counters(const struct watched *watched);

/* Adds counters to a sum. */
void watched_counters_add(struct watched_counters *sum, const struct watched_counters *more);

/* Fills in watched->kernel_threads, at most once per tick. */
void watched_map_threads(struct watched *watched);

/* Translates the process's own number of a thread into the recorder's pid namespace. */
pid_t watched_host_thread(struct watched *watched, uint32_t native_id);

/* Whether this is the process's own number of its main thread. */
static inline bool watched_is_main(const struct watched *watched, uint32_t native_id)
{
    return native_id == (uint32_t)watched->target.ns_pid;
}

/* The thread that has a thread state in this tick; NULL: none. `state` is its index in the thread list. */
struct emitted_thread *watched_thread_of(const struct watched *watched, uint32_t state);

#endif
