/* SPDX-License-Identifier: MIT */
#include "formats/speedscope/speedscope_profiles.h"

#include "formats/base/alloc.h"
#include "formats/model/program_name.h"
#include "formats/model/task_owner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the size of a profile ---- */

/* {"type":"O","frame":,"at":} with a comma: an event without its numbers. */
#define EVENT_BYTES 28

/* The size of the events that lead from one node to another. */
static uint64_t events_size(const struct speedscope_frames *frames, uint32_t from, uint32_t to, uint64_t at)
{
    const struct speedscope_node *nodes = frames->nodes, *a = &nodes[from], *b = &nodes[to];
    const struct speedscope_node *common = &nodes[speedscope_frames_common(frames, from, to)];
    const uint64_t events = (uint64_t)a->depth + b->depth - 2 * (uint64_t)common->depth;
    return events * (EVENT_BYTES + output_digits(at)) + a->digits + b->digits - 2 * (uint64_t)common->digits;
}

/* The size of a stack in brackets, of its weight, and of the commas behind both. */
static uint64_t sample_size(const struct speedscope_node *node, uint64_t weight)
{
    const uint64_t commas = node->depth ? node->depth - 1 : 0;
    return 2 + node->digits + commas + 1 + output_digits(weight) + 1;
}

struct speedscope_sizes speedscope_profiles_measure(struct speedscope_shared *shared, uint32_t thread)
{
    const struct speedscope_frames *frames = &shared->frames;
    struct speedscope_reader reader = { 0 };
    struct speedscope_sizes sizes = { 0 };
    struct speedscope_episode episode;
    uint64_t at = shared->start;
    uint32_t node = 0;
    speedscope_reader_begin(&reader, frames, &shared->spool, &shared->threads[thread].times, shared->start);
    for (; speedscope_reader_next(&reader, &episode); at = episode.until, node = episode.node) {
        sizes.sampled += sample_size(&frames->nodes[episode.node], episode.until - episode.from);
        sizes.evented += events_size(frames, node, episode.node, episode.from);
        sizes.shown += episode.node ? episode.until - episode.from : 0;
    }
    sizes.evented += events_size(frames, node, 0, at);
    speedscope_reader_free(&reader);
    return sizes;
}

/* ---- which profiles ---- */

static const struct thread *speedscope_profiles_thread_of(const struct tables *tables, uint32_t number)
{
    return &tables->threads[number].thread;
}

/* A profile while the order is sought. */
struct candidate {
    uint32_t process, thread;
    bool main, task;
    bool evented;
};

static int speedscope_profiles_by_order(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->main != b->main)
        return a->main ? -1 : 1;
    if (a->task != b->task)
        return b->task ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Whether a thread works more than another. The time without waits decides where no CPU time is known. */
static bool works_more(const struct speedscope_thread *thread, const struct speedscope_thread *other)
{
    return thread->cpu_ns != other->cpu_ns ? thread->cpu_ns > other->cpu_ns : thread->worked_ns > other->worked_ns;
}

void speedscope_profiles_find(struct speedscope_profiles *profiles, struct speedscope_shared *shared)
{
    const struct tables *tables = shared->tables;
    struct candidate *found = alloc_zeroed(shared->threads_room + 1, sizeof(*found));
    size_t count = 0;
    shared->processes = tables_count_processes(tables) > 1;
    for (uint32_t i = 0; i < shared->threads_room; i++) {
        if (!shared->threads[i].times.changes.count)
            continue;
        const struct speedscope_sizes sizes = speedscope_profiles_measure(shared, i);
        const struct thread *thread = speedscope_profiles_thread_of(tables, i);
        if (sizes.shown)
            found[count++] = (struct candidate){ thread->process, i, thread->main && !thread->interpreter,
                                                 thread->task != 0, sizes.evented < sizes.sampled };
    }
    qsort(found, count, sizeof(*found), speedscope_profiles_by_order);
    *profiles = (struct speedscope_profiles){ .rows = alloc_zeroed(count + 1, sizeof(*profiles->rows)),
                                              .count = count };
    for (size_t i = 0; i < count; i++) {
        profiles->rows[i] = (struct speedscope_profile){ found[i].thread, found[i].evented };
        if (works_more(&shared->threads[found[i].thread], &shared->threads[found[profiles->active].thread]))
            profiles->active = i;
    }
    free(found);
}

