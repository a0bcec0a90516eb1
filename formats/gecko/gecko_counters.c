/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_counters.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_internal.h"
#include "formats/model/attribute.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS_MOST    3999u      /* buckets of a series; a curve has one more point */
#define POINTS_ALL     200000u    /* buckets that all processes of a recording share: later processes get fewer */
#define POINTS_LEAST   250u       /* buckets of a series however many processes there are */
#define TICKS_A_BUCKET 4u         /* a bucket begins with so many ticks: one tick says only yes or no */
#define MEASURE_NS     100000000u /* a bucket of measures begins with one measure (struct measure) */

/* ---- looks ---- */

static void begin_series(const struct gecko *gecko, struct series *series, uint64_t width_ns, bool levels)
{
    const size_t shared = POINTS_ALL / gecko->counters.processes_count;
    const size_t limit = shared < POINTS_MOST ? shared : POINTS_MOST;
    series->limit = limit > POINTS_LEAST ? limit : POINTS_LEAST;
    series->width_ns = width_ns;
    series->levels = levels;
}

static struct gecko_curves *make_curves(struct gecko *gecko, uint32_t process)
{
    struct gecko_counters *counters = &gecko->counters;
    counters->processes = alloc_grow(counters->processes, &counters->processes_room, (size_t)process + 1,
                                     sizeof(struct gecko_curves *));
    const uint64_t interval_ns = gecko->tables->recording.interval_ns;
    const uint64_t width_ns = (interval_ns ? interval_ns : gecko->unit_ns) * TICKS_A_BUCKET;
    counters->processes_count++;
    struct gecko_curves *curves = counters->processes[process] = alloc_zeroed(1, sizeof(*curves));
    curves->cpu_ns = MEASURE_UNKNOWN;
    begin_series(gecko, &curves->held, width_ns, false);
    begin_series(gecko, &curves->waiting, width_ns, false);
    begin_series(gecko, &curves->threads_cpu, MEASURE_NS, false);
    begin_series(gecko, &curves->cpu, MEASURE_NS, false);
    begin_series(gecko, &curves->resident, MEASURE_NS, true);
    return curves;
}

static inline struct gecko_curves *curves_of(struct gecko *gecko, uint32_t process)
{
    const struct gecko_counters *counters = &gecko->counters;
    const bool made = process < counters->processes_room && counters->processes[process];
    return made ? counters->processes[process] : make_curves(gecko, process);
}

/* The first look at a process in the open tick. */
static void activate(struct gecko_counters *counters, struct gecko_curves *curves, uint32_t process,
                     const struct run *run)
{
    counters->active = alloc_grow(counters->active, &counters->active_room, counters->active_count + 1,
                                  sizeof(*counters->active));
    counters->active[counters->active_count++] = process;
    curves->active = true;
    /* The CPU time of a sample is of the time before the sample. */
    if (!curves->begun && run->stands_ns <= run->time_ns)
        series_begin(&curves->threads_cpu, run->time_ns - run->stands_ns);
}

static void gecko_counters_take_run(struct gecko *gecko, const struct run *run)
{
    struct gecko_counters *counters = &gecko->counters;
    const struct thread *thread = &gecko->tables->threads[run->thread].thread;
    if (!attribute_known(run->status, ATTRIBUTE_GIL))
        return;
    struct gecko_curves *curves = curves_of(gecko, thread->process);
    if (!curves->active)
        activate(counters, curves, thread->process, run);
    curves->interpreters |= thread->interpreter != 0;
    curves->goes_on |= !run->fresh;
    curves->holders += attribute_is(run->status, ATTRIBUTE_GIL);
    curves->waiters += attribute_is(run->status, ATTRIBUTE_GIL_WAIT);
    counters->stands_ns = run->stands_ns;
}

/* The state of a process in a tick holds since the tick before, which was at `last_ns`, if looks go on from there. */
static void end_tick_of(const struct gecko_counters *counters, struct gecko_curves *curves, uint64_t last_ns,
                        uint64_t tick_ns)
{
    const uint64_t stands_ns = counters->stands_ns < tick_ns ? counters->stands_ns : tick_ns;
    const uint64_t stood_ns = tick_ns - stands_ns;
    const uint64_t before_ns = curves->begun && (curves->goes_on || last_ns > stood_ns) ? last_ns : stood_ns;
    const uint64_t from_ns = before_ns < tick_ns ? before_ns : tick_ns;
    const uint32_t holders = curves->interpreters || curves->holders < 2 ? curves->holders : 1;
    const double time_ns = (double)(tick_ns - from_ns);
    series_add(&curves->held, from_ns, tick_ns, holders * time_ns);
    series_add(&curves->waiting, from_ns, tick_ns, curves->waiters * time_ns);
    curves->ticks_held += curves->holders > 0;
    curves->ticks_shared += curves->holders > 1;
    curves->begun = curves->goes_on = true;
}

