/* SPDX-License-Identifier: MIT */
#include "formats/tally.h"

#include "formats/alloc.h"

#include <stdlib.h>

/* Set in the number of a runner. No file defines so many threads. */
#define RUNNER 0x80000000u

static uint32_t runner_of(struct tally *tally, uint32_t thread, uint32_t task)
{
    bool added;
    return task ? RUNNER | pairs_number(&tally->runners, thread, task, &added) : thread;
}

/* The number of the row, which is made if there is none. */
static uint32_t row_number(struct tally *tally, uint32_t runner, const struct tally_row *given)
{
    bool added;
    const uint32_t number = pairs_number(&tally->numbers, runner, given->stack, &added);
    if (added) {
        tally->rows = alloc_grow(tally->rows, &tally->room, number, sizeof(*tally->rows));
        tally->rows[tally->count++] = (struct tally_row){ given->thread, given->task, given->stack, { 0 } };
    }
    return number;
}

static void add(struct tally_row *row, const struct tally_row *given)
{
    for (size_t i = 0; i < SUMS; i++)
        row->sums[i] += given->sums[i];
}

void tally_add(struct tally *tally, const struct tally_row *given)
{
    const uint32_t number = row_number(tally, runner_of(tally, given->thread, given->task), given);
    add(&tally->rows[number - 1], given);
}

/* Samples that wait are counted in, in their order. */
static void count_in(struct tally *tally)
{
    for (size_t i = 0; i < tally->waiting_count; i++) {
        struct tally_waiting *one = &tally->waiting[i];
        one->number = row_number(tally, one->runner, &one->adds);
        __builtin_prefetch(tally->rows[one->number - 1].sums, 1);
    }
    for (size_t i = 0; i < tally->waiting_count; i++)
        add(&tally->rows[tally->waiting[i].number - 1], &tally->waiting[i].adds);
    tally->waiting_count = 0;
}

/* Where no status was recorded, its bits say nothing. */
void tally_sample(struct tally *tally, const struct sample *sample)
{
    const uint32_t status = sample->status;
    const uint64_t count = 1 + sample->more, known = status & STATUS_RECORDED ? count : 0;
    struct tally_waiting *one = &tally->waiting[tally->waiting_count++];
    one->runner = runner_of(tally, sample->thread, sample->task);
    pairs_expect(&tally->numbers, one->runner, sample->stack);
    one->adds = (struct tally_row){ sample->thread,
                                    sample->task,
                                    sample->stack,
                                    { [SUM_SAMPLES] = count,
                                      [SUM_CPU_NS] = sample->cpu_ns,
                                      [SUM_GIL] = status & STATUS_GIL ? known : 0,
                                      [SUM_GIL_WAIT] = status & STATUS_GIL_WAIT ? known : 0 } };
    if (tally->waiting_count == TALLY_WAITING)
        count_in(tally);
    tally->samples += count;
    tally->with_status += known;
    tally->with_cpu += status & STATUS_CPU_UNKNOWN ? 0 : known;
}

bool tally_knows(const struct tally *tally, enum tally_sum sum)
{
    if (sum == SUM_SAMPLES)
        return true;
    return (sum == SUM_CPU_NS ? tally->with_cpu : tally->with_status) > 0;
}

static int compare_rows(const void *a, const void *b)
{
    const struct tally_row *left = a, *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->task != right->task)
        return left->task < right->task ? -1 : 1;
    return (left->stack > right->stack) - (left->stack < right->stack);
}

void tally_sort(struct tally *tally)
{
    count_in(tally);
    pairs_free(&tally->runners);
    pairs_free(&tally->numbers);
    if (tally->count > 0)
        qsort(tally->rows, tally->count, sizeof(*tally->rows), compare_rows);
}

void tally_free(struct tally *tally)
{
    pairs_free(&tally->runners);
    pairs_free(&tally->numbers);
    free(tally->rows);
    *tally = (struct tally){ 0 };
}

uint32_t outline_child(struct outline *outline, uint32_t parent, uint32_t mark)
{
    bool added;
    const uint32_t node = pairs_number(&outline->numbers, parent, mark, &added);
    if (added) {
        outline->nodes = alloc_grow(outline->nodes, &outline->nodes_room, (size_t)node + 1, sizeof(*outline->nodes));
        outline->nodes[node] = (struct outline_node){ .parent = parent, .mark = mark };
    }
    return node;
}

/* Up to a caller that has its place already, then down again, giving each stack on the way its own. */
uint32_t outline_place(struct outline *outline, const struct tables *tables, const uint32_t *marks, uint32_t root,
                       uint32_t stack)
{
    if (stack == 0)
        return outline_child(outline, root, marks[0]);
    outline->places = alloc_grow(outline->places, &outline->places_room, tables->stacks_count,
                                 sizeof(*outline->places));
    struct outline_place *places = outline->places;
    size_t depth = 0;
    while (stack && (places[stack].node == 0 || places[stack].root != root)) {
        outline->climb = alloc_grow(outline->climb, &outline->climb_room, depth + 1, sizeof(*outline->climb));
        outline->climb[depth++] = stack;
        stack = tables->stacks[stack].caller;
    }
    uint32_t node = stack ? places[stack].node : root;
    while (depth--) {
        const uint32_t on_the_way = outline->climb[depth];
        node = outline_child(outline, node, marks[tables->stacks[on_the_way].frame]);
        places[on_the_way] = (struct outline_place){ root, node };
    }
    return node;
}

void outline_free(struct outline *outline)
{
    pairs_free(&outline->numbers);
    free(outline->nodes);
    free(outline->places);
    free(outline->climb);
    *outline = (struct outline){ 0 };
}
