/* SPDX-License-Identifier: MIT */
/* Part of asyncio.c: who waits for whom, and the stacks that this gives. */
#ifndef PYREEL_RECORD_ASYNCIO_AWAIT_GRAPH_H
#define PYREEL_RECORD_ASYNCIO_AWAIT_GRAPH_H

#include "record/asyncio/asyncio.h"

/* Looks at a task once in a round. */
enum look await_graph_look(struct asyncio *asyncio, uint32_t place);

/* Follows those that wait for a task, all of which must have been looked at for sure: asyncio->chain is the task, then
 * the one that waits for it, and on. LOOK_CHANGED when that can't be told in this round. */
enum look await_graph_chain(struct asyncio *asyncio, uint32_t place);

/* Whether no task of the chain is other than in the tick before. */
bool await_graph_steady(struct asyncio *asyncio);

/* Whether a coroutine that C code drives, as a task does, is on a stack from one link up to another. */
bool await_graph_drives(const struct asyncio *asyncio, const struct walk *walk, uint32_t from, uint32_t to);

/* How many links of a thread's stack are above the frame of the coroutine; false when it is not there. */
bool await_graph_find_running(const struct asyncio *asyncio, const struct walk *walk, uint64_t coroutine,
                              uint32_t *above);

/* The stack of the chain's first task into its entry; what runs of it is in the walk of its thread, if it has one. */
enum look await_graph_stack(struct asyncio *asyncio, struct frames *stack);

/* A thread's frames from one link up to another; with the synthetic frames that are wanted. */
void await_graph_add_links(struct asyncio *asyncio, const struct member *member, uint32_t from, uint32_t to,
                           struct frames *stack);

/* The chain's frames, from the outermost task on, to the frames of its first task: those are added only if they wait.
 */
void await_graph_add_chain(struct asyncio *asyncio, struct frames *stack);

#endif