/* The time of the latest tick before, of this process or of all. */
static uint64_t *latest_tick(struct gecko_counters *counters, uint32_t process)
{
    const bool own = process && process < counters->processes_room && counters->processes[process];
    return own ? &counters->processes[process]->tick_ns : &counters->tick_ns;
}

static void gecko_counters_end_tick(struct gecko_counters *counters, uint32_t process, uint64_t tick_ns)
{
    uint64_t *latest_ns = latest_tick(counters, process);
    for (size_t i = 0; i < counters->active_count; i++)
        end_tick_of(counters, counters->processes[counters->active[i]], *latest_ns, tick_ns);
    /* A tick in which no thread could be read says nothing: the next tick holds for its time. */
    if (!counters->blind || counters->active_count)
        *latest_ns = tick_ns;
}

static void gecko_counters_take_tick(struct gecko_counters *counters, const struct event *event)
{
    gecko_counters_end_tick(counters, event->tick_process, event->tick_ns);
    for (size_t i = 0; i < counters->active_count; i++) {
        struct gecko_curves *curves = counters->processes[counters->active[i]];
        curves->holders = curves->waiters = 0;
        curves->active = curves->goes_on = false;
    }
    counters->active_count = 0;
    counters->blind = false;
}

static void gecko_counters_take_measure(struct gecko *gecko, const struct measure *measure)
{
    if (measure->process == 0)
        return;
    struct gecko_curves *curves = curves_of(gecko, measure->process);
    if (measure->resident_bytes != MEASURE_UNKNOWN)
        series_note(&curves->resident, measure->time_ns, (double)measure->resident_bytes);
    if (measure->cpu_ns == MEASURE_UNKNOWN)
        return;
    const bool goes_on = curves->cpu_ns != MEASURE_UNKNOWN && curves->measured_ns < measure->time_ns;
    if (goes_on && measure->cpu_ns >= curves->cpu_ns)
        series_add(&curves->cpu, curves->measured_ns, measure->time_ns, (double)(measure->cpu_ns - curves->cpu_ns));
    curves->measured_ns = measure->time_ns;
    curves->cpu_ns = measure->cpu_ns;
}

void gecko_counters_take(struct gecko *gecko, const struct event *event)
{
    if (event->kind == EVENT_RUN)
        gecko_counters_take_run(gecko, &event->run);
    else if (event->kind == EVENT_TICK)
        gecko_counters_take_tick(&gecko->counters, event);
    else if (event->kind == EVENT_FAILED)
        gecko->counters.blind |= event->failed.thread == 0;
    else if (event->kind == EVENT_MEASURE)
        gecko_counters_take_measure(gecko, &event->measure);
}

void gecko_counters_take_cpu(struct gecko *gecko, const struct run *run)
{
    if (run->cpu_ns == 0)
        return;
    struct gecko_curves *curves = curves_of(gecko, gecko->tables->threads[run->thread].thread.process);
    if (curves->cpu_ns != MEASURE_UNKNOWN)
        return;
    const uint64_t wall_ns = run->wall_ns < run->time_ns ? run->wall_ns : run->time_ns;
    series_add(&curves->threads_cpu, run->time_ns - wall_ns, run->time_ns, (double)run->cpu_ns);
}

/* ---- the list ---- */

/* A row of a counter's tooltip: what the viewer computes, and how it shows the number. */
struct gecko_counters_row {
    const char *source, *unit, *label;
};

struct counter_kind {
    const char *name, *category, *label, *description;
    const char *unit, *color, *markers; /* `markers`: the place in schemas of the markers on the curve; NULL: none */
    bool level;                         /* the curve is a level, else a rate */
    double scale;                       /* what a value is divided by */
    struct gecko_counters_row rows[2];
};

#define OF_THE_MOST "of the most in view"

