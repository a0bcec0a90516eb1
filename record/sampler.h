/* SPDX-License-Identifier: MIT */
/* Looks at a target again and again: at each tick, takes the stack of every wanted thread and gives it to the sink.
 *
 * Ticks are due at start + k x interval on the monotonic clock. A tick that comes late is taken late, with its true
 * time; ticks that were slept over are counted as missed, never made up for in a burst. */
#ifndef PYREEL_RECORD_SAMPLER_H
#define PYREEL_RECORD_SAMPLER_H

#include "formats/definitions.h"
#include "record/asyncio.h"
#include "record/expand.h"
#include "record/freeze.h"
#include "record/idle.h"
#include "record/roster.h"
#include "record/status.h"

/* What the sink was told of a thread state of the roster, with the same place. */
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
    struct sink sink;

    struct definitions definitions; /* wait here, on their way to the sink */
    struct target target;
    struct codes codes;
    struct roster roster;
    struct idle idle;
    bool attached;    /* to a process */
    uint32_t process; /* its number */
    uint32_t last_process, last_thread;

    struct told *told;
    size_t told_count, told_room;
    struct told_frames frames; /* of the sample that is being told */
    struct pairs host_threads; /* of a target in another pid namespace, see procfs_map_threads() */
    uint64_t mapped_tick;      /* when they were last asked for */
    uint64_t tick;
    uint64_t list;       /* of the roster, as far as its threads were told */
    uint64_t start_ns;   /* of the recording, monotonic */
    uint64_t checked_ns; /* when the program was last known to be the same */
    uint64_t ticks, samples, failed, missed;
    struct sampler_figures figures; /* without what the open process's parts still count, see sampler_figures() */
};

/* Starts to look at a process that was opened; the sampler takes it over and defines it to the sink. */
void sampler_attach(struct sampler *sampler, const struct target *target);

enum sampler_state {
    SAMPLER_GOING,
    SAMPLER_LOST,  /* the program ended, or was replaced by another */
    SAMPLER_STUCK, /* the sink refused; the reason says why */
};

/* One tick, now: `now_ns` is the clock's time. `missed` ticks before it were not looked at. Stays a function of its
 * own, so that tests/bench can count what it takes. */
__attribute__((noinline)) enum sampler_state sampler_tick(struct sampler *sampler, uint64_t now_ns, uint64_t missed,
                                                          struct fault *why);

/* Ends the process and its threads for the sink, and lets go of it. Nothing to do when there is none. */
void sampler_detach(struct sampler *sampler);

struct sampler_figures sampler_figures(const struct sampler *sampler);

/* Frees everything. */
void sampler_close(struct sampler *sampler);

#endif
