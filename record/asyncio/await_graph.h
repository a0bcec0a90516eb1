/* SPDX-License-Identifier: MIT */
/* Part of asyncio.c: finds which task waits for which, and makes stacks from that. */
#ifndef PYREEL_RECORD_ASYNCIO_AWAIT_GRAPH_H
#define PYREEL_RECORD_ASYNCIO_AWAIT_GRAPH_H

#include "record/asyncio/asyncio.h"

/* Looks at a task, by its row. A second call in the same tick returns the result of the first call. */
enum look await_graph_look(struct asyncio *asyncio, uint32_t row);

/* Fills asyncio->chain: the row of the task, then the row of the task that waits for it, and so on. LOOK_SURE when each
 * of these tasks has a sure look in this tick. */
enum look await_graph_chain(struct asyncio *asyncio, uint32_t row);

/* Emits all tasks anew, with who waits for them, because another stream takes what is emitted. */
void await_graph_restart(struct asyncio *asyncio);

/* Whether each task of asyncio->chain waits, and is as at the look before. */
bool await_graph_steady(struct asyncio *asyncio);

/* Whether C code called a coroutine on this stack, as the event loop does to run a task. Checks the links `from` to
 * `to` - 1. */
bool await_graph_drives(const struct asyncio *asyncio, const struct walk *walk, uint32_t from, uint32_t to);

/* The known task whose coroutine is the innermost one that C code called on this stack; NULL: there is none. In CPython
 * 3.11, where C code calls each coroutine: the innermost one that is a known task's. The task may have ended long ago,
 * and another object be in its place. */
const struct known_task *await_graph_driven(struct asyncio *asyncio, const struct walk *walk);

/* Finds the frame of a coroutine on a thread's stack. *above: the number of links that are callers of this frame. False
 * when the frame is not on the stack. */
bool await_graph_find_running(const struct asyncio *asyncio, const struct walk *walk, uint64_t coroutine,
                              uint32_t *above);

/* The thread on whose stack the coroutine of a task is in this tick, with *above as above; NULL: not on a stack. */
const struct member *await_graph_thread(const struct asyncio *asyncio, const struct known_task *task, uint32_t *above);

/* Makes the stack of the first task of asyncio->chain. If the task runs, its frames come from the walk of its thread.
 * LOOK_CHANGED when that thread was not read. */
enum look await_graph_stack(struct asyncio *asyncio, struct frames *stack);

/* Adds the links `from` to `to` - 1 of a thread's stack, and the synthetic frames that the options ask for. */
void await_graph_add_links(struct asyncio *asyncio, const struct member *member, uint32_t from, uint32_t to,
                           struct frames *stack);

/* Adds <native>: the stack below was called from C code. */
void await_graph_add_native(const struct asyncio *asyncio, struct frames *stack);

/* Adds the tasks of asyncio->chain, the last one first: for each its label, and its frames unless these are on the
 * stack of a thread. */
void await_graph_add_chain(struct asyncio *asyncio, struct frames *stack);

#endif
