/* SPDX-License-Identifier: MIT */
#include "formats/tally.h"

#include "formats/alloc.h"

#include <stdlib.h>

void tally_add(struct tally *tally, uint32_t thread, uint32_t stack, uint64_t samples)
{
    bool added;
    const uint32_t number = pairs_number(&tally->numbers, thread, stack, &added);
    if (added) {
        tally->rows = alloc_grow(tally->rows, &tally->room, number, sizeof(*tally->rows));
        tally->rows[tally->count++] = (struct tally_row){ .thread = thread, .stack = stack };
    }
    tally->rows[number - 1].samples += samples;
}

static int compare_rows(const void *a, const void *b)
{
    const struct tally_row *left = a, *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    return (left->stack > right->stack) - (left->stack < right->stack);
}

void tally_sort(struct tally *tally)
{
    pairs_free(&tally->numbers);
    if (tally->count > 0)
        qsort(tally->rows, tally->count, sizeof(*tally->rows), compare_rows);
}

void tally_free(struct tally *tally)
{
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
