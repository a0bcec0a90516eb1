/* SPDX-License-Identifier: MIT */
#include "formats/model/exactness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MISSED_PERCENT 2 /* a larger share of missed time is reported */

static double exactness_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : -1;
}

/* The value of a counter in percent of `whole`; -1 when the recording lacks the counter. */
static double share_counted(const struct tables *tables, const char *name, double whole)
{
    const struct counter *counter = counters_find(&tables->counters, name);
    return counter ? exactness_percent((double)counter->value, whole) : -1;
}

/* A share below 100 % stays below 100 % when it is rounded to four digits. */
static double at_most_all(double percent)
{
    const double most = percent < 100 ? 99.9999 : 100;
    return percent < most ? percent : most;
}

/* The number of samples that the recorder counted. The tables may have fewer: some are lost or filtered out. */
static double samples_counted(const struct tables *tables)
{
    const struct counter *counted = counters_find(&tables->counters, "samples");
    return (double)(counted ? counted->value : tables->samples);
}

/* The same, without those of threads that ran no Python. */
static double samples_in_python(const struct tables *tables)
{
    const struct counter *outside = counters_find(&tables->counters, "samples_outside");
    return samples_counted(tables) - (outside ? (double)outside->value : 0);
}

/* The time that the recorder's counters are about. The counters of a recording that was cut off are older than its last
 * samples. */
static double counted_ns(const struct tables *tables)
{
    const double counted = samples_counted(tables), samples = (double)tables->samples;
    return (double)tables_duration_ns(tables) * (counted < samples ? counted / samples : 1);
}

/* The time in which ticks were due: the recording's, or the sum of the lives of processes that have their own ticks. */
static double ticked_ns(const struct tables *tables)
{
    double sum_ns = 0;
    if (!tables->recording.process_ticks)
        return (double)tables_duration_ns(tables);
    for (uint32_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].own.ticks)
            sum_ns += (double)tables_life_ns(tables, i);
    return sum_ns;
}

/* The rate at which a process is looked at; -1: not known. Where processes have their own ticks, the mean of all
 * samples: the rare samples of processes that sleep hardly lower this mean. */
static double reached_hz(const struct tables *tables)
{
    const double duration_ns = (double)tables_duration_ns(tables);
    double rates_mhz = 0;
    if (tables->missing || duration_ns <= 0)
        return -1;
    if (!tables->recording.process_ticks)
        return (double)tables->ticks * 1e9 / duration_ns;
    for (uint32_t i = 1; i < tables->processes_count; i++)
        rates_mhz += (double)tables->processes[i].own.rates_mhz;
    return tables->samples ? rates_mhz / (double)tables->samples / 1000 : -1;
}

/* The share of the samples that were due that the recording has. Of the time that was not missed the share is counted
 * in samples, so a recording of many threads and few failures is as good as its failures are rare. */
static double kept_percent(const struct tables *tables)
{
    const double samples = (double)tables->samples;
    const double in_time = exactness_percent(samples, samples + (double)tables->failed + (double)tables->missing);
    const double missed_share = ticked_ns(tables) > 0 ? (double)tables->missed_ns / ticked_ns(tables) : 0;
    return in_time < 0 ? -1 : at_most_all(in_time * (missed_share < 1 ? 1 - missed_share : 0));
}

struct exactness exactness_of(const struct tables *tables)
{
    const struct counter *left_out = counters_find(&tables->counters, "ticks_left_out");
    const uint64_t looks = tables->ticks + tables->missed;
    struct exactness exactness = {
        .asked_hz = tables->recording.interval_ns ? 1e9 / (double)tables->recording.interval_ns : -1,
        .reached_hz = reached_hz(tables),
        .exact_percent = at_most_all(share_counted(tables, "samples_exact", samples_counted(tables))),
        .c_percent = at_most_all(share_counted(tables, "c_samples", samples_in_python(tables))),
        .taken_percent = share_counted(tables, "taken_ns", counted_ns(tables)),
        .budget_percent = share_counted(tables, "disturb_limit_ppm", 1e6),
        .missed_percent = at_most_all(exactness_percent((double)tables->missed_ns, ticked_ns(tables))),
        .kept_percent = kept_percent(tables),
        .left_out = left_out ? left_out->value : 0,
        .has_left_out = left_out != NULL,
    };
    exactness.due = looks + exactness.left_out;
    return exactness;
}

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static void exactness_add(char room[EXACTNESS_ROOM], const char *format, ...)
{
    const size_t used = strlen(room);
    va_list values;
    va_start(values, format);
    vsnprintf(room + used, EXACTNESS_ROOM - used, format, values);
    va_end(values);
}

