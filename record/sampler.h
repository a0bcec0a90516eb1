/* SPDX-License-Identifier: MIT */
/* Looks at a target again and again: at each tick, takes the stack of every wanted thread and gives it to the sink.
 *
 * When to look is the caller's business (budget.h). A tick has the time at which it was made; ticks that were slept
 * over are counted as missed, never made up for in a burst. Ticks that fell into a look which had to wait for the
 * target are another matter: what the look found is what the target did meanwhile, see sampler_ticks_again(). */
#ifndef PYREEL_RECORD_SAMPLER_H
#define PYREEL_RECORD_SAMPLER_H

#include "formats/model/lazy_definitions.h"
#include "record/asyncio/asyncio.h"
#include "record/exact/exact.h"
#include "record/exact/freeze.h"
#include "record/process/idle.h"
#include "record/unwind/synthetic_frames.h"
#include "record/unwind/thread_list.h"
#include "record/unwind/thread_status.h"

/* What was emitted of one thread state: the entry has the same place as the thread state in the thread list. */
struct told {
    uint64_t interpreter_id;
    uint32_t number;                    /* as defined to the sink; 0: not a thread that it knows */
    uint32_t native_id;                 /* what the process calls it */
    pid_t tid;                          /* what we call it */
    uint64_t name_due_ns, name_wait_ns; /* when its name is looked up again, and how long after that */
    struct text name;
    struct watch watch;
    struct expansion expansion;
    struct frames stack, told;  /* with the task that it runs: of this sample, of the last */
    uint64_t left_out_since_ns; /* see watch.left_out */
};

/* What was done so far, in all processes. */
struct sampler_figures {
    struct unwind_figures unwind;
    uint64_t samples;
    uint64_t exact, live;               /* of them: of one proven moment; read while the target may have run */
    uint64_t blocked;                   /* ticks that fell into a look which waited */
    uint64_t hops;                      /* looks that were thrown away, see struct exact */
    uint64_t codes_gone;                /* see codes_gone() */
    uint64_t ticks_left_out, limit_ppm; /* see struct budget; set by who has it */
    uint64_t taken_ns;                  /* see sampler_taken_ns() */
    uint64_t failures[FAILURE_KINDS];
    uint64_t idle_ticks;                   /* known to be as the one before, without reading anything */
    uint64_t partial_ticks, stopped_ticks; /* see struct freeze */
    uint64_t code_reads;                   /* code objects read */
    uint64_t reads, pieces, bytes;         /* of foreign memory: system calls, and what they brought */
};

struct sampler {
    /* set by the caller */
    uint64_t interval_ns;
    enum threads which;
    bool anew;                /* every frame is read anew */
    bool with_status;         /* what threads do is asked for, too; else all samples are kept */
    struct marks marks;       /* .native, .gc, .depth (0: all); the rest is ours */
    struct statuses statuses; /* .mode; the rest is ours */
    struct asyncio asyncio;   /* .which; the rest is ours */
    bool instructions;        /* those that frames stand at are recorded */
    struct freeze *freeze;    /* stops the target while it is read; NULL: it runs on */
    bool stands;              /* reads the target from its own processor, see exact.h */
    bool raise;               /* the threads that stand there raise their priority */
    uint64_t stands_ns;       /* how long the samples of the next tick stand for; 0: an interval */
    struct sink sink;

    struct lazy_definitions definitions; /* wait here, on their way to the sink */
    struct target target;
    struct codes codes;
    struct thread_list thread_list;
    struct exact exact;
    struct idle idle;
    bool attached;    /* to a process */
    uint32_t process; /* its number */
    uint32_t last_process, last_thread;

    struct told *told;
    size_t told_count, told_room;
    struct told_frames frames;        /* of the sample that is being told */
    struct intern_pairs host_threads; /* of a target in another pid namespace, see procfs_map_threads() */
    uint64_t mapped_tick;             /* when they were last asked for */
    uint64_t tick;
    uint64_t list;       /* of the thread list, as far as its threads were told */
    uint64_t start_ns;   /* of the recording, monotonic */
    uint64_t checked_ns; /* when the program was last known to be the same */
    bool prepared;       /* sampler_appoint() was called for the next tick */
    bool idle_looked;    /* there was a look since the target was seen asleep */
    bool slept;          /* the target has slept since then, so that nothing was read in the last look */
    uint64_t moment_ns;  /* of the last look, monotonic */
    uint64_t idle_ns;    /* that looks took while the target slept */
    uint64_t frozen_ns;  /* the time that the target was stopped by `freeze` */
    uint64_t ticks, samples, failed, missed;
    bool one_moment;                /* the last look showed one proven moment of the target */
    bool waited;                    /* it had to wait for the lock of the target's memory */
    struct sampler_figures figures; /* without what the open process's parts still count, see sampler_figures() */
};

/* Starts to look at a process that was opened; the sampler takes it over and defines it to the sink. */
void sampler_attach(struct sampler *sampler, const struct target *target);

/* Looks at the target once without telling anyone: what there is to learn of its threads, stacks and code objects would
 * take long while the target stands still. */
void sampler_warm_up(struct sampler *sampler);

enum sampler_state {
    SAMPLER_GOING,
    SAMPLER_LOST,  /* the program ended, or was replaced by another */
    SAMPLER_STUCK, /* the sink refused; the reason says why */
};

/* Appoints the look of the next tick, if the look can be one moment of the target. True: sampler_tick() is due
 * STAND_LATE_NS behind moments->due_ns, else at that moment. Need not be called. */
bool sampler_appoint(struct sampler *sampler, const struct moments *moments);

/* Calls off the look that was appointed: the next sampler_tick() is live. */
void sampler_cancel(struct sampler *sampler);

/* One tick: now, or the one that was appointed. `now_ns` is the clock's time. `missed` ticks before it were not looked
 * at. Stays a function of its own, so that tests/bench can count what it takes. */
__attribute__((noinline)) enum sampler_state sampler_tick(struct sampler *sampler, uint64_t now_ns, uint64_t missed,
                                                          struct fault *why);

/* `count` more ticks that show what the last tick showed, at even distances from that tick to now: they were due while
 * the look waited, and the target stood where the look found it. False when the sink refused. */
bool sampler_ticks_again(struct sampler *sampler, uint64_t count, struct fault *why);

/* The time that looks have taken from the target so far. */
uint64_t sampler_taken_ns(const struct sampler *sampler);

/* Ends the process and its threads for the sink, and lets go of it. Nothing to do when there is none. */
void sampler_detach(struct sampler *sampler);

struct sampler_figures sampler_figures(const struct sampler *sampler);

/* Frees everything. */
void sampler_close(struct sampler *sampler);

#endif
