/* SPDX-License-Identifier: MIT */
#include "formats/otlp/otlp_looks.h"

#include "formats/base/alloc.h"
#include "formats/pprof/pprof_status.h"

#include <stdlib.h>
#include <string.h>

/* Without a span, the state of a row is its status; with one, a number from here on. */
#define OTLP_STATES 4096

/* The number of a span; 0: there is none. */
static uint32_t otlp_span_number(struct otlp_looks *looks, struct span_ids span)
{
    bool added;
    return span_ids_some(span) ? intern_number(&looks->spans, &span, sizeof(span), &added) : 0;
}

struct span_ids otlp_looks_span(const struct otlp_looks *looks, const struct otlp_row *row)
{
    struct span_ids span = { 0 };
    if (row->span)
        memcpy(&span, looks->spans.texts[row->span].bytes, sizeof(span));
    return span;
}

static struct otlp_row *otlp_row_of(struct otlp_looks *looks, const struct run *run, uint32_t *number)
{
    bool added;
    const uint32_t status = pprof_status_of(run->status);
    const uint32_t span = otlp_span_number(looks, run->span);
    const uint32_t state = span ? OTLP_STATES + intern_pairs_number(&looks->states, status, span, &added) : status;
    const uint32_t whose = intern_pairs_number(&looks->whose, run->thread, run->task, &added);
    const uint32_t what = intern_pairs_number(&looks->whats, run->stack, state, &added);
    *number = intern_pairs_number(&looks->index, whose, what, &added);
    looks->rows = alloc_grow(looks->rows, &looks->rows_room, (size_t)*number + 1, sizeof(*looks->rows));
    struct otlp_row *row = &looks->rows[*number];
    if (added)
        *row = (struct otlp_row){ run->thread, run->task, run->stack, status, span, 0, { 0 } };
    return row;
}

/* The look to which a run belongs: a new one, or for CPU time alone the latest one of the row. */
static struct otlp_look *otlp_look_of(struct otlp_looks *looks, struct otlp_row *row, uint32_t number,
                                      const struct run *run)
{
    if (run->count == 0 && row->latest)
        return &looks->looks[row->latest - 1];
    looks->looks = alloc_grow(looks->looks, &looks->room, looks->count + 1, sizeof(*looks->looks));
    struct otlp_look *look = &looks->looks[looks->count++];
    *look = (struct otlp_look){ .row = number, .before = row->latest, .time_ns = run->time_ns };
    row->latest = (uint32_t)looks->count;
    return look;
}

static void sums_of(uint64_t sums[SUMS], const struct run *run)
{
    sums[SUM_SAMPLES] = run->count;
    sums[SUM_WALL_NS] = run->wall_ns;
    const bool full = run->status & STATUS_RECORDED || run->cpu_ns;
    for (size_t i = SUM_CPU_NS; i < SUMS; i++)
        sums[i] = full ? attribute_sum_ns(run, sum_rows[i].attribute) : 0;
}

void otlp_looks_add(struct otlp_looks *looks, const struct run *run)
{
    uint32_t number;
    uint64_t sums[SUMS];
    struct otlp_row *row = otlp_row_of(looks, run, &number);
    struct otlp_look *look = looks->timed ? otlp_look_of(looks, row, number, run) : NULL;
    sums_of(sums, run);
    for (size_t i = 0; i < SUMS; i++) {
        row->sums[i] += sums[i];
        if (look)
            look->values[i] += sums[i];
    }
}

void otlp_looks_free(struct otlp_looks *looks)
{
    const bool timed = looks->timed;
    intern_free(&looks->spans);
    intern_pairs_free(&looks->states);
    intern_pairs_free(&looks->whose);
    intern_pairs_free(&looks->whats);
    intern_pairs_free(&looks->index);
    free(looks->rows);
    free(looks->looks);
    *looks = (struct otlp_looks){ .timed = timed };
}