static const struct counter_kind counter_held = {
    .name = "GIL held",
    .category = "GIL",
    .label = "GIL held",
    .description = "Share of the time in which a thread of the process held the GIL",
    .unit = "percent",
    .color = "green",
    .scale = 1e6,
    .rows = { { "rate", "percent", "GIL held" }, { "cpu-ratio", "percent", OF_THE_MOST } },
};
static const struct counter_kind counter_waiting = {
    .name = "Waiting for GIL",
    .category = "GIL",
    .label = "Waiting for GIL",
    .description = "Threads of the process that waited for the GIL",
    .unit = "",
    .color = "red",
    .level = true,
    .scale = 1,
    .rows = { { "accumulated", "number", "threads waiting for the GIL" } },
};
static const struct counter_kind counter_cpu = {
    .name = "CPU",
    .category = "CPU",
    .label = "CPU of the process",
    .description = "CPU time of all threads of the process; 100% is one processor",
    .unit = "percent",
    .color = "blue",
    .scale = 1e6,
    .rows = { { "rate", "percent", "CPU" }, { "cpu-ratio", "percent", OF_THE_MOST } },
};
static const struct counter_kind counter_resident = {
    .name = "Resident memory",
    .category = "Memory",
    .label = "Resident memory",
    .description = "Memory of the process that was in RAM",
    .unit = "bytes",
    .color = "orange",
    .markers = "timeline-memory",
    .level = true,
    .scale = 1,
    .rows = { { "accumulated", "bytes", "resident memory; in a zoomed view, against its beginning" },
              { "count-range", "bytes", "range in view" } },
};

static json_t *display_of(const struct counter_kind *counter, int weight)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < countof(counter->rows) && counter->rows[i].source; i++)
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:{s:s}, s:s}", "type", "value", "source", counter->rows[i].source,
                                        "format", "unit", counter->rows[i].unit, "label", counter->rows[i].label));
    return json_pack("{s:s, s:s, s:s, s:s?, s:i, s:s, s:o}", "graphType",
                     counter->level ? "line-accumulated" : "line-rate", "unit", counter->unit, "color", counter->color,
                     "markerSchemaLocation", counter->markers, "sortWeight", weight, "label", counter->label,
                     "tooltipRows", rows);
}

#define VALUE_MOST                                                                                                     \
    9e15 /* the thousandths of a larger value are no 64-bit number; a damaged recording may claim anything */

static int64_t in_thousandths(double value)
{
    return (int64_t)((value < VALUE_MOST ? value : VALUE_MOST) * 1000 + 0.5);
}

/* Writes a number with at most three digits behind the point. */
static void emit_thousandths(struct json_emitter *json, int64_t value)
{
    char text[48];
    const int64_t size = value < 0 ? -value : value;
    const char *sign = value < 0 ? "-" : "";
    if (size % 1000)
        snprintf(text, sizeof(text), "%s%" PRId64 ".%03" PRId64, sign, size / 1000, size % 1000);
    else
        snprintf(text, sizeof(text), "%s%" PRId64, sign, size / 1000);
    emit_literal(json, NULL, text);
}

/* The value of a point. A level is the mean of a bucket of amounts, or the level that was noted. */
static double value_of(const struct counter_kind *counter, const struct series *series, size_t bucket)
{
    const uint64_t begin_ns = series_begin_of(series, bucket), end_ns = series_end(series, bucket);
    if (!counter->level || series->levels)
        return series->values[bucket] / counter->scale;
    return end_ns > begin_ns ? series->values[bucket] / (double)(end_ns - begin_ns) : 0;
}

/* A bucket without a level has no point. */
static bool has_point(const struct series *series, size_t bucket)
{
    return !series->levels || series->values[bucket] != SERIES_NOTHING;
}

/* The points of a curve, one after the other. */
struct points {
    const struct counter_kind *counter;
    const struct series *series;
    bool begun;
    size_t bucket; /* the next one */
    double sum;    /* of the values, so that errors of rounding do not add up */
    int64_t before;
};

struct point {
    uint64_t time_ns;
    int64_t thousandths;
};

/* Gives the next point. The viewer adds up a level's values, so they are differences. It divides a rate's first value
 * by the interval, whatever the bucket's width: the first value is 0, at the beginning of the first bucket. A noted
 * level stands at the beginning of its bucket, an amount at the end of its bucket. */
static bool next_point(struct points *points, struct point *point)
{
    const struct series *series = points->series;
    const bool first = !points->begun && !series->levels;
    points->begun = true;
    if (first) {
        *point = (struct point){ .time_ns = series->from_ns };
        return true;
    }
    while (points->bucket < series->count && !has_point(series, points->bucket))
        points->bucket++;
    if (points->bucket == series->count)
        return false;
    const size_t bucket = points->bucket++;
    points->sum = (points->counter->level ? 0 : points->sum) + value_of(points->counter, series, bucket);
    const int64_t rounded = in_thousandths(points->sum);
    *point = (struct point){ .time_ns = series->levels ? series_begin_of(series, bucket) : series_end(series, bucket),
                             .thousandths = rounded - points->before };
    points->before = rounded;
    return true;
}

