/* SPDX-License-Identifier: MIT */
#include "record/dump/dumped.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

static void dumped_add_row(struct dumped *dumped, struct dumped_row row)
{
    dumped->rows = alloc_grow(dumped->rows, &dumped->room, dumped->count + 1, sizeof(*dumped->rows));
    dumped->rows[dumped->count++] = row;
}

static bool dumped_take(void *self, struct event *event, struct fault *why)
{
    struct dumped *dumped = self;
    if (!tables_take(&dumped->tables, event, why))
        return false;
    const struct run *run = &event->run;
    if (event->kind == EVENT_RUN)
        dumped_add_row(dumped, (struct dumped_row){ .thread = run->thread,
                                                    .stack = run->stack,
                                                    .status = run->status,
                                                    .task = run->task,
                                                    .collection = run->collection });
    if (event->kind == EVENT_FAILED && event->failed.thread)
        dumped_add_row(dumped, (struct dumped_row){ .thread = event->failed.thread, .failure = event->failed.cause });
    return true;
}

struct sink dumped_sink(struct dumped *dumped)
{
    return (struct sink){ .take = dumped_take, .self = dumped };
}

void dumped_again(struct dumped *dumped)
{
    dumped->count = 0;
}

/* Threads before tasks, then by number. */
static int dumped_row_compare(const void *left, const void *right, void *self)
{
    const struct dumped_row *a = left, *b = right;
    const struct dumped *dumped = self;
    const int by_kind = dumped_is_task(dumped, a) - dumped_is_task(dumped, b);
    return by_kind ? by_kind : (a->thread > b->thread) - (a->thread < b->thread);
}

void dumped_settle(struct dumped *dumped)
{
    if (dumped->count > 0)
        qsort_r(dumped->rows, dumped->count, sizeof(*dumped->rows), dumped_row_compare, dumped);
    for (dumped->threads = 0; dumped->threads < dumped->count; dumped->threads++)
        if (dumped_is_task(dumped, &dumped->rows[dumped->threads]))
            break;
}

const struct process *dumped_process(const struct dumped *dumped)
{
    return tables_first_process(&dumped->tables);
}

/* Whether a frame is the label of a task: <task NAME>. */
static bool is_label(const struct tables *tables, uint32_t frame)
{
    return tables_kind(tables, frame) == KIND_TASK;
}

uint32_t *dumped_frames(const struct dumped *dumped, const struct dumped_row *row, size_t *count)
{
    const struct tables *tables = &dumped->tables;
    const bool is_task = dumped_is_task(dumped, row);
    *count = 0;
    for (uint32_t at = row->stack; at; at = tables->stacks[at].caller) {
        if (is_task && is_label(tables, tables->stacks[at].frame))
            break;
        ++*count;
    }
    uint32_t *frames = alloc_zeroed(*count + 1, sizeof(*frames));
    size_t left = *count;
    for (uint32_t at = row->stack; left > 0; at = tables->stacks[at].caller)
        frames[--left] = tables->stacks[at].frame;
    return frames;
}

void dumped_free(struct dumped *dumped)
{
    locals_free(&dumped->locals);
    place_free(&dumped->place);
    tables_free(&dumped->tables);
    free(dumped->rows);
    *dumped = (struct dumped){ 0 };
}
