/* SPDX-License-Identifier: MIT */
#include "formats/gecko/columns/series.h"

#include "formats/base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* The value of two buckets. */
static double joined(const struct series *series, double a, double b)
{
    if (!series->levels)
        return a + b;
    return a > b ? a : b;
}

/* Makes one bucket of each two. */
static void series_fold(struct series *series)
{
    const size_t count = (series->count + 1) / 2;
    for (size_t i = 0; i < count; i++) {
        const double none = series->levels ? SERIES_NOTHING : 0;
        const double b = 2 * i + 1 < series->count ? series->values[2 * i + 1] : none;
        series->values[i] = joined(series, series->values[2 * i], b);
    }
    series->count = count;
    series->width_ns *= 2;
}

/* Returns the number of the bucket at a time. Makes buckets wider until there is one for this time. */
static size_t bucket_at(struct series *series, uint64_t time_ns)
{
    const uint64_t begin_ns = series_begin_of(series, series->latest);
    if (time_ns >= begin_ns && time_ns - begin_ns < series->width_ns)
        return series->latest;
    if (time_ns < series->from_ns)
        return 0;
    while ((time_ns - series->from_ns) / series->width_ns >= series->limit && series->width_ns < UINT64_MAX / 2)
        series_fold(series);
    const size_t bucket = (size_t)((time_ns - series->from_ns) / series->width_ns);
    series->latest = bucket < series->limit ? bucket : series->limit - 1;
    return series->latest;
}

static void make_buckets(struct series *series, size_t count, uint64_t until_ns)
{
    series->values = alloc_grow(series->values, &series->room, count, sizeof(*series->values));
    for (; series->count < count; series->count++)
        series->values[series->count] = series->levels ? SERIES_NOTHING : 0;
    if (series->until_ns < until_ns)
        series->until_ns = until_ns;
}

void series_begin(struct series *series, uint64_t from_ns)
{
    if (series->count)
        return;
    series->from_ns = from_ns;
    make_buckets(series, 1, from_ns);
}

void series_add(struct series *series, uint64_t from_ns, uint64_t until_ns, double amount)
{
    series_begin(series, from_ns);
    if (from_ns < series->from_ns)
        from_ns = series->from_ns;
    if (until_ns <= from_ns)
        until_ns = from_ns + 1;
    const size_t last = bucket_at(series, until_ns - 1), first = bucket_at(series, from_ns);
    make_buckets(series, last + 1, until_ns);
    if (amount == 0)
        return;
    const double all = (double)(until_ns - from_ns);
    double before = 0;
    for (size_t i = first; i <= last; i++) {
        const uint64_t end_ns = series_begin_of(series, i + 1);
        const double so_far = i < last ? floor(amount * (double)(end_ns - from_ns) / all) : amount;
        series->values[i] += so_far - before;
        before = so_far;
    }
}

void series_note(struct series *series, uint64_t time_ns, double level)
{
    series_begin(series, time_ns);
    const size_t bucket = bucket_at(series, time_ns);
    make_buckets(series, bucket + 1, time_ns);
    if (series->values[bucket] < level)
        series->values[bucket] = level;
}

void series_free(struct series *series)
{
    free(series->values);
    *series = (struct series){ 0 };
}

void series_settle(struct series *series)
{
    const size_t last = series->count - 1;
    if (series->count < 2)
        return;
    if (series->until_ns - series_begin_of(series, last) >= series->width_ns / 2)
        return;
    series->values[last - 1] = joined(series, series->values[last - 1], series->values[last]);
    series->count--;
}

uint64_t series_begin_of(const struct series *series, size_t bucket)
{
    return series->from_ns + bucket * series->width_ns;
}

uint64_t series_end(const struct series *series, size_t bucket)
{
    const uint64_t end_ns = series_begin_of(series, bucket + 1);
    return bucket + 1 == series->count && series->until_ns ? series->until_ns : end_ns;
}
