/* SPDX-License-Identifier: MIT */
#include "formats/exchange/jsonl.h"

#include "formats/base/alloc.h"
#include "formats/base/json.h"
#include "formats/calls/call_tree.h"
#include "formats/model/program_name.h"

#include <stdio.h>
#include <stdlib.h>

struct jsonl {
    struct json_emitter json;
    const struct tables *tables;
    const struct aggregate *aggregate;
    struct entries entries;
    struct groups groups;
    struct call_tree tree;
    uint32_t *thread_of; /* by group: its thread */
    uint32_t *climb;     /* scratch: nodes from the leaf to the root */
    size_t climb_room;
};

static void begin_line(struct jsonl *jsonl, const char *type)
{
    emit_open(&jsonl->json, NULL, '{');
    emit_text(&jsonl->json, "type", text_of(type));
}

static void end_line(struct jsonl *jsonl)
{
    emit_close(&jsonl->json, '}');
    output_bytes(jsonl->json.to, "\n", 1);
    jsonl->json.comma = false;
}

/* Writes sums; null where no sample says anything of a sum. Each sample is counted and stands for a time. */
static void emit_sums(struct jsonl *jsonl, const uint64_t *values)
{
    char key[32];
    for (enum aggregate_sum sum = 0; sum < SUMS; sum++) {
        snprintf(key, sizeof(key), sum == SUM_SAMPLES ? "%s" : "%s_ns", sum_rows[sum].name);
        if (sum == SUM_SAMPLES || sum == SUM_WALL_NS || aggregate_knows(jsonl->aggregate, sum))
            emit_integer(&jsonl->json, key, (int64_t)values[sum]);
        else
            emit_literal(&jsonl->json, key, "null");
    }
}

static void write_recording(struct jsonl *jsonl)
{
    const struct tables *tables = jsonl->tables;
    const struct process *process = tables_first_process(tables);
    char *title = program_name_title(process->command);
    char version[32], date[32];
    event_python_version_text(version, process->python_version);
    event_date_text(date, tables->recording.start_unix_ns);
    begin_line(jsonl, "recording");
    emit_text(&jsonl->json, "format", TEXT("pyreel-stacks"));
    emit_integer(&jsonl->json, "version", 1);
    emit_text(&jsonl->json, "exporter", TEXT("pyreel " PYREEL_VERSION));
    emit_text(&jsonl->json, "program", text_of(title));
    emit_text_or_null(&jsonl->json, "python", process->python_version ? text_of(version) : (struct text){ 0 });
    emit_text_or_null(&jsonl->json, "start", text_of(date));
    emit_integer(&jsonl->json, "duration_ns", (int64_t)tables_duration_ns(tables));
    emit_integer(&jsonl->json, "interval_ns", (int64_t)tables->recording.interval_ns);
    emit_integer(&jsonl->json, "missing", (int64_t)tables->missing);
    end_line(jsonl);
    free(title);
}

/* Writes whose stack it is. */
static void emit_owner(struct jsonl *jsonl, const struct group *group, const struct thread *thread)
{
    emit_text_or_null(&jsonl->json, "process", group->process);
    emit_integer(&jsonl->json, "pid", group->pid);
    emit_integer(&jsonl->json, "interpreter", (int64_t)thread->interpreter);
    emit_text_or_null(&jsonl->json, "thread", group->thread);
    if (group->tid)
        emit_integer(&jsonl->json, "tid", group->tid);
    else
        emit_literal(&jsonl->json, "tid", "null");
    emit_text_or_null(&jsonl->json, "task", group->task);
}

static void jsonl_emit_frame(struct jsonl *jsonl, uint32_t entry)
{
    const struct shown_code *code = entries_code(&jsonl->entries, entry);
    const uint32_t line = entries_line(&jsonl->entries, entry);
    emit_open(&jsonl->json, NULL, '{');
    emit_text(&jsonl->json, "function", code->name);
    if (code->file.size)
        emit_text(&jsonl->json, "file", code->file);
    if (line)
        emit_integer(&jsonl->json, "line", line);
    emit_close(&jsonl->json, '}');
}

