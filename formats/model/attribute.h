/* SPDX-License-Identifier: MIT */
/* Attributes: what a sample says of its thread besides the stack. Each attribute is one row: its name, where it is in
 * the sample, whether it is known, and how the samples of a stack add up.
 *
 *     a state    the thread was so or not: bits of sample->status. Adds up to the time that the samples stand for.
 *     an amount  how much since the thread's last sample: a field of struct sample. Adds up by itself.
 *
 * A state is recorded by thread_status.c of the recorder, and all bits of STATUS_BITS are in the stream. So a new state
 * is a bit of enum status, a row here, the recorder's value, and a row in each output that shows the state. */
#ifndef PYREEL_FORMATS_MODEL_ATTRIBUTE_H
#define PYREEL_FORMATS_MODEL_ATTRIBUTE_H

#include "formats/model/event.h"

enum attribute {
    ATTRIBUTE_CPU, /* states */
    ATTRIBUTE_GIL,
    ATTRIBUTE_GIL_WAIT,
    ATTRIBUTE_EXCEPTION,
    ATTRIBUTE_ELSEWHERE,
    ATTRIBUTE_TASK_WAITS,
    ATTRIBUTE_STATES,
    ATTRIBUTE_CPU_TIME = ATTRIBUTE_STATES, /* amounts, in nanoseconds */
    ATTRIBUTES
};

struct attribute_row {
    const char *name;
    const char *question; /* behind "the samples do not say" */
    uint32_t state;       /* the bit of sample->status that says that the thread is so; 0: an amount */
    uint32_t unknown;     /* the bit that says that nobody asked; 0: whoever records a status asks */
};
extern const struct attribute_row attributes[ATTRIBUTES];

/* Whether a status says anything of an attribute. */
static inline bool attribute_known(uint32_t status, enum attribute attribute)
{
    return status & STATUS_RECORDED && !(status & attributes[attribute].unknown);
}

/* Whether a status says that the thread is in a state. */
static inline bool attribute_is(uint32_t status, enum attribute state)
{
    return attribute_known(status, state) && status & attributes[state].state;
}

/* The bits for what no thread of this version of CPython says (PY_VERSION_HEX; 0: no such bits). Before 3.15, a thread
 * state has no `gil_requested`, so nobody knows who waits for the lock. */
static inline uint32_t attribute_never_said(uint32_t python_version)
{
    return python_version && python_version < 0x030F0000 ? STATUS_GIL_WAIT_UNKNOWN : 0;
}

/* Returns how much a run of samples adds to the sum of an attribute, in nanoseconds. */
static inline uint64_t attribute_sum_ns(const struct sample *sample, enum attribute attribute)
{
    if (!attributes[attribute].state)
        return sample->cpu_ns; /* the one amount that there is */
    return attribute_is(sample->status, attribute) ? sample->wall_ns : 0;
}

#endif
