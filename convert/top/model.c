/* SPDX-License-Identifier: MIT */
#include "convert/top/model.h"

#include "formats/base/alloc.h"
#include "formats/frames/waiting.h"

#include <stdlib.h>

#define SECOND_NS  1000000000u
#define BATCH_MOST 65536 /* rows; a larger batch is added up at once */

/* ---- rows of two numbers ---- */

static uint32_t model_row_of(struct model_pairs *pairs, uint32_t a, uint32_t b)
{
    bool added;
    const uint32_t number = intern_pairs_number(&pairs->numbers, a, b, &added);
    if (added) {
        pairs->pairs = alloc_grow(pairs->pairs, &pairs->room, number, sizeof(*pairs->pairs));
        pairs->seen = alloc_grow(pairs->seen, &pairs->seen_room, number, sizeof(*pairs->seen));
        pairs->pairs[number - 1] = (struct model_pair){ a, b };
    }
    return number - 1;
}

/* Adds the sums of a stack to a row: to its total, once in each walk, and for the leaf to its self. */
static void add_to_row(struct model *model, enum model_kind kind, uint32_t a, uint32_t b, const uint64_t *sums,
                       bool leaf)
{
    struct model_pairs *pairs = &model->pairs[kind];
    const uint32_t row = model_row_of(pairs, a, b);
    struct window_sums given = { 0 };
    const bool first = pairs->seen[row] != model->walk;
    if (!first && !leaf)
        return;
    pairs->seen[row] = model->walk;
    for (size_t i = 0; i < WINDOW_SUMS; i++) {
        given.self[i] = leaf ? sums[i] : 0;
        given.total[i] = first ? sums[i] : 0;
    }
    window_add(&pairs->window, row, model->batch_second, &given);
}

/* ---- walking stacks ---- */

static uint32_t model_frame_of(const struct tables *tables, uint32_t stack)
{
    return stack ? tables->stacks[stack].frame : 0;
}

/* The sums of a row of the batch, as the windows have them. */
static void model_sums_of(const struct aggregate_row *row, uint64_t sums[WINDOW_SUMS])
{
    sums[WINDOW_CPU] = row->sums[SUM_CPU_NS];
    sums[WINDOW_WALL] = row->sums[SUM_WALL_NS];
    sums[WINDOW_BUSY] = waiting_of_group(row->group) == WAITS_NOT ? row->sums[SUM_WALL_NS] : 0;
    sums[WINDOW_GIL] = row->sums[SUM_GIL_NS];
    sums[WINDOW_GIL_WAIT] = row->sums[SUM_GIL_WAIT_NS];
}

static void walk(struct model *model, const struct aggregate_row *row)
{
    const struct tables *tables = &model->tables;
    const struct entries *entries = &model->entries;
    const uint32_t owner = row->thread;
    struct window_sums whole;
    const uint64_t *sums = whole.self;
    uint32_t callee = 0;
    model->walk++;
    model_sums_of(row, whole.self);
    model_sums_of(row, whole.total);
    const uint32_t instruction = entries->opcodes[model_frame_of(tables, row->stack)];
    if (instruction)
        add_to_row(model, MODEL_INSTRUCTIONS, owner, instruction, sums, true);
    for (uint32_t stack = row->stack, leaf = 1; stack || leaf; leaf = 0) {
        const uint32_t entry = entries->labels[model_frame_of(tables, stack)], code = entries->rows[entry].code;
        add_to_row(model, MODEL_FUNCTIONS, owner, code, sums, leaf);
        add_to_row(model, MODEL_LINES, owner, entry, sums, leaf);
        if (!leaf)
            add_to_row(model, MODEL_CALLS, code, callee, sums, false);
        callee = code;
        stack = stack ? tables->stacks[stack].caller : 0;
    }
    window_add(&model->by_owner, owner, model->batch_second, &whole);
}

