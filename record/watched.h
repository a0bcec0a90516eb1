/* SPDX-License-Identifier: MIT */
/* One process that is watched, from when its number is known until it has ended. The process may not run Python yet,
 * and may become another program by execve; in between it is a CPython whose threads are read at each tick:
 *
 *     watched_open │ watched_seek  watched_find  watched_find │ watched_attach  ticks  watched_detach │ watched_seek
 * ... │ not yet a Python                         │ a CPython                             │ after execve
 *
 * All that is known of a process is here: its memory, code objects, threads, tasks, and what was emitted of them. What
 * processes of a recording share is in `struct emitter` and `struct watch_options`, so that a recording of several
 * processes is an array of these (sampler.h). */
#ifndef PYREEL_RECORD_WATCHED_H
#define PYREEL_RECORD_WATCHED_H

#include "record/asyncio/asyncio.h"
#include "record/command.h"
#include "record/emit/emitter.h"
#include "record/exact/exact.h"
#include "record/exact/freeze.h"
#include "record/process/idle.h"
#include "record/unwind/synthetic_frames.h"
#include "record/unwind/thread_list.h"
#include "record/unwind/thread_status.h"

/* What a recording wants of each process. */
struct watch_options {
    uint64_t interval_ns;
    uint64_t start_ns; /* of the recording, monotonic */
    enum threads which;
    bool anew;        /* every frame is read anew */
    bool with_status; /* what threads do is recorded; else all samples are kept, whatever the mode */
    enum mode mode;
    enum async async;
    bool instructions; /* those that frames stand at are recorded */
    bool freezes;      /* stops the process while it is read */
    bool stands;       /* reads the process from its own processor, see exact.h */
    bool raise;        /* the threads that stand there raise their priority */
};

/* What was emitted of one thread state. The row has the same index as the thread state in the thread list. */
struct emitted_thread {
    uint64_t interpreter_id;
    uint32_t number;                    /* as emitted; 0: the sink knows no such thread */
    uint32_t native_id;                 /* the thread, as the process calls it */
    pid_t tid;                          /* the thread, as we call it */
    uint64_t name_due_ns, name_wait_ns; /* when its name is looked up again, and how long after that */
    struct text name;
    struct watch watch;
    struct expansion expansion;
    struct frames stack, emitted; /* with the task that the thread runs: of this tick, of the last sample */
    uint64_t left_out_since_ns;   /* see watch.left_out */
};

/* What was done so far to read a process. Counters alone: watched_counters_add() sums them as an array. */
struct watched_counters {
    struct unwind_counters unwind;
    uint64_t exact, live; /* samples of one proven moment; samples that were read while the process may have run */
    uint64_t hops;        /* looks that were thrown away, see struct exact */
    uint64_t codes_gone;  /* see codes_gone() */
    uint64_t code_reads;  /* code objects read */
    uint64_t taken_ns;    /* see watched_taken_ns() */
    uint64_t idle_ticks;  /* known to be as the one before, without reading anything */
    uint64_t partial_ticks, stopped_ticks; /* see struct freeze */
    uint64_t reads, pieces, bytes;         /* of foreign memory: system calls, and what they brought */
};

struct watched {
    const struct watch_options *options;
    struct emitter *emitter;
    struct synthetic_frames *synthetic;

    pid_t pid;
    struct command *command; /* the process is this command of ours; NULL: it is not */
    int pidfd;               /* of a process that is not ours; -1 where the kernel has none */
    enum target_state found; /* by the last look for a Python, believed or not */
    uint64_t find_due_ns;    /* when to look again */
    uint64_t find_wait_ns, believe_ns;

    bool attached;   /* the process is a CPython; its target, code objects, threads and tasks are open */
    uint32_t number; /* of the process, as emitted */
    struct target target;
    struct codes codes;
    struct thread_list thread_list;
    struct exact exact;
    struct freeze freeze; /* open from watched_find() to watched_close(), where the options say so */
    struct idle idle;
    struct statuses statuses;
    struct asyncio asyncio;

