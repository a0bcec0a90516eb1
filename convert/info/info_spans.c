/* SPDX-License-Identifier: MIT */
#include "convert/info/info_spans.h"

#include "convert/info/info_json.h"

#include <inttypes.h>

/* Remembers an id, unless there are too many. */
static void remember_id(struct info_spans *spans, struct intern *ids, const void *id, size_t size)
{
    bool added;
    if (ids->count < INFO_SPANS_MOST)
        intern_number(ids, id, size, &added);
    else if (!intern_find(ids, id, size))
        spans->more = true;
}

void info_spans_add(struct info_spans *spans, const struct run *run)
{
    const struct span_ids span = run->span;
    if (!span_ids_some(span))
        return;
    spans->samples += run->count;
    if (span_ids_equal(span, spans->latest))
        return;
    spans->latest = span;
    const uint64_t trace[] = { span.trace_high, span.trace_low };
    if (trace[0] || trace[1])
        remember_id(spans, &spans->traces, trace, sizeof(trace));
    if (span.id)
        remember_id(spans, &spans->spans, &span, sizeof(span));
}

void info_spans_print(struct output *to, const struct info_spans *spans)
{
    if (spans->samples)
        output_format(to, "%-11s %s%" PRIu32 " of %" PRIu32 " traces of OpenTelemetry, with %" PRIu64 " samples\n",
                      "spans", spans->more ? "at least " : "", spans->spans.count, spans->traces.count, spans->samples);
}

json_t *info_spans_json(const struct info_spans *spans)
{
    if (!spans->samples)
        return NULL;
    return json_pack("{s:o, s:o, s:o, s:b}", "samples", info_json_count(spans->samples), "spans",
                     info_json_count(spans->spans.count), "traces", info_json_count(spans->traces.count), "more",
                     (int)spans->more);
}

void info_spans_free(struct info_spans *spans)
{
    intern_free(&spans->spans);
    intern_free(&spans->traces);
    *spans = (struct info_spans){ 0 };
}