static void flush(struct model *model)
{
    aggregate_end_adding(&model->batch);
    entries_grow(&model->entries);
    for (size_t i = 0; i < model->batch.count; i++)
        walk(model, &model->batch.rows[i]);
    model->samples += model->batch.samples;
    for (size_t i = 0; i < SUMS; i++)
        model->known[i] += model->batch.known[i];
    aggregate_free(&model->batch);
}

/* ---- events ---- */

/* Adds a run to the batch of its second. */
static void model_add_run(struct model *model, const struct event *event)
{
    struct event owned = *event;
    struct run *run = &owned.run;
    const uint64_t second = run->time_ns / SECOND_NS;
    if (second != model->batch_second || model->batch.count >= BATCH_MOST)
        flush(model);
    model->batch_second = second;
    model->batch.group_of = waiting_group;
    run->thread = groups_of(&model->owners, &model->tables, run->thread, run->task);
    run->task = 0;
    aggregate_take(&model->batch, &owned);
}

/* Takes what the CPU owner gives. */
static bool model_take_placed(void *self, struct event *event, struct fault *why)
{
    (void)why;
    if (event->kind == EVENT_RUN)
        model_add_run(self, event);
    return true;
}

static struct sink model_placed_sink(struct model *model)
{
    return (struct sink){ .take = model_take_placed, .self = model };
}

/* Whether the event refers to what was lost, so that nothing can be counted. */
static bool is_lost(const struct model *model, const struct event *event)
{
    if (event->kind == EVENT_RUN)
        return event->run.stack == STACK_LOST;
    /* The definition of a thread may be lost, and its number be anything. */
    return event->kind == EVENT_LEFT_OUT && event->left_out.thread >= model->tables.threads_count;
}

bool model_take(void *self, struct event *event, struct fault *why)
{
    struct model *model = self;
    const struct sink placed = model_placed_sink(model);
    for (size_t i = 0; i < MODEL_KINDS; i++)
        model->pairs[i].window.seconds = model->seconds;
    model->by_owner.seconds = model->seconds;
    model->cpu_owner.tables = &model->tables;
    model->cpu_owner.live = true;
    model->entries.tables = &model->tables;
    model->entries.style = (struct entries_style){
        .kind = ENTRY_LINE, .full_paths = true, .ids = true, .opcodes = true
    };
    model->owners.style = (struct groups_style){
        .ids = model->ids, .processes = true, .tasks = true, .most = MODEL_OWNERS_MOST
    };
    if (!tables_take(&model->tables, event, why))
        return false;
    if (is_lost(model, event))
        return true;
    if (event->kind == EVENT_THREAD_NAME)
        groups_renamed(&model->owners);
    model->retitled |= event->kind == EVENT_PROCESS_TITLE;
    if (event->kind == EVENT_COUNTER)
        model->counted_ns = tables_end_ns(&model->tables);
    return cpu_owner_take(&model->cpu_owner, event, &placed, why);
}

void model_settle(struct model *model)
{
    const uint64_t second = tables_end_ns(&model->tables) / SECOND_NS;
    flush(model);
    for (size_t i = 0; i < MODEL_KINDS; i++)
        window_advance(&model->pairs[i].window, second);
    window_advance(&model->by_owner, second);
    if (model->retitled)
        groups_retitled(&model->owners, &model->tables);
    model->retitled = false;
}

void model_finish(struct model *model)
{
    const struct sink placed = model_placed_sink(model);
    cpu_owner_finish(&model->cpu_owner, &placed, NULL);
}

static void free_pairs(struct model_pairs *pairs)
{
    intern_pairs_free(&pairs->numbers);
    free(pairs->pairs);
    free(pairs->seen);
    window_free(&pairs->window);
}

void model_free(struct model *model)
{
    tables_free(&model->tables);
    cpu_owner_free(&model->cpu_owner);
    groups_free(&model->owners);
    for (size_t i = 0; i < MODEL_KINDS; i++)
        free_pairs(&model->pairs[i]);
    entries_free(&model->entries);
    window_free(&model->by_owner);
    aggregate_free(&model->batch);
    *model = (struct model){ 0 };
}
