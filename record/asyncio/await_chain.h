/* SPDX-License-Identifier: MIT */
/* Part of asyncio_tasks.c: follows a coroutine to the coroutine that it awaits, and on to the last. */
#ifndef PYREEL_RECORD_ASYNCIO_AWAIT_CHAIN_H
#define PYREEL_RECORD_ASYNCIO_AWAIT_CHAIN_H

#include "record/asyncio/asyncio_tasks.h"

/* The state of a look at a task. */
struct looking {
    struct tasks *tasks;
    struct known_task *task;
    size_t next, end; /* indexes of the task's ranges in tasks->memory that the look has not used yet, in the order of
                         the last look */
    enum look state;  /* the result so far */
    uint64_t generation; /* see asyncio_tasks_look() */
};

/* The kinds of objects that a look distinguishes. */
enum object_kind {
    OBJECT_OTHER = 1,
    OBJECT_TASK,
    OBJECT_INT,
    OBJECT_STR,
    OBJECT_GENERATOR, /* generator, coroutine, asynchronous generator */
    OBJECT_WRAPPER,   /* an awaitable that passes everything on to the awaitable inside */
    OBJECT_FUTURE,    /* the next ones: see wakers.h. A future that is no task */
    OBJECT_BUILTIN,   /* a function or bound method that is written in C */
    OBJECT_FUNCTION,
    OBJECT_METHOD,
    OBJECT_PARTIAL,
    OBJECT_LIST,
    OBJECT_TUPLE,
    OBJECT_CELL,
};

/* Reads a span of the target's memory into `into`, and adds it to the spans of the task. False when the span cannot be
 * read. */
bool await_chain_look(struct looking *looking, uint64_t address, uint32_t size, void *into);

/* Finds the kind of an object. False when its type cannot be read. */
bool await_chain_look_kind(struct looking *looking, uint64_t object, enum object_kind *kind);

/* Adds a task to those that wait for the task, or a callback that may wake one (wakers.h). */
void await_chain_add_waiter(struct looking *looking, uint64_t waiter);

/* Finds the code object that a frame or a function has. NULL: failed; looking->state says why. */
struct code *await_chain_code(struct looking *looking, struct executed executed);

/* Finds whether a method that is written in C (a PyMethodDef) wakes the task that it is bound to. False when it cannot
 * be read. */
bool await_chain_wakes_self(struct looking *looking, uint64_t method, bool *wakes);

/* Follows the coroutine of a task, and adds the frames to task->frames. Sets *runs to whether the coroutine runs.
 * Failures go to looking->state. */
void await_chain_look_coroutine(struct looking *looking, uint64_t coroutine, bool *runs);

#endif
