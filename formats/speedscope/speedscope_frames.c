/* SPDX-License-Identifier: MIT */
#include "formats/speedscope/speedscope_frames.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

uint32_t speedscope_frames_activity(struct speedscope_frames *frames, uint32_t stack, enum waiting wait)
{
    bool added;
    const uint32_t number = intern_pairs_number(&frames->activities_by_key, stack, wait, &added);
    if (!added)
        return number;
    frames->activities = alloc_grow(frames->activities, &frames->activities_room, (size_t)number + 1,
                                    sizeof(*frames->activities));
    frames->activities[number] = (struct speedscope_activity){ stack, wait };
    return number;
}

/* Places the activities in an outline of entries. */
static void place_activities(struct speedscope_frames *frames, struct outline *outline)
{
    const uint32_t count = frames->activities_by_key.count;
    frames->node_of = alloc_zeroed((size_t)count + 1, sizeof(*frames->node_of));
    for (uint32_t i = 1; i <= count; i++) {
        const struct speedscope_activity *activity = &frames->activities[i];
        if (!entries_leave_out(&frames->entries, activity->stack))
            frames->node_of[i] = entries_place(&frames->entries, outline, 0, activity->stack, activity->wait);
    }
}

/* Returns for each node of the outline whether the file needs it: an activity stands at the node or below it. The
 * middle of a stack that was shortened is not needed. */
static bool *find_used(const struct speedscope_frames *frames, const struct outline *outline)
{
    bool *used = alloc_zeroed((size_t)outline->count + 1, sizeof(*used));
    for (uint32_t i = 1; i <= frames->activities_by_key.count; i++)
        for (uint32_t node = frames->node_of[i]; node && !used[node]; node = outline->nodes[node].caller)
            used[node] = true;
    return used;
}

/* Nodes of the outline become nodes of the profile. Entries that no used node has get no frame. A caller comes before
 * the frames that it calls. */
static void speedscope_frames_make_nodes(struct speedscope_frames *frames, const struct outline *outline)
{
    uint32_t *index = alloc_zeroed(frames->entries.count + 1, sizeof(*index)); /* by entry: its index + 1 */
    frames->shown = alloc_zeroed(frames->entries.count + 1, sizeof(*frames->shown));
    frames->nodes = alloc_zeroed((size_t)outline->count + 1, sizeof(*frames->nodes));
    bool *used = find_used(frames, outline);
    for (size_t i = 1; i <= outline->count; i++) {
        if (!used[i])
            continue;
        const struct stack *placed = &outline->nodes[i];
        const struct speedscope_node *caller = &frames->nodes[placed->caller];
        if (!index[placed->frame]) {
            frames->shown[frames->shown_count] = placed->frame;
            index[placed->frame] = (uint32_t)++frames->shown_count;
        }
        const uint32_t frame = index[placed->frame] - 1;
        frames->nodes[i] = (struct speedscope_node){ placed->caller, frame, caller->depth + 1,
                                                     caller->digits + (uint32_t)output_digits(frame) };
        if (frames->deepest < caller->depth + 1)
            frames->deepest = caller->depth + 1;
    }
    free(used);
    free(index);
}

void speedscope_frames_settle(struct speedscope_frames *frames, const struct tables *tables,
                              const struct entries_style *style)
{
    struct outline outline = { 0 };
    entries_find(&frames->entries, tables, style);
    place_activities(frames, &outline);
    outline_end_placing(&outline);
    speedscope_frames_make_nodes(frames, &outline);
    outline_free(&outline);
}

void speedscope_frames_emit(const struct speedscope_frames *frames, struct json_emitter *json)
{
    emit_open(json, "frames", '[');
    for (size_t i = 0; i < frames->shown_count; i++) {
        const struct shown_code *code = entries_code(&frames->entries, frames->shown[i]);
        const uint32_t line = entries_line(&frames->entries, frames->shown[i]);
        emit_open(json, NULL, '{');
        emit_text(json, "name", code->name);
        if (code->file.size)
            emit_text(json, "file", code->file);
        if (code->file.size && line)
            emit_integer(json, "line", line);
        emit_close(json, '}');
    }
    emit_close(json, ']');
}

uint32_t speedscope_frames_common(const struct speedscope_frames *frames, uint32_t a, uint32_t b)
{
    const struct speedscope_node *nodes = frames->nodes;
    while (a != b) {
        const uint32_t depth = nodes[a].depth, other = nodes[b].depth;
        if (depth >= other)
            a = nodes[a].caller;
        if (other >= depth)
            b = nodes[b].caller;
    }
    return a;
}

void speedscope_frames_free(struct speedscope_frames *frames)
{
    intern_pairs_free(&frames->activities_by_key);
    entries_free(&frames->entries);
    free(frames->activities);
    free(frames->nodes);
    free(frames->node_of);
    free(frames->shown);
    *frames = (struct speedscope_frames){ 0 };
}
