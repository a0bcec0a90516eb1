/* SPDX-License-Identifier: MIT */
/* An output that is written from sums: the state, start, take and drop of its converter. And what there is to say when
 * recordings lack what --weight names. */
#ifndef PYREEL_CONVERT_SUMS_H
#define PYREEL_CONVERT_SUMS_H

#include "convert/convert.h"
#include "formats/model/aggregate.h"

struct sums {
    struct conversion *conversion;
    struct aggregate aggregate;
};

/* The functions of the same names in struct converter. */
void *sums_start(struct conversion *conversion);
bool sums_take(void *self, struct event *event, struct fault *why);
void sums_drop(void *self);

/* Whether a sum is known of any sample, or there is no sample. False with the reason. */
bool sums_know(const struct sums *sums, enum aggregate_sum sum, struct fault *why);

/* Warns of samples of which a sum is not known. */
void sums_warn_of_unknown(const struct sums *sums, enum aggregate_sum sum);

/* Says in `why` that a sum is not known of the recordings. Returns false. */
bool sums_are_unknown(const struct conversion *conversion, enum aggregate_sum sum, struct fault *why);

#endif