/* Writes the time of a point. A process may end a moment after the last sample; the profile does not go on for it. */
static void emit_time(struct gecko *gecko, uint64_t ns)
{
    emit_decimal(&gecko->json, NULL, ns < gecko->end_ns ? gecko_in_units(gecko, ns) : gecko->end_ns / gecko->unit_ns,
                 gecko->digits);
}

static void gecko_counters_emit_samples(struct gecko *gecko, const struct counter_kind *counter,
                                        const struct series *series)
{
    struct json_emitter *json = &gecko->json;
    int64_t length = 0;
    struct point point;
    emit_open(json, "samples", '{');
    emit_open(json, "time", '[');
    for (struct points points = { .counter = counter, .series = series }; next_point(&points, &point); length++)
        emit_time(gecko, point.time_ns);
    emit_close(json, ']');
    emit_open(json, "count", '[');
    for (struct points points = { .counter = counter, .series = series }; next_point(&points, &point);)
        emit_thousandths(json, point.thousandths);
    emit_close(json, ']');
    emit_integer(json, "length", length);
    emit_close(json, '}');
}

static void emit_counter(struct gecko *gecko, uint32_t process, size_t line, const struct counter_kind *counter,
                         const struct series *series, int weight)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, NULL, '{');
    emit_text(json, "name", text_of(counter->name));
    emit_text(json, "category", text_of(counter->category));
    emit_text(json, "description", text_of(counter->description));
    emit_text(json, "pid", text_of(gecko->lines.processes[process].pid));
    emit_integer(json, "mainThreadIndex", (int64_t)line);
    gecko_counters_emit_samples(gecko, counter, series);
    emit_value(json, "display", display_of(counter, weight));
    emit_close(json, '}');
}

static bool has_sum(const struct series *series)
{
    double sum = 0;
    for (size_t i = 0; i < series->count; i++)
        sum += series->values[i];
    return sum > 0;
}

/* Whether the process has a lock. Recordings that do not say so show it: where there is a lock, hardly two threads of
 * one interpreter hold it in one tick. */
static bool has_lock(const struct gecko *gecko, uint32_t process, const struct gecko_curves *curves)
{
    const uint32_t build = gecko->tables->processes[process].process.build;
    if (build & BUILD_KNOWN)
        return !(build & BUILD_FREE_THREADED);
    return curves->interpreters || curves->ticks_shared * 5 <= curves->ticks_held;
}

/* Whether the profile has the looks at all threads that held or wanted a lock. */
static bool shows_locks(const struct gecko *gecko)
{
    const struct text mode = gecko->tables->recording.mode;
    return !gecko->style.leaves_out &&
           (mode.size == 0 || text_equal(mode, TEXT("wall")) || text_equal(mode, TEXT("gil")));
}

static void gecko_counters_emit_process(struct gecko *gecko, uint32_t process, size_t line, struct gecko_curves *curves)
{
    struct series *cpu = has_sum(&curves->cpu) ? &curves->cpu : &curves->threads_cpu;
    const bool lock = shows_locks(gecko) && has_lock(gecko, process, curves);
    if (curves->threads_cpu.count && curves->held.count)
        series_add(&curves->threads_cpu, curves->held.until_ns, curves->held.until_ns, 0);
    series_settle(&curves->held);
    series_settle(&curves->waiting);
    series_settle(cpu);
    series_settle(&curves->resident);
    if (lock && has_sum(&curves->held))
        emit_counter(gecko, process, line, &counter_held, &curves->held, 5);
    if (lock && has_sum(&curves->waiting))
        emit_counter(gecko, process, line, &counter_waiting, &curves->waiting, 6);
    if (has_sum(cpu))
        emit_counter(gecko, process, line, &counter_cpu, cpu, 7);
    if (curves->resident.count)
        emit_counter(gecko, process, line, &counter_resident, &curves->resident, 8);
}

void gecko_counters_emit(struct gecko *gecko)
{
    const struct gecko_counters *counters = &gecko->counters;
    emit_open(&gecko->json, "counters", '[');
    for (uint32_t process = 1; process < counters->processes_room; process++) {
        const size_t line = counters->processes[process] ? gecko->lines.processes[process].line : SIZE_MAX;
        if (line != SIZE_MAX)
            gecko_counters_emit_process(gecko, process, line, counters->processes[process]);
    }
    emit_close(&gecko->json, ']');
}

void gecko_counters_free(struct gecko_counters *counters)
{
    for (size_t i = 0; i < counters->processes_room; i++) {
        struct gecko_curves *curves = counters->processes[i];
        if (!curves)
            continue;
        series_free(&curves->held);
        series_free(&curves->waiting);
        series_free(&curves->threads_cpu);
        series_free(&curves->cpu);
        series_free(&curves->resident);
        free(curves);
    }
    free(counters->processes);
    free(counters->active);
}