/* Writes the frames down to a node, root first. */
static void jsonl_emit_frames(struct jsonl *jsonl, uint32_t node)
{
    const struct call_node *nodes = jsonl->tree.nodes;
    size_t depth = 0;
    for (; nodes[node].entry; node = nodes[node].parent) {
        jsonl->climb = alloc_grow(jsonl->climb, &jsonl->climb_room, depth + 1, sizeof(*jsonl->climb));
        jsonl->climb[depth++] = node;
    }
    emit_open(&jsonl->json, "frames", '[');
    while (depth--)
        jsonl_emit_frame(jsonl, nodes[jsonl->climb[depth]].entry);
    emit_close(&jsonl->json, ']');
}

/* A wait is a member of the line and no frame, so that a script need not know the names of waits. */
static void write_stack(struct jsonl *jsonl, uint32_t node)
{
    const struct call_node *at = &jsonl->tree.nodes[node];
    const struct group *group = &jsonl->groups.rows[at->group];
    static const char *const names[WAITINGS] = {
        [WAITS_NOT] = "null", [WAITS_IDLE] = "\"idle\"", [WAITS_FOR_LOCK] = "\"gil\"", [WAITS_FOR_NATIVE] = "\"native\""
    };
    uint32_t waits = WAITINGS - 1;
    while (waits != WAITS_NOT && at->entry != jsonl->entries.waits[waits])
        waits--;
    begin_line(jsonl, "stack");
    emit_owner(jsonl, group, &jsonl->tables->threads[jsonl->thread_of[at->group]].thread);
    emit_literal(&jsonl->json, "waits", names[waits]);
    jsonl_emit_frames(jsonl, waits == WAITS_NOT ? node : at->parent);
    emit_sums(jsonl, at->self);
    end_line(jsonl);
}

static bool has_any(const uint64_t *values)
{
    for (size_t i = 0; i < SUMS; i++)
        if (values[i])
            return true;
    return false;
}

static void write_stacks(struct jsonl *jsonl)
{
    uint64_t stacks = 0;
    for (uint32_t i = 1; i < jsonl->tree.count; i++) {
        if (!jsonl->tree.nodes[i].entry || !has_any(jsonl->tree.nodes[i].self))
            continue;
        write_stack(jsonl, i);
        stacks++;
    }
    begin_line(jsonl, "end");
    emit_integer(&jsonl->json, "stacks", (int64_t)stacks);
    emit_sums(jsonl, jsonl->tree.nodes[0].total);
    end_line(jsonl);
}

static void find_threads(struct jsonl *jsonl)
{
    jsonl->thread_of = alloc_zeroed(jsonl->groups.count + 1, sizeof(*jsonl->thread_of));
    for (uint32_t i = 1; i < jsonl->tables->threads_count; i++)
        if (jsonl->groups.by_thread[i])
            jsonl->thread_of[jsonl->groups.by_thread[i] - 1] = i;
}

static void jsonl_free(struct jsonl *jsonl)
{
    call_tree_free(&jsonl->tree);
    groups_free(&jsonl->groups);
    entries_free(&jsonl->entries);
    free(jsonl->thread_of);
    free(jsonl->climb);
}

bool jsonl_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                 const struct jsonl_style *style, struct fault *why)
{
    const struct entries_style shown = {
        .kind = style->kind, .full_paths = style->full_paths, .ids = true, .waits = true, .filter = style->filter
    };
    struct jsonl jsonl = { .json = { .to = to }, .tables = tables, .aggregate = aggregate };
    entries_find(&jsonl.entries, tables, &shown);
    groups_find(&jsonl.groups, tables, aggregate, &(struct groups_style){ .ids = true });
    const bool left = call_tree_make(&jsonl.tree, &jsonl.entries, &jsonl.groups, aggregate);
    if (left) {
        find_threads(&jsonl);
        write_recording(&jsonl);
        write_stacks(&jsonl);
    }
    const bool bad = jsonl.json.bad;
    jsonl_free(&jsonl);
    return left && (!bad || fault(why, "the recording holds a text that is not UTF-8"));
}
