/* SPDX-License-Identifier: MIT */
#include "convert/info/info_tasks.h"

#include "convert/info/info_json.h"
#include "convert/info/info_table.h"
#include "formats/base/alloc.h"
#include "formats/model/task_owner.h"
#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <stdlib.h>

uint64_t info_tasks_count(const struct tables *tables)
{
    uint64_t count = 0;
    for (size_t i = 1; i < tables->tasks_count; i++)
        count += tables->tasks[i].task.number != 0;
    return count;
}

/* The thread of the task's latest sample, or the thread whose event loop owns the task; NULL: not known. */
static const struct thread *info_tasks_thread_of(const struct tables *tables, const struct task_row *row)
{
    const struct thread *thread = row->thread ? &tables->threads[row->thread].thread : NULL;
    return thread && thread->tid ? thread : NULL;
}

static json_t *task_json(const struct tables *tables, const struct task_owners *owners, const struct task_row *row)
{
    const struct thread *thread = info_tasks_thread_of(tables, row);
    const struct task_row *waiter = tables_task(tables, row->waiter);
    return json_pack("{s:I, s:o, s:i, s:o, s:o, s:o, s:o, s:o}", "number", (json_int_t)row->task.number, "name",
                     info_json_text(row->task.name), "pid", (int)tables->processes[row->task.process].process.pid,
                     "tid", thread ? json_integer(thread->tid) : json_null(), "thread",
                     thread ? info_json_text(task_owner_name(owners, tables, row->thread)) : json_null(), "samples",
                     info_json_count(row->samples), "start_s", info_json_seconds(row->task.start_ns), "awaited_by",
                     waiter->task.number ? info_json_text(waiter->task.name) : json_null());
}

json_t *info_tasks_json(const struct tables *tables)
{
    struct task_owners owners = { 0 };
    json_t *list = json_array();
    task_owner_find(&owners, tables);
    for (size_t i = 1; i < tables->tasks_count; i++)
        if (tables->tasks[i].task.number)
            json_array_append_new(list, task_json(tables, &owners, &tables->tasks[i]));
    task_owner_free(&owners);
    return list;
}

/* Orders tasks by their number of samples, most samples first; equal tasks by their number. */
static int by_samples(const void *left, const void *right)
{
    const struct task_row *a = *(const struct task_row *const *)left, *b = *(const struct task_row *const *)right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return (a->task.number > b->task.number) - (a->task.number < b->task.number);
}

static void print_task(struct output *to, const struct tables *tables, const struct task_owners *owners,
                       const struct task_row *row)
{
    const struct thread *thread = info_tasks_thread_of(tables, row);
    output_format(to, "%8" PRIu32, tables->processes[row->task.process].process.pid);
    if (thread)
        output_format(to, " %8" PRIu32, thread->tid);
    else
        output_format(to, " %8s", "");
    output_format(to, " %10" PRIu64 "  ", row->samples);
    printable_write(to, row->task.name);
    if (thread) {
        output_string(to, " in ");
        printable_write(to, task_owner_name(owners, tables, row->thread));
    }
    output_string(to, "\n");
}

void info_tasks_print(struct output *to, const struct tables *tables, bool all)
{
    const size_t count = (size_t)info_tasks_count(tables);
    if (count == 0)
        return;
    struct task_owners owners = { 0 };
    const struct task_row **rows = alloc_zeroed(count, sizeof(*rows));
    size_t found = 0;
    for (size_t i = 1; i < tables->tasks_count; i++)
        if (tables->tasks[i].task.number)
            rows[found++] = &tables->tasks[i];
    const size_t shown = all || count < INFO_TASKS ? count : INFO_TASKS;
    qsort(rows, count, sizeof(*rows), by_samples);
    task_owner_find(&owners, tables);
    output_format(to, "\n%8s %8s %10s  %s\n", "pid", "tid", "samples", "task");
    for (size_t i = 0; i < shown; i++)
        print_task(to, tables, &owners, rows[i]);
    if (shown < count)
        output_format(to, "%29s and %zu more tasks (--all shows them)\n", "", count - shown);
    task_owner_free(&owners);
    free(rows);
}
