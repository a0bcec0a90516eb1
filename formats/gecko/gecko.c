/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_cpu.h"
#include "formats/gecko/gecko_internal.h"

#include <stdlib.h>

/* The units of a sample's time: a millisecond and its decimal parts. */
static const uint64_t units_ns[] = { 1000000, 100000, 10000, 1000, 100, 10, 1 };

struct gecko *gecko_start(const struct tables *tables, struct output *output, struct gecko_style style)
{
    struct gecko *gecko = alloc_zeroed(1, sizeof(*gecko));
    gecko->tables = tables;
    gecko->json.to = output;
    markers_begin(&gecko->markers, tables, style.gil_wait_ns ? style.gil_wait_ns : GIL_WAIT_LEAST_NS);
    gecko->style = style;
    return gecko;
}

/* Chooses the unit of times. Times are half of the file, so they get only the digits that show a tick's jitter. */
static void gecko_choose_unit(struct gecko *gecko)
{
    const uint64_t wanted_ns = gecko->tables->recording.interval_ns / 20;
    while (gecko->digits + 1 < countof(units_ns) && units_ns[gecko->digits] > wanted_ns)
        gecko->digits++;
    gecko->unit_ns = units_ns[gecko->digits];
}

const struct gecko_thread *gecko_thread(const struct gecko *gecko, uint32_t thread)
{
    static const struct gecko_thread none;
    return thread < gecko->threads_room ? &gecko->threads[thread] : &none;
}

const struct spool_column *gecko_samples(const struct gecko *gecko, uint32_t thread)
{
    return &gecko_thread(gecko, thread)->samples;
}

/* Converts the time of a sample to units. All samples of a tick have the same time, so the result is kept. */
static uint64_t in_units_of_tick(struct gecko *gecko, uint64_t time_ns)
{
    if (gecko->tick_ns != time_ns || gecko->tick == 0)
        gecko->tick = gecko_in_units(gecko, time_ns);
    gecko->tick_ns = time_ns;
    return gecko->tick;
}

/* The time of a thread's next sample, which is due at `time`. Times are rounded before differences are taken, so errors
 * do not add up. The viewer draws nonsense of a time that goes back, and nothing of a sample at the time of the one
 * before: each sample is at least a unit later. Only entries that share a line have samples at one time. */
static uint64_t time_of(const struct gecko_thread *thread, uint64_t time)
{
    const struct spool_column *samples = &thread->samples;
    const uint64_t earliest = samples->count ? samples->last.time + !thread->shared : 0;
    return time < earliest ? earliest : time;
}

/* Takes a sample. A failed sample or a missed tick adds nothing: the viewer sees a longer step between two samples. */
static void gecko_take_run(struct gecko *gecko, const struct run *run)
{
    const bool entry = gecko_tasks_is_entry(gecko, run->thread);
    const uint32_t host = entry ? gecko_tasks_host(gecko, run->thread, run->status) : run->thread;
    gecko->host = host;
    gecko_totals_take(gecko, run);
    if (entry)
        gecko_tasks_take_markers(gecko, run);
    else
        markers_take_run(&gecko->markers, run, run->thread);
    if (!host)
        return;
    struct gecko_thread *thread = gecko_thread_make(gecko, host);
    thread->shared |= host != run->thread && gecko->tables->threads[host].thread.task != 0;
    const uint64_t time = time_of(thread, in_units_of_tick(gecko, run->time_ns));
    if (gecko->style.markers == GECKO_MARKERS_ALL)
        gecko_status_take(gecko, thread, run, time);
    const uint32_t code = gecko_leaves_code(gecko, thread, run);
    thread->status = run->status;
    thread->stack = run->stack ? run->stack : thread->stack;
    if (thread->samples.count == 0)
        thread->first = time;
    gecko_weights_take(gecko, thread, run);
    spool_add(&gecko->spool, &thread->samples, (struct spool_sample){ .time = time, .stack = code });
    gecko_cpu_take(gecko, thread, run);
    gecko_counters_take_cpu(gecko, run);
}

static void gecko_take_thread_end(struct gecko *gecko, uint32_t number)
{
    if (number >= gecko->threads_room || gecko_tasks_shared(gecko, number))
        return;
    struct gecko_thread *thread = &gecko->threads[number];
    spool_settle(&gecko->spool, &thread->samples);
    spool_settle(&gecko->spool, &thread->states);
    spool_settle(&gecko->spool, &thread->tasks);
    spool_settle(&gecko->spool, &thread->weights);
    spool_settle(&gecko->spool, &thread->cpu);
}

static void take_other(struct gecko *gecko, const struct event *event)
{
    markers_take(&gecko->markers, event);
    if (event->kind == EVENT_TICK)
        gecko_overhead_take_tick(&gecko->overhead, event->tick_process, event->tick_ns);
    else if (event->kind == EVENT_MEASURE)
        gecko_overhead_take_measure(&gecko->overhead, &event->measure);
    else if (event->kind == EVENT_LEFT_OUT)
        gecko_status_take_left_out(gecko, &event->left_out);
    else if (event->kind == EVENT_THREAD_END)
        gecko_take_thread_end(gecko, event->change.number);
}

