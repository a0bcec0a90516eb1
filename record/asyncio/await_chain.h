/* SPDX-License-Identifier: MIT */
/* Part of asyncio_tasks.c: from a coroutine to the one that it waits for, and on to the last. */
#ifndef PYREEL_RECORD_ASYNCIO_AWAIT_CHAIN_H
#define PYREEL_RECORD_ASYNCIO_AWAIT_CHAIN_H

#include "record/asyncio/asyncio_tasks.h"

/* A look at a task that is under way. */
struct looking {
    struct tasks *tasks;
    struct known_task *task;
    struct double_read *copies; /* NULL: none were made */
    size_t next, end;           /* places that are there for it, in the order of the last look */
    size_t seen;                /* spans so far */
    enum look state;
    bool flickers; /* the coroutine began or ended to run between the copies */
    uint64_t generation;
};

/* What the objects of a type are. */
enum object_kind { OBJECT_OTHER = 1, OBJECT_TASK, OBJECT_INT, OBJECT_STR, OBJECT_GENERATOR, OBJECT_WRAPPER };

/* What stands at an address, or stood there when the second copy was made. *same: and so it did at the first. False
 * when it can't be read. */
bool await_chain_look_anyway(struct looking *looking, uint64_t address, uint32_t size, void *into, bool *same);

/* What stands at an address. The look is not sure when that changed. False when it can't be read: the look has failed.
 */
bool await_chain_look(struct looking *looking, uint64_t address, uint32_t size, void *into);

/* The kind of the object at an address. */
bool await_chain_look_kind(struct looking *looking, uint64_t object, enum object_kind *kind);

/* Follows the coroutine: tasks->links are its frames; the task runs if it does. */
void await_chain_look_coroutine(struct looking *looking, uint64_t coroutine, bool *runs);

#endif
