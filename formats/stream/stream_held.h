/* SPDX-License-Identifier: MIT */
/* Attributes of a thread that hold in a block until a note says otherwise, kept the same way by writer and reader: a
 * row for each. So a new one is a note (stream_format.h), a member of struct sample, and a row here; its note has two
 * numbers, the thread and the value.
 *
 *     ticks of a block     1       2       3       4       5
 *     notes                        8               0
 *     the value            begin   8       8       0       0        `begin`: the value with which each block begins
 */
#ifndef PYREEL_FORMATS_STREAM_STREAM_HELD_H
#define PYREEL_FORMATS_STREAM_STREAM_HELD_H

#include "formats/codec/stream_format.h"
#include "formats/model/event.h"

#include <stddef.h>

enum { HELD_TASK, HELD_COLLECTION, HELD };

/* One row each. */
static const struct {
    enum stream_note note;
    size_t member; /* a uint32_t in struct sample */
    bool task;     /* the value is the number of a task, which must be defined before */
} stream_held[HELD] = {
    [HELD_TASK] = { NOTE_THREAD_TASK, offsetof(struct sample, task), true },
    [HELD_COLLECTION] = { NOTE_THREAD_COLLECTION, offsetof(struct sample, collection), false },
};

/* One attribute of a thread. `= {0}`: no block has said anything. */
struct stream_held {
    uint32_t begin; /* the value with which each block begins: the task of a virtual thread, else 0 */
    uint32_t value; /* the latest value, ... */
    uint64_t block; /* ... valid in this block */
};

/* The value at this point of the block. */
static inline uint32_t stream_held_now(const struct stream_held *held, uint64_t block)
{
    return held->block == block ? held->value : held->begin;
}

/* Where the attribute is in a sample. */
static inline uint32_t *stream_held_in(struct sample *sample, size_t attribute)
{
    return (uint32_t *)(void *)((char *)sample + stream_held[attribute].member);
}

#endif