    struct emitted_thread *threads;
    size_t threads_count, threads_room;
    struct expanded expanded;         /* the stack that is being emitted */
    struct intern_pairs host_threads; /* of a process in another pid namespace, see procfs_map_threads() */
    uint64_t mapped_tick;             /* when they were last asked for */
    uint64_t tick;
    uint64_t list;                    /* of the thread list, as far as the threads that left it were ended */
    uint64_t checked_ns;              /* when the program was last known to be the same */
    bool prepared;                    /* watched_appoint() was called for the next tick */
    bool idle_looked;                 /* there was a look since the process was seen asleep */
    bool slept;                       /* the process has slept since then, so that nothing was read in the last look */
    uint64_t moment_ns;               /* of the last look, monotonic */
    uint64_t idle_ns;                 /* that looks took while the process slept */
    uint64_t frozen_ns;               /* the time that the process was stopped by `freeze` */
    bool one_moment;                  /* the last look showed one proven moment of the process */
    bool waited;                      /* the last look had to wait for the lock of the process's memory */
    bool lost;                        /* the program ended, or was replaced by another */
    enum thread_list_state state;     /* of the last look */
    struct watched_counters counters; /* without what the open parts still count, see watched_counters() */
};

/* ---- from a number to a CPython ---- */

/* `command` is NULL, or the command that the process is. The options, the emitter and the synthetic frames live as
 * long.
 */
void watched_open(struct watched *watched, pid_t pid, struct command *command, const struct watch_options *options,
                  struct emitter *emitter, struct synthetic_frames *synthetic);

/* Detaches the process, and frees everything. */
void watched_close(struct watched *watched);

/* Whether the process has ended. A zombie has, too. */
bool watched_ended(struct watched *watched);

/* Begins to look for a Python in the process. */
void watched_seek(struct watched *watched);

/* One look for a Python, due at find_due_ns. A refusal is believed after a while only: a process that is just ending
 * has no memory left, which looks as if the memory were not for us, and a process that is just starting may not be
 * mapped as a whole.
 *
 *     TARGET_READY          watched->target is open
 *     TARGET_GONE           the process has ended
 *     TARGET_DENIED, TARGET_UNSUPPORTED   for good, with the reason
 *     TARGET_NOT_YET        look again at find_due_ns
 */
enum target_state watched_find(struct watched *watched, struct fault *why);

/* Why the process could not be opened, for good, in a sentence for the user. `why` has the reason of watched_find().
 * Returns false. */
bool watched_refusal(const struct watched *watched, enum target_state state, struct fault *why);

/* ---- a CPython ---- */

/* Emits the process, whose target is open; ticks may follow. */
void watched_attach(struct watched *watched);

/* Ends the process and its threads for the sink, and lets go of it. Nothing to do when it is not attached. */
void watched_detach(struct watched *watched);

/* Looks at the process once without emitting: what there is to learn of its threads, stacks and code objects would take
 * long while the process stands still. */
void watched_warm_up(struct watched *watched);

/* Appoints the look of the next tick, if the look can be one moment of the process. True: watched_look() is due
 * STAND_LATE_NS behind moments->due_ns, else at that moment. Need not be called. */
bool watched_appoint(struct watched *watched, const struct moments *moments);

/* Calls off the look that was appointed: the next watched_look() is live. */
void watched_cancel(struct watched *watched);

/* The look of a tick: now, or the one that was appointed. `now_ns` is the clock's time. */
void watched_look(struct watched *watched, uint64_t now_ns);

/* Whether the process still runs the program that was attached; else sets `lost`. Asked about once a millisecond,
 * together with the newest interpreter. To be asked after the look: who asks before a look waits for the lock of the
 * process's memory. */
bool watched_same_program(struct watched *watched, uint64_t time_ns);

/* Emits the samples of the last look, with this time since the start of the recording. Sets `lost` when the process is
 * not the program that was attached. False when the sink refused. */
bool watched_emit(struct watched *watched, uint64_t time_ns, struct fault *why);

/* The samples of the last look once more, for a tick that fell into the wait of that look: the process stood where the
 * look found it. */
bool watched_emit_again(struct watched *watched, uint64_t time_ns, struct fault *why);

/* The time that looks have taken from the process so far. */
uint64_t watched_taken_ns(const struct watched *watched);

struct watched_counters watched_counters(const struct watched *watched);
void watched_counters_add(struct watched_counters *sum, const struct watched_counters *more);

/* What the process calls `native_id`, as we call it. In another namespace all its threads are asked, at most once in a
 * tick. */
pid_t watched_host_thread(struct watched *watched, uint32_t native_id);

#endif