void speedscope_profiles_free(struct speedscope_profiles *profiles)
{
    free(profiles->rows);
    *profiles = (struct speedscope_profiles){ 0 };
}

/* ---- names ---- */

static void speedscope_profiles_put(struct bytes *to, struct text text)
{
    put_bytes(to, text.bytes, text.size);
}

static void speedscope_profiles_put_decimal(struct bytes *to, uint64_t number)
{
    to->size += output_put_digits(bytes_reserve(to, DIGITS_MOST), number);
}

/* Puts the process: app.py 4242 (shard-2). */
static void speedscope_profiles_put_process(struct bytes *to, const struct process_row *row)
{
    char *title = program_name_title(row->process.command);
    speedscope_profiles_put(to, text_of(title));
    speedscope_profiles_put(to, TEXT(" "));
    speedscope_profiles_put_decimal(to, row->process.pid);
    if (row->process.recording.size) {
        speedscope_profiles_put(to, TEXT(" ("));
        speedscope_profiles_put(to, row->process.recording);
        speedscope_profiles_put(to, TEXT(")"));
    }
    speedscope_profiles_put(to, TEXT(": "));
    free(title);
}

static void speedscope_profiles_put_name(struct bytes *to, const struct speedscope_shared *shared,
                                         const struct task_owners *owners, uint32_t number)
{
    const struct tables *tables = shared->tables;
    const struct thread *thread = speedscope_profiles_thread_of(tables, number);
    if (shared->processes)
        speedscope_profiles_put_process(to, &tables->processes[thread->process]);
    if (thread->interpreter) {
        speedscope_profiles_put(to, TEXT("interpreter "));
        speedscope_profiles_put_decimal(to, thread->interpreter);
        speedscope_profiles_put(to, TEXT(": "));
    }
    speedscope_profiles_put(to, task_owner_name(owners, tables, number));
    if (thread->task) {
        const struct text task = tables_task(tables, thread->task)->task.name;
        speedscope_profiles_put(to, TEXT(", task "));
        speedscope_profiles_put(to, task);
    } else if (thread->tid) {
        speedscope_profiles_put(to, TEXT(" ("));
        speedscope_profiles_put_decimal(to, thread->tid);
        speedscope_profiles_put(to, TEXT(")"));
    }
}

/* ---- writing ---- */

/* Writes an event. The text fits into the room that an output always has. */
static void emit_event(struct json_emitter *json, char type, uint32_t frame, uint64_t at)
{
    static const char begin[] = ",{\"type\":\"O\",\"frame\":", middle[] = ",\"at\":";
    unsigned char *to = output_room(json->to);
    size_t size = json->comma ? 0 : 1; /* of the text without the comma */
    unsigned char text[OUTPUT_ROOM];
    memcpy(text, begin, sizeof(begin) - 1);
    text[10] = (unsigned char)type;
    memcpy(to, text + size, sizeof(begin) - 1 - size);
    size = sizeof(begin) - 1 - size;
    size += output_put_digits(to + size, frame);
    memcpy(to + size, middle, sizeof(middle) - 1);
    size += sizeof(middle) - 1;
    size += output_put_digits(to + size, at);
    to[size++] = '}';
    output_filled(json->to, size);
    json->comma = true;
}

/* Stores the nodes from `node` to below `above`, leaf first. Returns their number. */
static size_t climb(struct speedscope_shared *shared, uint32_t node, uint32_t above)
{
    size_t count = 0;
    for (; node != above; node = shared->frames.nodes[node].caller) {
        shared->climb = alloc_grow(shared->climb, &shared->climb_room, count + 1, sizeof(*shared->climb));
        shared->climb[count++] = node;
    }
    return count;
}

/* Writes the events that lead from one node to another: frames that end, the leaf first, then frames that begin. */
static void emit_events(struct speedscope_shared *shared, uint32_t from, uint32_t to, uint64_t at)
{
    const struct speedscope_frames *frames = &shared->frames;
    const uint32_t common = speedscope_frames_common(frames, from, to);
    for (; from != common; from = frames->nodes[from].caller)
        emit_event(shared->json, 'C', frames->nodes[from].frame, at);
    for (size_t left = climb(shared, to, common); left > 0; left--)
        emit_event(shared->json, 'O', frames->nodes[shared->climb[left - 1]].frame, at);
}

