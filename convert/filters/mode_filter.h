/* SPDX-License-Identifier: MIT */
/* Selects the samples that the output gets: --mode, --no-idle and --span. For samples that these do not keep, the
 * output gets EVENT_LEFT_OUT, as if the recorder had left them out. This event comes before the thread's next sample,
 * before the thread's end, or at the end of the recording.
 *
 *     sample 1 (CPU), sample 2, sample 3, sample 4 (CPU)     -> --mode cpu ->     sample 1, left out 2, sample 4
 *
 * EVENT_LEFT_OUT has the CPU time of what a mode leaves out, which belongs to the samples that are kept. That of other
 * spans goes with them: a filter with a span stands behind the CPU owner. */
#ifndef PYREEL_CONVERT_FILTERS_MODE_FILTER_H
#define PYREEL_CONVERT_FILTERS_MODE_FILTER_H

#include "formats/base/text.h"
#include "formats/model/sink.h"

enum kept_mode { KEPT_AS_RECORDED, KEPT_WALL, KEPT_CPU, KEPT_GIL, KEPT_EXCEPTION };

/* The mode with this name; KEPT_AS_RECORDED: there is no such mode. */
enum kept_mode mode_filter_named(struct text name);

/* Whose samples --span keeps. `= {0}`: all. */
struct kept_span {
    enum { SPAN_ANY, SPAN_OF_TRACE, SPAN_ALONE } by;
    struct span_ids ids; /* what `by` needs of them */
};

/* Reads the id of a trace (32 hexadecimal digits), or of a span (16). False when the text is neither, or has zeros
 * alone, which are no id. */
bool kept_span_parse(struct text id, struct kept_span *span);

/* Set `mode`, `no_idle` and `span`; the rest starts as zeros. */
struct mode_filter {
    enum kept_mode mode;
    struct kept_span span;
    bool no_idle;              /* keep samples of threads that were on a processor or held the interpreter's lock */
    struct left_out *left_out; /* by thread: samples that were left out since the last EVENT_LEFT_OUT */
    size_t room;
    uint64_t samples; /* number of samples that came, of the wanted span */
    uint64_t others;  /* of other spans, or of none; ... */
    bool spans_known; /* ... whether any sample had a span */
    uint64_t unknown; /* of them: without the status that the mode needs */
};

/* Whether the filter may leave out samples. */
static inline bool mode_filter_selects(const struct mode_filter *filter)
{
    return filter->no_idle || filter->span.by || (filter->mode != KEPT_AS_RECORDED && filter->mode != KEPT_WALL);
}

/* The options that need the status of samples, for messages: "--mode", "--no-idle" or both. */
const char *mode_filter_name(const struct mode_filter *filter);

/* Whether the recording can have the samples of the mode. False with the reason when the recording was made with
 * another mode. */
bool mode_filter_fits(const struct mode_filter *filter, const struct recording *recording, struct fault *why);

/* Gives an event to the output, or leaves it out. False with the reason when the output refused. */
bool mode_filter_take(struct mode_filter *filter, struct event *event, const struct sink *output, struct fault *why);

/* Emits the EVENT_LEFT_OUT events that are still due at the end. False with the reason when no sample has the status
 * that the mode needs, or the span that --span needs, or the output refused. */
bool mode_filter_finish(struct mode_filter *filter, const struct sink *output, struct fault *why);

/* Frees the memory. */
void mode_filter_free(struct mode_filter *filter);

#endif