const char *exactness_rate(char room[EXACTNESS_ROOM], const struct exactness *exactness)
{
    room[0] = '\0';
    if (exactness->asked_hz < 0 || exactness->reached_hz < 0)
        return room;
    exactness_add(room, exactness->reached_hz < 100 ? "%.3g a second" : "%.0f a second", exactness->reached_hz);
    exactness_add(room, " (%g asked", exactness->asked_hz);
    if (exactness->left_out > 0 && exactness->budget_percent >= 0)
        exactness_add(room, ", limited to %g %% overhead", exactness->budget_percent);
    else if (exactness->left_out > 0)
        exactness_add(room, ", limited by its overhead");
    exactness_add(room, ")");
    return room;
}

double exactness_tenths(double percent)
{
    return (double)(uint64_t)(percent * 10) / 10;
}

const char *exactness_share(char room[EXACTNESS_ROOM], const struct exactness *exactness)
{
    const bool exact = exactness->exact_percent >= 0, taken = exactness->taken_percent >= 0;
    room[0] = '\0';
    if (exact)
        exactness_add(room, "%.1f %% of samples were one proven moment", exactness_tenths(exactness->exact_percent));
    if (exact && exactness->c_percent >= 0)
        exactness_add(room, ", %.1f %% have their C functions", exactness_tenths(exactness->c_percent));
    if (taken)
        exactness_add(room, "%soverhead: %.2f %% of a processor", exact ? "; " : "", exactness->taken_percent);
    return room;
}

const char *exactness_missed(char room[EXACTNESS_ROOM], const struct exactness *exactness)
{
    room[0] = '\0';
    if (exactness->missed_percent > MISSED_PERCENT)
        exactness_add(
            room,
            "%.1f %% of the time was missed: no sample covers that time, and shares may be wrong by as many percentage "
            "points",
            exactness->missed_percent);
    return room;
}

/* ---- time without progress ---- */

const char *const exactness_stand_labels[STANDS] = { "stopped", "frozen", "throttled", "suspended" };
const char *const exactness_stand_titles[STANDS] = { "Stopped", "Frozen", "Throttled", "Suspended" };

static double counted_s(const struct tables *tables, const char *name)
{
    return (double)counters_get(&tables->counters, name) / 1e9;
}

/* Earlier recorders did not tell signals and debuggers apart. */
static void add_stopped(char room[EXACTNESS_ROOM], const struct tables *tables)
{
    const double all_s = counted_s(tables, "stopped_ns"), signal_s = counted_s(tables, "stopped_signal_ns"),
                 tracer_s = counted_s(tables, "stopped_tracer_ns");
    if (all_s <= 0)
        return;
    if (signal_s > 0 && tracer_s > 0)
        exactness_add(room, "%.3f s: %.3f s by a signal, %.3f s by a debugger", all_s, signal_s, tracer_s);
    else
        exactness_add(room, "%.3f s, by a %s", all_s,
                      signal_s > 0   ? "signal"
                      : tracer_s > 0 ? "debugger"
                                     : "signal or a debugger");
}

const char *exactness_stand(char room[EXACTNESS_ROOM], const struct tables *tables, enum exactness_stand stand)
{
    room[0] = '\0';
    switch (stand) {
    case STAND_STOPPED:
        add_stopped(room, tables);
        break;
    case STAND_FROZEN:
        if (counted_s(tables, "frozen_ns") > 0)
            exactness_add(room, "%.3f s, by the program's cgroup", counted_s(tables, "frozen_ns"));
        break;
    case STAND_THROTTLED:
        if (counters_get(&tables->counters, "quota_used_up") > 0)
            exactness_add(room, "the quota of the program's cgroup was used up in %" PRIu64 " of %" PRIu64 " periods",
                          counters_get(&tables->counters, "quota_used_up"),
                          counters_get(&tables->counters, "quota_periods"));
        break;
    case STAND_SUSPENDED:
        if (counted_s(tables, "suspended_ns") > 0)
            exactness_add(room, "the machine, for %.3f s, which are no time of the recording",
                          counted_s(tables, "suspended_ns"));
        break;
    case STANDS:
        break;
    }
    return room;
}
