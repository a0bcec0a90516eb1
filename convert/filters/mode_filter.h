/* SPDX-License-Identifier: MIT */
/* Which samples of a recording the output gets: --mode. It stands between the tables, which see every sample, and the
 * output, which sees those that the mode keeps. In the place of the others it is told EVENT_LEFT_OUT, as if the
 * recorder had left them out: before the thread's next sample, its end, or the end of all.
 *
 *     sample 1 (CPU), sample 2, sample 3, sample 4 (CPU)     -> --mode cpu ->     sample 1, left out 2, sample 4
 */
#ifndef PYREEL_CONVERT_FILTERS_MODE_FILTER_H
#define PYREEL_CONVERT_FILTERS_MODE_FILTER_H

#include "formats/model/sink.h"
#include "formats/model/tables.h"

enum kept_mode { KEPT_AS_RECORDED, KEPT_WALL, KEPT_CPU, KEPT_GIL, KEPT_EXCEPTION };

/* The mode of this name; KEPT_AS_RECORDED when there is none. */
enum kept_mode mode_filter_named(struct text name);

/* Set `mode`; the rest starts as zeros. */
struct mode_filter {
    enum kept_mode mode;
    struct left_out *left_out; /* by thread: not told yet */
    size_t room;
    uint64_t dropped; /* samples */
    uint64_t unknown; /* of all samples, those that do not say what the mode asks for */
};

/* Whether a recording may have the samples of the mode: not one that was made for another. */
bool mode_filter_fits(const struct mode_filter *filter, const struct recording *recording, struct fault *why);

/* Hands an event that the tables have accepted to the output, or leaves it out. A sample that is left out counts as
 * that in the tables, too, and no longer as a sample. */
bool mode_filter_take(struct mode_filter *filter, struct tables *tables, struct event *event, const struct sink *output,
                      struct fault *why);

/* At the end: tells what was left out and not told yet. False with the reason when no sample said what the mode asks
 * for. */
bool mode_filter_finish(struct mode_filter *filter, const struct tables *tables, const struct sink *output,
                        struct fault *why);

void mode_filter_free(struct mode_filter *filter);

#endif
