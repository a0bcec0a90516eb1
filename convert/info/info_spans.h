/* SPDX-License-Identifier: MIT */
/* How many samples say on which span of OpenTelemetry their thread worked, and how many spans and traces that were.
 * Ids are remembered to count each once, INFO_SPANS_MOST of spans and of traces, which takes about 50 MiB; of more, the
 * numbers are the least that there are. */
#ifndef PYREEL_CONVERT_INFO_INFO_SPANS_H
#define PYREEL_CONVERT_INFO_INFO_SPANS_H

#include "formats/base/output.h"
#include "formats/intern/intern.h"
#include "formats/model/event.h"

#include <jansson.h>

#define INFO_SPANS_MOST 250000

/* `= {0}` is empty. */
struct info_spans {
    uint64_t samples;            /* with a span */
    struct intern spans, traces; /* ids */
    struct span_ids latest;      /* of the latest sample that had a span */
    bool more;                   /* there are more ids than are remembered */
};

/* Takes samples. */
void info_spans_add(struct info_spans *spans, const struct run *run);

/* Prints a line; nothing when no sample has a span. */
void info_spans_print(struct output *to, const struct info_spans *spans);

/* Returns the figures of that line as JSON; NULL when no sample has a span. */
json_t *info_spans_json(const struct info_spans *spans);

/* Frees the ids. */
void info_spans_free(struct info_spans *spans);

#endif
