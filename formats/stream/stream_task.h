/* SPDX-License-Identifier: MIT */
/* The asyncio task that a thread runs, as the block has it so far, kept the same way by writer and reader:
 * schemas/stream.md, "Tasks". */
#ifndef PYREEL_FORMATS_STREAM_STREAM_TASK_H
#define PYREEL_FORMATS_STREAM_STREAM_TASK_H

#include <stdint.h>

/* `= {0}`: a real thread without a task. */
struct stream_task {
    uint32_t entry; /* the task of a virtual thread, which it runs at the start of each block; 0: a real thread */
    uint32_t task;  /* the latest task, ... */
    uint64_t block; /* ... valid in this block */
};

/* The task that the thread runs at this point of the block. */
static inline uint32_t stream_task_now(const struct stream_task *thread, uint64_t block)
{
    return thread->block == block ? thread->task : thread->entry;
}

#endif
