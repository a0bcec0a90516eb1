/* SPDX-License-Identifier: MIT */
/* Attributes: what a sample says of its thread besides the stack. Each attribute is one row: its name, where it is in
 * the run, whether it is known, and how the samples of a stack add up.
 *
 *     a state    the thread was so or not: bits of run->status. Adds up to the time that the samples stand for.
 *     an amount  how much since the thread's last sample: a field of struct run. Adds up by itself.
 *
 * The recorder sets a state in thread_status.c, and all bits of STATUS_BITS are in the stream. Outputs loop over the
 * rows here. So a new state is a bit of enum status, a row of `attributes`, one of `sum_rows` if people weigh stacks by
 * the state, and the recorder's value. */
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
    ATTRIBUTE_READY,
    ATTRIBUTE_STATES,
    ATTRIBUTE_CPU_TIME = ATTRIBUTE_STATES, /* amounts, in nanoseconds */
    ATTRIBUTES
};

struct attribute_row {
    const char *name;
    const char *question; /* behind "the samples do not say" */
    const char *column;   /* the title of a column with its share of the time; NULL: nobody shows the share */
    const char *time;     /* what people call the time with this state; NULL: nobody shows the time */
    uint32_t state;       /* the bit of run->status that says that the thread is so; 0: an amount */
    uint32_t unknown;     /* the bit that says that nobody asked; 0: whoever records a status asks */
};

/* The rows stand here, not in attribute.c, so that the compiler knows the bits: each sample is asked often. */
static const struct attribute_row attributes[ATTRIBUTES] = {
    [ATTRIBUTE_CPU] = { "cpu", "whether their thread was on a processor", "CPU %", NULL, STATUS_CPU,
                        STATUS_CPU_UNKNOWN },
    [ATTRIBUTE_GIL] = { "gil", "whether their thread held the GIL", "GIL %", "Time with the GIL", STATUS_GIL, 0 },
    [ATTRIBUTE_GIL_WAIT] = { "gil_wait", "whether their thread waited for the GIL", "wait %",
                             "Time waiting for the GIL", STATUS_GIL_WAIT, STATUS_GIL_WAIT_UNKNOWN },
    [ATTRIBUTE_EXCEPTION] = { "exception", "whether their thread had an exception", "exc. %",
                              "Time handling exceptions", STATUS_EXCEPTION, 0 },
    [ATTRIBUTE_ELSEWHERE] = { "elsewhere", "whether their thread was in another interpreter", NULL, NULL,
                              STATUS_ELSEWHERE, 0 },
    [ATTRIBUTE_TASK_WAITS] = { "task_waits", "whether their task waited", NULL, NULL, STATUS_TASK_WAITS, 0 },
    [ATTRIBUTE_READY] = { "ready", "whether their thread waited for a processor", NULL, NULL, STATUS_READY,
                          STATUS_CPU_UNKNOWN },
    [ATTRIBUTE_CPU_TIME] = { "cpu_time", "how much CPU time their thread used", NULL, NULL, 0, STATUS_CPU_UNKNOWN },
};

/* The sums over the samples of a stack. */
enum aggregate_sum {
    SUM_SAMPLES,
    SUM_WALL_NS,     /* time that the samples stand for */
    SUM_CPU_NS,      /* the attributes: CPU time, as far as it is known */
    SUM_GIL_NS,      /* time of the samples whose thread held the interpreter's lock */
    SUM_GIL_WAIT_NS, /* time of the samples whose thread waited for the interpreter's lock */
    SUMS
};
#define SUM_NAMES "samples|wall|cpu|gil|gil_wait" /* for help texts: the names of all sums */

struct sum_row {
    const char *name;         /* in options and outputs */
    const char *label;        /* for people, in a sentence, ... */
    const char *title;        /* ... and in a list of weights */
    enum attribute attribute; /* from SUM_CPU_NS on */
    const char *reason;       /* from SUM_CPU_NS on: why the sum is not known of some samples */
};
extern const struct sum_row sum_rows[SUMS];

/* Finds a sum by its name. False for any other name. */
bool sum_named(const char *name, enum aggregate_sum *sum);

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
static inline uint64_t attribute_sum_ns(const struct run *run, enum attribute attribute)
{
    if (!attributes[attribute].state)
        return run->cpu_ns; /* the one amount that there is */
    return attribute_is(run->status, attribute) ? run->wall_ns : 0;
}

#endif