static void emit_evented(struct speedscope_shared *shared, uint32_t thread)
{
    struct speedscope_reader reader = { 0 };
    struct speedscope_episode episode;
    uint64_t at = shared->start;
    uint32_t node = 0;
    emit_open(shared->json, "events", '[');
    speedscope_reader_begin(&reader, &shared->frames, &shared->spool, &shared->threads[thread].times, shared->start);
    for (; speedscope_reader_next(&reader, &episode); at = episode.until, node = episode.node)
        emit_events(shared, node, episode.node, episode.from);
    emit_events(shared, node, 0, at);
    speedscope_reader_free(&reader);
    emit_close(shared->json, ']');
}

static void emit_stack(struct speedscope_shared *shared, uint32_t node)
{
    emit_open(shared->json, NULL, '[');
    for (size_t left = climb(shared, node, 0); left > 0; left--)
        emit_integer(shared->json, NULL, shared->frames.nodes[shared->climb[left - 1]].frame);
    emit_close(shared->json, ']');
}

/* Writes a column of a sampled profile: the stacks or, with `weights`, their times. A gap is an empty stack. */
static void speedscope_profiles_emit_column(struct speedscope_shared *shared, uint32_t thread, bool weights)
{
    struct speedscope_reader reader = { 0 };
    struct speedscope_episode episode;
    emit_open(shared->json, weights ? "weights" : "samples", '[');
    speedscope_reader_begin(&reader, &shared->frames, &shared->spool, &shared->threads[thread].times, shared->start);
    while (speedscope_reader_next(&reader, &episode)) {
        if (weights)
            emit_integer(shared->json, NULL, (int64_t)(episode.until - episode.from));
        else
            emit_stack(shared, episode.node);
    }
    speedscope_reader_free(&reader);
    emit_close(shared->json, ']');
}

static void speedscope_profiles_emit_profile(struct speedscope_shared *shared, const struct speedscope_profile *profile,
                                             struct text name)
{
    struct json_emitter *json = shared->json;
    const struct speedscope_times *times = &shared->threads[profile->thread].times;
    emit_open(json, NULL, '{');
    emit_text(json, "type", profile->evented ? TEXT("evented") : TEXT("sampled"));
    emit_text(json, "name", name);
    emit_text(json, "unit", text_of(shared->unit));
    emit_integer(json, "startValue", (int64_t)shared->start);
    emit_integer(json, "endValue", (int64_t)times->changes.last.time);
    if (profile->evented) {
        emit_evented(shared, profile->thread);
    } else {
        speedscope_profiles_emit_column(shared, profile->thread, false);
        speedscope_profiles_emit_column(shared, profile->thread, true);
    }
    emit_close(json, '}');
}

/* The viewer needs a profile, also when there are no samples. */
static void emit_empty(struct speedscope_shared *shared)
{
    struct json_emitter *json = shared->json;
    emit_open(json, NULL, '{');
    emit_text(json, "type", TEXT("sampled"));
    emit_text(json, "name", TEXT("no samples"));
    emit_text(json, "unit", text_of(shared->unit));
    emit_integer(json, "startValue", 0);
    emit_integer(json, "endValue", 0);
    emit_literal(json, "samples", "[]");
    emit_literal(json, "weights", "[]");
    emit_close(json, '}');
}

void speedscope_profiles_emit(const struct speedscope_profiles *profiles, struct speedscope_shared *shared)
{
    struct task_owners owners = { 0 };
    struct bytes name = { 0 };
    task_owner_find(&owners, shared->tables);
    emit_open(shared->json, "profiles", '[');
    for (size_t i = 0; i < profiles->count; i++, name.size = 0) {
        speedscope_profiles_put_name(&name, shared, &owners, profiles->rows[i].thread);
        speedscope_profiles_emit_profile(shared, &profiles->rows[i], (struct text){ (const char *)name.at, name.size });
    }
    if (profiles->count == 0)
        emit_empty(shared);
    emit_close(shared->json, ']');
    bytes_free(&name);
    task_owner_free(&owners);
}
