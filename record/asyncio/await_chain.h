/* SPDX-License-Identifier: MIT */
/* Part of asyncio_tasks.c: follows a coroutine to the coroutine that it awaits, and on to the last. */
#ifndef PYREEL_RECORD_ASYNCIO_AWAIT_CHAIN_H
#define PYREEL_RECORD_ASYNCIO_AWAIT_CHAIN_H

#include "record/asyncio/asyncio_tasks.h"

/* The state of a look at a task. */
struct looking {
    struct tasks *tasks;
    struct known_task *task;
    struct double_read *copies; /* the copies that have the task; NULL: none */
    size_t next, end; /* indexes of the task's ranges in `copies` that the look has not used yet, in the look's order */
    size_t seen;      /* spans that the look has read so far */
    enum look state;  /* the result so far */
    bool flickers;    /* the coroutine ran in one of the two copies only */
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
};

/* Reads a span of the target's memory into `into`: from the second copy, or directly if no copy has the span. Sets
 * *same to whether both copies are equal. A direct read makes the look LOOK_CHANGED. False when the span cannot be
 * read. */
bool await_chain_look_anyway(struct looking *looking, uint64_t address, uint32_t size, void *into, bool *same);

/* Reads a span like await_chain_look_anyway(). Copies that differ make the look LOOK_CHANGED, too. */
bool await_chain_look(struct looking *looking, uint64_t address, uint32_t size, void *into);

/* Finds the kind of an object. False when its type cannot be read. */
bool await_chain_look_kind(struct looking *looking, uint64_t object, enum object_kind *kind);

/* Follows the coroutine of a task, and puts the frames into tasks->links. Sets *runs to whether the coroutine ran in at
 * least one of the copies. Failures go to looking->state. */
void await_chain_look_coroutine(struct looking *looking, uint64_t coroutine, bool *runs);

#endif
