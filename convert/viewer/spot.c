/* SPDX-License-Identifier: MIT */
#include "convert/viewer/spot.h"

#include "formats/base/alloc.h"
#include "formats/model/paths.h"

#include <stdlib.h>

/* Whether the viewer shows the functions of a file as the user's own code. */
static bool is_own_code(struct text file)
{
    struct text rest;
    const enum origin origin = paths_origin(file, &rest);
    return file.size && origin != ORIGIN_LIBRARY && origin != ORIGIN_PACKAGE;
}

/* Whether the view is about a frame. */
static bool is_frame_inside(enum view view, const struct tables *tables, uint32_t frame)
{
    const uint32_t function = tables->frames[frame].function;
    const struct text file = tables_python_file(tables, function);
    switch (view) {
    case VIEW_MY_CODE:
        return is_own_code(file);
    case VIEW_GC:
        return tables_kind(tables, frame) == KIND_GC;
    default:
        return text_begins(file, TEXT("<frozen importlib."));
    }
}

/* Whether the view is about a frame of the stack. A stack has a greater number than its caller's. */
static bool is_stack_inside(struct spot *spot, const struct tables *tables, uint32_t stack)
{
    spot->stacks = alloc_grow(spot->stacks, &spot->stacks_room, tables->stacks_count, sizeof(*spot->stacks));
    for (; spot->stacks_count < tables->stacks_count; spot->stacks_count++) {
        const struct stack *row = &tables->stacks[spot->stacks_count];
        spot->stacks[spot->stacks_count] = spot->stacks_count && (spot->stacks[row->caller] ||
                                                                  is_frame_inside(spot->view, tables, row->frame));
    }
    return stack < spot->stacks_count && spot->stacks[stack];
}

static bool is_inside(struct spot *spot, const struct tables *tables, const struct run *run)
{
    switch (spot->view) {
    case VIEW_GIL:
        return run->status & STATUS_GIL_WAIT && run->status & STATUS_RECORDED;
    case VIEW_GC:
    case VIEW_IMPORTS:
        return is_stack_inside(spot, tables, run->stack);
    default:
        return false;
    }
}

void spot_take(struct spot *spot, const struct tables *tables, const struct event *event, uint32_t thread)
{
    const struct run *run = &event->run;
    if (event->kind != EVENT_RUN || run->count == 0)
        return;
    if (spot->view == VIEW_MY_CODE && !spot->own_code)
        spot->own_code = is_stack_inside(spot, tables, run->stack);
    if (thread == 0 || !is_inside(spot, tables, run))
        return;
    spot->counts = alloc_grow(spot->counts, &spot->counts_room, (size_t)thread + 1, sizeof(*spot->counts));
    spot->counts[thread]++;
    if (spot->total == 0)
        spot->from_ns = run->time_ns;
    spot->total++;
    const uint64_t end_ns = run->time_ns + run->stands_ns;
    spot->to_ns = end_ns > spot->to_ns ? end_ns : spot->to_ns;
}

size_t spot_threads(const struct spot *spot, uint32_t *threads)
{
    uint32_t most = 0;
    size_t count = 0;
    for (uint32_t thread = 1; thread < spot->counts_room; thread++)
        if (spot->counts[thread] > spot->counts[most])
            most = thread;
    if (most)
        threads[count++] = most;
    for (uint32_t thread = 1; thread < spot->counts_room && count < SPOT_THREADS; thread++)
        if (thread != most && spot->counts[thread] > 0 && spot->counts[thread] >= spot->counts[most] / 4)
            threads[count++] = thread;
    return count;
}

const char *spot_missing(const struct spot *spot)
{
    static const char *const missing[VIEWS] = {
        [VIEW_MY_CODE] = "no sample with code of your own (packages are not)",
        [VIEW_GIL] = "no sample that waits for the GIL (CPython says so from 3.15 on)",
        [VIEW_GC] = "no sample that collects garbage",
        [VIEW_IMPORTS] = "no sample that imports (pyreel-record has to start the program, not attach to it)",
    };
    return spot->total || spot->own_code ? NULL : missing[spot->view];
}

static int by_number(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Fills `lines` with the lines of the spot's threads, each once, in increasing order. Returns their number. */
static size_t find_lines(const struct spot *spot, const struct gecko *gecko, uint32_t *lines)
{
    uint32_t threads[SPOT_THREADS];
    const size_t threads_count = spot_threads(spot, threads);
    size_t count = 0, different = 0;
    for (size_t i = 0; i < threads_count; i++) {
        const size_t line = gecko_line_of(gecko, threads[i]);
        if (line <= UINT32_MAX)
            lines[count++] = (uint32_t)line;
    }
    qsort(lines, count, sizeof(*lines), by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || lines[i] != lines[i - 1])
            lines[different++] = lines[i];
    return different;
}

/* Whether the time of the spot leaves out a fifth of the recording, or more. */
static bool is_short(const struct spot *spot, const struct tables *tables)
{
    return spot->total && (spot->to_ns - spot->from_ns) / 4 <= tables_duration_ns(tables) / 5;
}

struct link_profile spot_profile(const struct spot *spot, const struct gecko *gecko, const struct tables *tables,
                                 uint32_t *lines)
{
    const uint64_t from_ns = tables->recording.from_ns;
    struct link_profile profile = { .threads = lines,
                                    .threads_count = find_lines(spot, gecko, lines),
                                    .own_code = gecko_own_code_category(),
                                    .lacking = spot_missing(spot) != NULL };
    if (profile.threads_count == 0)
        lines[profile.threads_count++] = (uint32_t)gecko_selected_line(gecko);
    if (is_short(spot, tables) && spot->from_ns >= from_ns) {
        profile.from_ns = spot->from_ns - from_ns;
        profile.to_ns = spot->to_ns - from_ns;
    }
    return profile;
}

void spot_free(struct spot *spot)
{
    free(spot->counts);
    free(spot->stacks);
    *spot = (struct spot){ 0 };
}
