/* SPDX-License-Identifier: MIT */
/* Looks at threads as OTLP has them: a row for each thread, task, stack, status and span, and on request each look of
 * the row with its time. Memory grows with the rows, and with the looks where their times are wanted: 48 bytes each.
 *
 * CPU time that is known only later (run.count is 0) belongs to the latest look of its row. */
#ifndef PYREEL_FORMATS_OTLP_OTLP_LOOKS_H
#define PYREEL_FORMATS_OTLP_OTLP_LOOKS_H

#include "formats/intern/intern.h"
#include "formats/model/attribute.h"

struct otlp_row {
    uint32_t thread, task, stack, status; /* status: see formats/pprof/pprof_status.h */
    uint32_t span;                        /* number in `spans`; 0: none */
    uint32_t latest;                      /* index of the latest look + 1; 0: none */
    uint64_t sums[SUMS];
};

struct otlp_look {
    uint32_t row;
    uint32_t before; /* index of the look before it in the same row + 1; 0: it is the first */
    uint64_t time_ns;
    uint64_t values[SUMS]; /* of SUM_SAMPLES, 1; without a look of its own, 0 */
};

/* `= {0}` is empty; set `timed` before the first look. */
struct otlp_looks {
    bool timed;
    struct intern spans;                     /* struct span_ids as bytes */
    struct intern_pairs states;              /* (status, span), of looks with a span */
    struct intern_pairs whose, whats, index; /* (thread, task), (stack, state), and both -> number of the row */
    struct otlp_row *rows;                   /* by number; entry 0 is unused */
    size_t rows_room;
    struct otlp_look *looks;
    size_t count, room;
};

/* Adds a run; of several samples only where no times are wanted. */
void otlp_looks_add(struct otlp_looks *looks, const struct run *run);

/* The number of rows. */
static inline uint32_t otlp_looks_rows(const struct otlp_looks *looks)
{
    return looks->index.count;
}

/* The span of a row; all 0: none. */
struct span_ids otlp_looks_span(const struct otlp_looks *looks, const struct otlp_row *row);

/* Frees all memory. `timed` stays. */
void otlp_looks_free(struct otlp_looks *looks);

#endif
