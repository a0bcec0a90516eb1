/* SPDX-License-Identifier: MIT */
/* What a block has told of the asyncio task that a thread runs, the same for who writes it and who reads it:
 * schemas/stream.md, "Tasks". */
#ifndef PYREEL_FORMATS_STREAM_STREAM_TASK_H
#define PYREEL_FORMATS_STREAM_STREAM_TASK_H

#include <stdint.h>

/* Of a thread. `= {0}`: a thread proper that no block has told of yet. */
struct stream_task {
    uint32_t entry; /* the task that the thread stands for, with which each block begins; 0 for a thread proper */
    uint32_t task;  /* the one told last, ... */
    uint64_t block; /* ... in this block */
};

/* The task that holds now in a block. */
static inline uint32_t stream_task_now(const struct stream_task *runs, uint64_t block)
{
    return runs->block == block ? runs->task : runs->entry;
}

#endif
