/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/task_rows.h"

#include "formats/base/alloc.h"
#include "formats/intern/intern.h"

#include <stdlib.h>

/* The tasks of one name on one line. */
struct task_rows_group {
    uint64_t *ends; /* by row: when its latest task ends */
    size_t count, room;
};

/* `= {0}` is empty. */
struct task_rows_groups {
    struct intern_pairs keys;
    struct task_rows_group *rows; /* by the number of the key */
    size_t room;
};

static struct task_rows_group *task_rows_group_of(struct task_rows_groups *groups, uint32_t thread, uint32_t name)
{
    bool added;
    const uint32_t number = intern_pairs_number(&groups->keys, thread, name, &added);
    groups->rows = alloc_grow(groups->rows, &groups->room, (size_t)number + 1, sizeof(*groups->rows));
    return &groups->rows[number];
}

/* Takes the first row that is free. The store keeps MARKERS_LIMIT markers, so the search ends soon. */
static uint32_t task_rows_take(struct task_rows_group *group, const struct marker *task)
{
    size_t row = 0;
    while (row < group->count && group->ends[row] > task->start_ns)
        row++;
    if (row == group->count) {
        group->ends = alloc_grow(group->ends, &group->room, row + 1, sizeof(*group->ends));
        group->count++;
    }
    group->ends[row] = task->end_ns;
    return (uint32_t)row;
}

void task_rows_assign(struct marker *markers, size_t count, const uint32_t *names)
{
    struct task_rows_groups groups = { 0 };
    for (size_t i = 0; i < count; i++)
        if (markers[i].kind == MARKER_TASK)
            markers[i].row = task_rows_take(task_rows_group_of(&groups, markers[i].thread, names[i]), &markers[i]);
    for (uint32_t i = 1; i <= groups.keys.count; i++)
        free(groups.rows[i].ends);
    free(groups.rows);
    intern_pairs_free(&groups.keys);
}
