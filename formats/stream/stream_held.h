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

enum { HELD_TASK, HELD_COLLECTION, HELD_CALLBACK, HELD_TRACE_HIGH, HELD_TRACE_LOW, HELD_SPAN, HELD };

/* One row each. */
static const struct {
    enum stream_note note;
    size_t member;
    enum {
        HOLDS_NUMBER, /* a uint32_t in struct sample */
        HOLDS_TASK,   /* the same: the number of a task, which must be defined before */
        HOLDS_LONG,   /* a uint64_t */
        HOLDS_TIME,   /* a uint64_t, which is no later than the sample; a note has it in units, 0 for none */
    } holds;
} stream_held[HELD] = {
    [HELD_TASK] = { NOTE_THREAD_TASK, offsetof(struct sample, task), HOLDS_TASK },
    [HELD_COLLECTION] = { NOTE_THREAD_COLLECTION, offsetof(struct sample, collection), HOLDS_NUMBER },
    [HELD_CALLBACK] = { NOTE_THREAD_CALLBACK, offsetof(struct sample, callback_ns), HOLDS_TIME },
    [HELD_TRACE_HIGH] = { NOTE_THREAD_TRACE_HIGH, offsetof(struct sample, span.trace_high), HOLDS_LONG },
    [HELD_TRACE_LOW] = { NOTE_THREAD_TRACE_LOW, offsetof(struct sample, span.trace_low), HOLDS_LONG },
    [HELD_SPAN] = { NOTE_THREAD_SPAN, offsetof(struct sample, span.id), HOLDS_LONG },
};

/* One attribute of a thread. `= {0}`: no block has said anything. */
struct stream_held {
    uint64_t begin; /* the value with which each block begins: the task of a virtual thread, else 0 */
    uint64_t value; /* the latest value, as its note has it, ... */
    uint64_t block; /* ... valid in this block */
};

/* The value at this point of the block. */
static inline uint64_t stream_held_now(const struct stream_held *held, uint64_t block)
{
    return held->block == block ? held->value : held->begin;
}

/* The attribute of a sample, as its note has it. */
static inline uint64_t stream_held_of(const struct sample *sample, size_t attribute, uint64_t unit_ns)
{
    const void *member = (const char *)sample + stream_held[attribute].member;
    if (stream_held[attribute].holds < HOLDS_LONG)
        return *(const uint32_t *)member;
    if (stream_held[attribute].holds == HOLDS_LONG)
        return *(const uint64_t *)member;
    const uint64_t ns = *(const uint64_t *)member;
    const uint64_t units = ns && ns < unit_ns ? 1 : ns / unit_ns, most = sample->time_ns / unit_ns;
    return units < most ? units : most;
}

/* The largest value that a note may have in a tick at this time. */
static inline uint64_t stream_held_most(size_t attribute, uint64_t tick_units)
{
    if (stream_held[attribute].holds == HOLDS_TIME)
        return tick_units;
    return stream_held[attribute].holds == HOLDS_LONG ? UINT64_MAX : UINT32_MAX;
}

/* Gives a sample the attribute. */
static inline void stream_held_give(struct sample *sample, size_t attribute, uint64_t value, uint64_t unit_ns)
{
    void *member = (char *)sample + stream_held[attribute].member;
    if (stream_held[attribute].holds < HOLDS_LONG)
        *(uint32_t *)member = (uint32_t)value;
    else
        *(uint64_t *)member = stream_held[attribute].holds == HOLDS_TIME ? value * unit_ns : value;
}

#endif
