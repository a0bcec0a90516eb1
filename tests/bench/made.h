/* SPDX-License-Identifier: MIT */
/* A made-up program that is looked at tick by tick: a tree of stacks, and threads that work, sleep and move about in
 * it. The stacks stand in the order of a walk through the tree, so that neighbours have most of their frames in common:
 * a thread that goes to a near one changes its leaf, to one further off its suffix. The same settings make the same
 * program. */
#ifndef PYREEL_TESTS_BENCH_MADE_H
#define PYREEL_TESTS_BENCH_MADE_H

#include "formats/model/event.h"

/* How a program behaves, in hundredths. The rows are taken from recordings of the programs in targets/, but for that of
 * states, in which threads do all that a status can tell and more often than in real programs: they wait for the
 * interpreter's lock, collect garbage and handle exceptions, and the main thread runs asyncio tasks. */
struct made_mix {
    const char *name;
    uint32_t busy;  /* of ticks in which a thread computes; in others it sleeps where it is */
    uint32_t spell; /* ticks for which it does so at a stretch */
    uint32_t moves; /* of its busy ticks, in which its stack is another one than before */
    uint32_t leaf;  /* of its moves: to a near stack; ... */
    uint32_t anew;  /* ... to any stack; the others are between */
    bool states;    /* threads have states */
    uint32_t each;  /* threads of a process; 0: there is one process. Each of several processes has its own ticks */
};

/* Frames that programs with states have behind those of their stacks: frames_count + 1 and so on. The frames of tasks
 * follow, in the order of the tasks. */
enum made_extra { MADE_GC = 1, MADE_TURN, MADE_RUN, MADE_SELECT, MADE_EXTRAS };

/* The mix of this name; NULL: there is none. */
const struct made_mix *made_mix(const char *name);
struct made_stack {
    uint32_t caller; /* stack, 0 at the root */
    uint32_t frame;
    uint32_t depth;
};

struct made_thread {
    uint32_t at;                    /* its stack */
    uint32_t *told, told_depth;     /* the frames of the latest sample */
    uint32_t spell;                 /* ticks left; so below */
    uint32_t collecting, excepting; /* garbage; an exception */
    uint32_t collection;            /* the generation that it collects, plus 1 */
    uint32_t task;                  /* that it runs; 0: none */
    bool busy;
};

struct made {
    const struct made_mix *mix;
    uint64_t dice;
    struct made_stack *stacks; /* by number; [0] is the empty one */
    uint32_t stacks_count, frames_count;
    struct made_thread *threads; /* by number, from 1 */
    uint32_t threads_count;
    uint32_t holder;      /* thread that has the interpreter's lock; 0: none */
    uint32_t *frames;     /* of the stack that is being told */
    uint32_t tasks_count; /* asyncio tasks so far */
};

/* Makes a program with so many distinct stacks, none deeper than `depth`. Nothing may be 0. */
void made_open(struct made *made, const struct made_mix *mix, uint32_t stacks, uint32_t depth, uint32_t threads,
               uint64_t seed);

/* The next number of the dice, below `below`. */
uint32_t made_roll(struct made *made, uint32_t below);

/* Lets a thread live one tick on and describes it. The threads of a tick come in their order. The frames are valid
 * until the next call. */
struct sample made_sample(struct made *made, uint32_t thread, uint64_t time_ns, uint64_t interval_ns);

/* Safe on a zeroed one. */
void made_close(struct made *made);

#endif
