/* SPDX-License-Identifier: MIT */
#include "convert/loss.h"

/* Estimates the number of ticks in a gap of `intervals` intervals. A tick may stand for several
 * intervals, so the estimate uses the mean rate of the readable part. */
static double ticks_in(const struct tables *tables, uint64_t intervals)
{
    const double gap_ns = (double)intervals * (double)tables->recording.interval_ns;
    const double good_ns = (double)tables->last_ns - gap_ns;
    if (good_ns <= 0)
        return (double)intervals;
    return gap_ns / good_ns * (double)tables->ticks;
}

/* Estimates the number of lost samples. A lost tick counts as many samples as the mean readable tick. A lost byte at
 * the end counts as many samples as the mean readable byte. */
static uint64_t estimate(const struct source_report *report, const struct tables *tables, uint64_t samples)
{
    const double all = (double)(samples + tables->lost_samples);
    const double good_bytes = (double)(report->bytes - report->damage.bytes);
    double lost = (double)tables->lost_samples;
    if (tables->ticks > 0)
        lost += ticks_in(tables, report->lost_ticks) * all / (double)tables->ticks;
    if (good_bytes > 0)
        lost += (double)report->damage.tail * all / good_bytes;
    return lost < (double)INT64_MAX ? (uint64_t)(lost + 0.5) : INT64_MAX;
}

uint64_t loss_of(const struct source_report *report, const struct tables *tables, uint64_t samples)
{
    if (!report->ended)
        return estimate(report, tables, samples);
    const uint64_t said = tables->end.samples < INT64_MAX ? tables->end.samples : INT64_MAX;
    return said > samples ? said - samples : 0;
}

bool loss_is_damage(const struct source_report *report, const struct tables *tables)
{
    const struct damage *damage = &report->damage;
    return damage->bytes || damage->blocks || damage->duplicates || tables->missing;
}
