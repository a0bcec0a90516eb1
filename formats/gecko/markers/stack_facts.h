/* SPDX-License-Identifier: MIT */
/* What a stack says of the garbage collector, of the event loop, and of tasks. A stack says what its caller's stack
 * says, and what its own frame adds, so each stack of the tables is looked at once.
 *
 *     main  run_forever  _run_once  Handle._run  <task fetch-1>  fetch  parse  <GC>  finalizer
 *                        LOOP_TURN               `task`          `step`        `gc`
 *                                                                LOOP_CALLBACK
 *
 * The loop is known by the names and files of asyncio's functions. A loop in C, such as uvloop, has no such frames. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_STACK_FACTS_H
#define PYREEL_FORMATS_GECKO_MARKERS_STACK_FACTS_H

#include "formats/model/tables.h"

enum loop_place {
    LOOP_NONE,     /* no event loop on the stack */
    LOOP_TURN,     /* the loop itself, also while it waits for events */
    LOOP_RUN,      /* the loop is about to call a callback */
    LOOP_CALLBACK, /* a callback, or a step of a task */
};

struct stack_fact {
    uint32_t gc;        /* the stack that ends with the first <GC>; 0: none */
    uint32_t step;      /* function: the callback that the loop called, or the coroutine of the task */
    uint32_t task;      /* function: the last task frame; 0: none */
    uint32_t above;     /* function: the task frame before the last; 0: none */
    uint32_t coroutine; /* function: the first function behind the last task frame */
    enum loop_place loop;
};

/* `= {0}` is empty. */
struct stack_facts {
    const struct tables *tables; /* set by the owner */
    struct stack_fact *facts;    /* by stack */
    size_t count, room;
    unsigned char *functions; /* by function: what the function is */
    size_t functions_count, functions_room;
};

/* The facts of a stack. Valid until the next call. */
const struct stack_fact *stack_facts_of(struct stack_facts *facts, uint32_t stack);

/* Frees everything. */
void stack_facts_free(struct stack_facts *facts);

#endif
