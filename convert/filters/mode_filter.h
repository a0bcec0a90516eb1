/* SPDX-License-Identifier: MIT */
/* Selects the samples that the output gets: --mode and --no-idle. For samples that the mode does not keep, the
 * output gets EVENT_LEFT_OUT, as if the recorder had left them out. This event comes before the thread's next sample,
 * before the thread's end, or at the end of the recording.
 *
 *     sample 1 (CPU), sample 2, sample 3, sample 4 (CPU)     -> --mode cpu ->     sample 1, left out 2, sample 4
 */
#ifndef PYREEL_CONVERT_FILTERS_MODE_FILTER_H
#define PYREEL_CONVERT_FILTERS_MODE_FILTER_H

#include "formats/model/sink.h"

enum kept_mode { KEPT_AS_RECORDED, KEPT_WALL, KEPT_CPU, KEPT_GIL, KEPT_EXCEPTION };

/* The mode with this name; KEPT_AS_RECORDED: there is no such mode. */
enum kept_mode mode_filter_named(struct text name);

/* Set `mode` and `no_idle`; the rest starts as zeros. */
struct mode_filter {
    enum kept_mode mode;
    bool no_idle;              /* keep samples of threads that were on a processor or held the interpreter's lock */
    struct left_out *left_out; /* by thread: samples that were left out since the last EVENT_LEFT_OUT */
    size_t room;
    uint64_t samples; /* number of samples that came */
    uint64_t unknown; /* of them: without the status that the mode needs */
};

/* Whether the filter may leave out samples by their status. */
static inline bool mode_filter_selects(const struct mode_filter *filter)
{
    return filter->no_idle || (filter->mode != KEPT_AS_RECORDED && filter->mode != KEPT_WALL);
}

/* The options that need the status of samples, for messages: "--mode", "--no-idle" or both. */
const char *mode_filter_name(const struct mode_filter *filter);

/* Whether the recording can have the samples of the mode. False with the reason when the recording was made with
 * another mode. */
bool mode_filter_fits(const struct mode_filter *filter, const struct recording *recording, struct fault *why);

/* Gives an event to the output, or leaves it out. False with the reason when the output refused. */
bool mode_filter_take(struct mode_filter *filter, struct event *event, const struct sink *output, struct fault *why);

/* Emits the EVENT_LEFT_OUT events that are still due at the end. False with the reason when no sample has the status
 * that the mode needs, or the output refused. */
bool mode_filter_finish(struct mode_filter *filter, const struct sink *output, struct fault *why);

/* Frees the memory. */
void mode_filter_free(struct mode_filter *filter);

#endif
