/* SPDX-License-Identifier: MIT */
#include "convert/sums.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void *sums_start(struct conversion *conversion)
{
    struct sums *sums = alloc_zeroed(1, sizeof(*sums));
    sums->conversion = conversion;
    return sums;
}

bool sums_take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct sums *sums = self;
    aggregate_take(&sums->aggregate, event);
    return true;
}

void sums_drop(void *self)
{
    struct sums *sums = self;
    aggregate_free(&sums->aggregate);
    free(sums);
}

bool sums_are_unknown(const struct conversion *conversion, enum aggregate_sum sum, struct fault *why)
{
    return fault(why, "--weight %s cannot be applied to %s: %s", sum_rows[sum].name, conversion->settings.input,
                 sum_rows[sum].reason);
}

bool sums_know(const struct sums *sums, enum aggregate_sum sum, struct fault *why)
{
    return sums->aggregate.samples == 0 || aggregate_knows(&sums->aggregate, sum) ||
           sums_are_unknown(sums->conversion, sum, why);
}

void sums_warn_of_unknown(const struct sums *sums, enum aggregate_sum sum)
{
    const struct aggregate *aggregate = &sums->aggregate;
    const uint64_t unknown = aggregate->samples - aggregate_known(aggregate, sum);
    if (unknown)
        fprintf(stderr, "%s: warning: %s is not known of %" PRIu64 " of %" PRIu64 " samples: %s\n",
                sums->conversion->converter->name, sum_rows[sum].name, unknown, aggregate->samples,
                sum_rows[sum].reason);
}
