/* SPDX-License-Identifier: MIT */
#include "formats/speedscope/speedscope.h"

#include "formats/base/alloc.h"
#include "formats/model/program_name.h"
#include "formats/speedscope/speedscope_profiles.h"

#include <stdlib.h>

struct speedscope {
    struct entries_style style;
    struct json_emitter json;
    struct speedscope_shared shared;
    struct speedscope_profiles profiles;
};

/* The units of times that are tried, the coarsest first. A file of coarse times is smaller. */
static const struct {
    const char *name;
    uint64_t ns;
} units[] = { { "microseconds", 1000 }, { "nanoseconds", 1 } };

struct speedscope *speedscope_start(const struct tables *tables, struct output *output,
                                    const struct entries_style *style)
{
    struct speedscope *speedscope = alloc_zeroed(1, sizeof(*speedscope));
    speedscope->style = *style;
    speedscope->json.to = output;
    speedscope->shared.tables = tables;
    speedscope->shared.json = &speedscope->json;
    return speedscope;
}

/* Chooses the unit: an interval has at least twenty. */
static void speedscope_choose_unit(struct speedscope_shared *shared)
{
    const uint64_t interval_ns = shared->tables->recording.interval_ns;
    size_t i = 0;
    while (i + 1 < countof(units) && units[i].ns > interval_ns / 20)
        i++;
    shared->unit = units[i].name;
    shared->unit_ns = units[i].ns;
}

static void speedscope_take_run(struct speedscope_shared *shared, const struct run *run)
{
    const uint32_t number = run->thread;
    shared->threads = alloc_grow(shared->threads, &shared->threads_room, (size_t)number + 1, sizeof(*shared->threads));
    struct speedscope_thread *thread = &shared->threads[number];
    const enum waiting wait = waiting_of(run->status);
    thread->cpu_ns += run->cpu_ns;
    thread->worked_ns += wait == WAITS_NOT ? run->wall_ns : 0;
    if (run->wall_ns == 0)
        return;
    const uint32_t activity = speedscope_frames_activity(&shared->frames, run->stack, wait);
    speedscope_times_add(&thread->times, &shared->spool, shared->unit_ns, run->until_ns - run->wall_ns, run->until_ns,
                         activity);
}

static void speedscope_take_thread_end(struct speedscope_shared *shared, uint32_t number)
{
    if (number < shared->threads_room)
        spool_settle(&shared->spool, &shared->threads[number].times.changes);
}

bool speedscope_take(struct speedscope *speedscope, const struct event *event, struct fault *why)
{
    struct speedscope_shared *shared = &speedscope->shared;
    if (shared->unit_ns == 0)
        speedscope_choose_unit(shared);
    if (event->kind == EVENT_RUN)
        speedscope_take_run(shared, &event->run);
    else if (event->kind == EVENT_THREAD_END)
        speedscope_take_thread_end(shared, event->change.number);
    return shared->spool.failure.text[0] == '\0' || fault(why, "%s", shared->spool.failure.text);
}

/* The time of a look that is just behind the start of a selected part may begin before the start. */
static void settle_thread(struct speedscope_shared *shared, struct speedscope_times *times)
{
    speedscope_times_settle(times, &shared->spool, shared->unit_ns);
    if (times->changes.count && times->first < shared->start)
        shared->start = times->first;
}

bool speedscope_settle(struct speedscope *speedscope)
{
    struct speedscope_shared *shared = &speedscope->shared;
    if (shared->unit_ns == 0)
        speedscope_choose_unit(shared);
    shared->start = shared->tables->recording.from_ns / shared->unit_ns;
    for (size_t i = 0; i < shared->threads_room; i++)
        settle_thread(shared, &shared->threads[i].times);
    speedscope_frames_settle(&shared->frames, shared->tables, &speedscope->style);
    speedscope_profiles_find(&speedscope->profiles, shared);
    return speedscope->profiles.count > 0 || shared->frames.activities_by_key.count == 0;
}

uint32_t speedscope_deepest(const struct speedscope *speedscope)
{
    return speedscope->shared.frames.deepest;
}

static void speedscope_emit_name(struct speedscope *speedscope)
{
    char *title = program_name_title(tables_first_process(speedscope->shared.tables)->command);
    emit_text(&speedscope->json, "name", text_of(title));
    free(title);
}

bool speedscope_write(struct speedscope *speedscope, struct fault *why)
{
    struct json_emitter *json = &speedscope->json;
    struct speedscope_shared *shared = &speedscope->shared;
    emit_open(json, NULL, '{');
    emit_text(json, "$schema", TEXT("https://www.speedscope.app/file-format-schema.json"));
    emit_text(json, "exporter", TEXT("pyreel " PYREEL_VERSION));
    speedscope_emit_name(speedscope);
    emit_integer(json, "activeProfileIndex", (int64_t)speedscope->profiles.active);
    emit_open(json, "shared", '{');
    speedscope_frames_emit(&shared->frames, json);
    emit_close(json, '}');
    speedscope_profiles_emit(&speedscope->profiles, shared);
    emit_close(json, '}');
    output_bytes(json->to, "\n", 1);
    if (shared->spool.failure.text[0])
        return fault(why, "%s", shared->spool.failure.text);
    return !json->bad || fault(why, "the recording holds a text that is not UTF-8");
}

void speedscope_drop(struct speedscope *speedscope)
{
    if (!speedscope)
        return;
    struct speedscope_shared *shared = &speedscope->shared;
    for (size_t i = 0; i < shared->threads_room; i++)
        spool_drop(&shared->threads[i].times.changes);
    free(shared->threads);
    free(shared->climb);
    speedscope_frames_free(&shared->frames);
    speedscope_profiles_free(&speedscope->profiles);
    spool_close(&shared->spool);
    free(speedscope);
}
