/* SPDX-License-Identifier: MIT */
/* Sums over samples. An aggregate has one row for each distinct combination of thread, asyncio task and stack. A row
 * holds the number of its samples and sums of their times, so memory grows with distinct stacks and not with samples.
 * An output that shows more of a sample has rows for groups of statuses, and for spans, too.
 *
 * `= {0}` is empty. */
#ifndef PYREEL_FORMATS_MODEL_AGGREGATE_H
#define PYREEL_FORMATS_MODEL_AGGREGATE_H

#include "formats/intern/id_index.h"
#include "formats/intern/intern.h"
#include "formats/model/attribute.h"
#include "formats/model/tables.h"

struct aggregate_row {
    uint32_t thread;
    uint32_t task;  /* 0: none */
    uint32_t stack; /* 0: no Python frames */
    uint32_t group; /* aggregate_group() and aggregate_span() have what it says; 0: nothing */
    uint64_t sums[SUMS];
    uint64_t native_ns; /* CPU time of native threads while the thread waited for them */
};

/* Consecutive samples have rows that lie far apart in memory. So sums wait in a batch until the batch has sums for
 * AGGREGATE_WAITING rows. Then all rows of the batch are prefetched at once, instead of one cache miss after the other.
 */
#define AGGREGATE_WAITING 64
/* threads whose latest waiting row is remembered, by the low bits of the thread's number. */
#define AGGREGATE_THREADS 64

/* A group of samples that have a span. Such groups have the numbers behind AGGREGATE_GROUPS; group_of gives those
 * below. */
#define AGGREGATE_GROUPS 4096
struct aggregate_group {
    struct span_ids span;
    uint64_t group; /* what group_of returns */
};

struct aggregate {
    struct id_index index; /* finds a row; its number is its index in `rows` + 1 */
    struct aggregate_row *rows;
    size_t count, room;
    struct aggregate_row waiting[AGGREGATE_WAITING]; /* sums that are not added to `rows` yet */
    uint32_t waiting_count;
    uint32_t latest[AGGREGATE_THREADS];    /* index in `waiting` of the thread's latest row; another thread's row may be
                                            * there by now */
    uint32_t (*group_of)(uint32_t status); /* samples of different groups have different rows; NULL: there are no
                                            * groups. Set this before the first sample */
    bool by_span;               /* samples of different spans have different rows. Set this before the first sample */
    struct intern span_groups;  /* with by_span: struct aggregate_group as bytes */
    struct span_ids grouped_by; /* the span and ... */
    uint32_t grouped, group;    /* ... the status for which group_of was asked last, and the answer */
    bool in_full;               /* some sample had a status or CPU time; else all sums behind SUM_WALL_NS are 0 */
    uint64_t samples;           /* all samples */
    uint64_t known[SUMS];       /* samples that say something of the attribute of a sum */
};

/* Adds all sums of `more` to those of `sums`. */
static inline void aggregate_add_sums(uint64_t sums[SUMS], const uint64_t more[SUMS])
{
    for (size_t i = 0; i < SUMS; i++)
        sums[i] += more[i];
}

/* Adds the samples of a run. The rows are complete, and may be read, only after aggregate_sort(). */
void aggregate_add_run(struct aggregate *aggregate, const struct run *run);

/* Adds the run of an event; nothing of other events. */
static inline void aggregate_take(struct aggregate *aggregate, const struct event *event)
{
    if (event->kind == EVENT_RUN)
        aggregate_add_run(aggregate, &event->run);
}

/* Adds the sums of `given` to the row of the same thread, task, stack and group, without the batch. Rows stand in the
 * order of first sight. */
void aggregate_add(struct aggregate *aggregate, const struct aggregate_row *given);

/* Return what group_of returned of the samples of a row, and the span on which their threads worked. */
uint32_t aggregate_group(const struct aggregate *aggregate, const struct aggregate_row *row);
struct span_ids aggregate_span(const struct aggregate *aggregate, const struct aggregate_row *row);

/* The number of samples of which the sum is known. */
uint64_t aggregate_known(const struct aggregate *aggregate, enum aggregate_sum sum);

/* Whether CPU time is known of so many of the samples that outputs show it first, unless the user asks for another sum.
 */
static inline bool aggregate_cpu_first(uint64_t known, uint64_t samples)
{
    return known && 100 * (double)known >= 95 * (double)samples;
}

/* Whether the sum is known for at least some samples. */
bool aggregate_knows(const struct aggregate *aggregate, enum aggregate_sum sum);

/* Ends the counting and sorts the rows by thread, task, then stack; groups stay in the order of first sight. Nothing
 * can be added afterwards. */
void aggregate_sort(struct aggregate *aggregate);

/* Ends the adding, without an order of the rows: frees the index by which rows are found. */
void aggregate_end_adding(struct aggregate *aggregate);

/* Frees the rows and makes the aggregate empty. */
void aggregate_free(struct aggregate *aggregate);

#endif
