/* SPDX-License-Identifier: MIT */
/* Writes an aggregate as JSON Lines, for scripts: a line that describes the recording, a line for each distinct stack
 * of each thread and task, and a line with the totals. Each line is a JSON object that can be read by itself. The law
 * is schemas/report-jsonl.schema.json.
 *
 *     {"type":"recording","format":"pyreel-stacks","version":1,"program":"app.py",...}
 *     {"type":"stack","thread":"MainThread","frames":[{"function":"main","file":"app.py","line":17}],"samples":310,...}
 *     {"type":"end","stacks":1,"samples":310,...}
 *
 * A file without its last line is cut off. */
#ifndef PYREEL_FORMATS_EXCHANGE_JSONL_H
#define PYREEL_FORMATS_EXCHANGE_JSONL_H

#include "formats/base/output.h"
#include "formats/calls/entries.h"
#include "formats/model/aggregate.h"

/* The first bytes of each file. */
#define JSONL_BEGINS "{\"type\":\"recording\",\"format\":\"pyreel-stacks\""

struct jsonl_style {
    enum entry_kind kind; /* what a frame is: a line of a function, or a function */
    bool full_paths;      /* files as recorded */
    const struct frame_filter *filter;
};

/* Writes all lines. The aggregate must be sorted and have the groups of waiting_group(). False when the style leaves
 * out all samples; `why` stays empty then. False with the reason when a text is not UTF-8. */
bool jsonl_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                 const struct jsonl_style *style, struct fault *why);

#endif