/* Takes CPU time alone. A track has samples only: what no look at the thread can have stands with its last sample, and
 * the entry <not sampled> has no track. */
static void take_late(struct gecko *gecko, const struct run *run)
{
    struct run late = *run;
    if (tables_not_sampled(gecko->tables, run->stack)) {
        if (run->thread >= gecko->threads_room || gecko->threads[run->thread].samples.count == 0)
            return;
        late.stack = gecko->threads[run->thread].stack;
    }
    gecko_cpu_take_late(gecko, &late);
}

bool gecko_take(struct gecko *gecko, const struct event *event, struct fault *why)
{
    if (gecko->unit_ns == 0)
        gecko_choose_unit(gecko);
    if (event->kind == EVENT_RUN && event->run.count == 0) {
        take_late(gecko, &event->run);
        return true;
    }
    gecko_counters_take(gecko, event);
    if (event->kind == EVENT_RUN)
        gecko_take_run(gecko, &event->run);
    else
        take_other(gecko, event);
    return gecko->spool.failure.text[0] == '\0' || fault(why, "%s", gecko->spool.failure.text);
}

bool gecko_knows_cpu(const struct gecko *gecko)
{
    return gecko->cpu_known;
}

uint32_t gecko_host(const struct gecko *gecko)
{
    return gecko->host;
}

void gecko_take_recording(struct gecko *gecko, const struct tables *recording, struct text name)
{
    gecko_extra_add(&gecko->extra, recording, name);
}

struct thinning gecko_thinning(const struct gecko *gecko, uint32_t thread)
{
    return (struct thinning){ gecko->every, gecko_samples(gecko, thread)->count, thread };
}

uint64_t gecko_kept_one_of(const struct gecko *gecko)
{
    return gecko->every;
}

uint64_t gecko_kept_samples(const struct gecko *gecko)
{
    uint64_t kept = 0;
    for (uint32_t i = 0; i < gecko->threads_room; i++) {
        const struct thinning thinning = gecko_thinning(gecko, i);
        kept += thinning_kept(&thinning);
    }
    return kept;
}

/* Decides how many samples stay: as many as the user wants, and at least one of each thread. */
static void choose_samples(struct gecko *gecko)
{
    const uint64_t most = gecko->style.max_samples, all = gecko->tables->samples;
    gecko->every = most && all > most ? (all + most - 1) / most : 1;
    while (most && gecko->every < all && gecko_kept_samples(gecko) > most)
        gecko->every += 1 + gecko->every / 16;
}

static void gecko_emit_profile(struct gecko *gecko)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, NULL, '{');
    gecko_libs_emit(gecko);
    emit_literal(json, "pages", "[]");
    gecko_threads_emit(gecko);
    gecko_tables_emit(gecko);
    gecko_counters_emit(gecko);
    gecko_overhead_emit(gecko);
    gecko_meta_emit(gecko);
    emit_close(json, '}');
}

/* Some importers recognise the format by its first bytes, {"libs" or {"meta". The meta part must come last, because it
 * needs totals. */
bool gecko_finish(struct gecko *gecko, struct fault *why)
{
    struct json_emitter *json = &gecko->json;
    gecko_weights_choose(gecko);
    gecko->end_ns = gecko_meta_end_ns(gecko);
    gecko_lines_make(gecko);
    gecko_markers_settle(gecko);
    gecko_rows_make(gecko);
    choose_samples(gecko);
    gecko_sources_find(gecko);
    gecko_libs_find(gecko);
    gecko_leaves_settle(gecko);
    gecko_embedding_start(gecko);
    gecko_emit_profile(gecko);
    output_bytes(json->to, "\n", 1);
    if (gecko->spool.failure.text[0])
        return fault(why, "%s", gecko->spool.failure.text);
    return !json->bad || fault(why, "the recording holds a text that is not UTF-8");
}

const struct embedded_files *gecko_embedded(const struct gecko *gecko)
{
    return &gecko->embedding.files;
}

void gecko_drop(struct gecko *gecko)
{
    if (!gecko)
        return;
    for (size_t i = 0; i < gecko->threads_room; i++) {
        spool_drop(&gecko->threads[i].samples);
        gecko_cpu_drop(&gecko->threads[i]);
        spool_drop(&gecko->threads[i].states);
        spool_drop(&gecko->threads[i].tasks);
        spool_drop(&gecko->threads[i].weights);
    }
    free(gecko->threads);
    spool_close(&gecko->spool);
    gecko_tasks_free(&gecko->tasks);
    markers_free(&gecko->markers);
    gecko_opcodes_free(&gecko->opcodes);
    gecko_leaves_free(&gecko->leaves);
    gecko_categories_free(&gecko->categories);
    gecko_rows_free(&gecko->rows);
    gecko_counters_free(&gecko->counters);
    intern_free(&gecko->strings);
    gecko_sources_free(&gecko->sources);
    gecko_libs_free(&gecko->libs);
    embedding_free(&gecko->embedding);
    gecko_lines_free(&gecko->lines);
    gecko_overhead_free(&gecko->overhead);
    gecko_extra_free(&gecko->extra);
    free(gecko);
}
