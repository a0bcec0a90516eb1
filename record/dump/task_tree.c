/* SPDX-License-Identifier: MIT */
#include "record/dump/task_tree.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* Rows are indexes + 1; 0: none. */
struct rows_tree {
    const struct dumped *dumped;
    size_t *row_of; /* by number of a task */
    size_t *first_child, *next_sibling;
    bool *placed;
    size_t *waiting; /* rows that wait for their place, with their depths: the last one is next */
    uint32_t *depths;
    struct task_node *nodes;
    size_t count;
};

static uint32_t dumped_task_of(const struct dumped *dumped, size_t row)
{
    return dumped->tables.threads[dumped->rows[row].thread].thread.task;
}

/* The row of the task that awaits the task of a row, + 1. */
static size_t waiter_of(const struct rows_tree *tree, size_t row)
{
    const uint32_t waiter = tables_task(&tree->dumped->tables, dumped_task_of(tree->dumped, row))->waiter;
    return waiter < tree->dumped->tables.tasks_count ? tree->row_of[waiter] : 0;
}

/* Places a task and everything below it. Each task is placed once, so tasks that await each other end, too. */
static void place(struct rows_tree *tree, size_t root)
{
    size_t left = 0;
    tree->waiting[left] = root;
    tree->depths[left++] = 0;
    while (left > 0) {
        const size_t row = tree->waiting[--left];
        const uint32_t depth = tree->depths[left];
        if (tree->placed[row])
            continue;
        tree->placed[row] = true;
        tree->nodes[tree->count++] = (struct task_node){ .row = row, .depth = depth };
        for (size_t child = tree->first_child[row]; child; child = tree->next_sibling[child - 1]) {
            tree->waiting[left] = child - 1;
            tree->depths[left++] = depth + 1;
        }
    }
}

struct task_node *task_tree(const struct dumped *dumped)
{
    const size_t rows = dumped->count + 1;
    struct rows_tree tree = { .dumped = dumped,
                              .row_of = alloc_zeroed(dumped->tables.tasks_count + 1, sizeof(size_t)),
                              .first_child = alloc_zeroed(rows, sizeof(size_t)),
                              .next_sibling = alloc_zeroed(rows, sizeof(size_t)),
                              .placed = alloc_zeroed(rows, sizeof(bool)),
                              .waiting = alloc_zeroed(rows, sizeof(size_t)),
                              .depths = alloc_zeroed(rows, sizeof(uint32_t)),
                              .nodes = alloc_zeroed(rows, sizeof(struct task_node)) };
    for (size_t row = dumped->threads; row < dumped->count; row++)
        tree.row_of[dumped_task_of(dumped, row)] = row + 1;
    /* The child that is added last is placed first, because place() takes the last one that waits. */
    for (size_t row = dumped->threads; row < dumped->count; row++) {
        const size_t waiter = waiter_of(&tree, row);
        if (!waiter)
            continue;
        tree.next_sibling[row] = tree.first_child[waiter - 1];
        tree.first_child[waiter - 1] = row + 1;
    }
    for (size_t row = dumped->threads; row < dumped->count; row++)
        if (!waiter_of(&tree, row))
            place(&tree, row);
    for (size_t row = dumped->threads; row < dumped->count; row++)
        if (!tree.placed[row])
            place(&tree, row);
    void *const freed[] = { tree.row_of, tree.first_child, tree.next_sibling, tree.placed, tree.waiting, tree.depths };
    for (size_t i = 0; i < countof(freed); i++)
        free(freed[i]);
    return tree.nodes;
}
