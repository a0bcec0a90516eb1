/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* The limit of task entries with a line of their own; the other entries of a process share one line. The viewer
 * processes every line of a profile before it shows one: its command-line client took 1.6 seconds for 500 lines, and
 * gave up on 10,000 lines after half a minute. */
#define TASK_LINES_LIMIT 500

static bool is_entry(const struct tables *tables, uint32_t thread)
{
    return thread < tables->threads_count && tables->threads[thread].thread.task != 0;
}

static uint32_t find_host(struct gecko *gecko, uint32_t thread)
{
    struct gecko_tasks *tasks = &gecko->tasks;
    if (tasks->lines < TASK_LINES_LIMIT) {
        tasks->lines++;
        return thread;
    }
    const uint32_t process = gecko->tables->threads[thread].thread.process;
    tasks->shared = alloc_grow(tasks->shared, &tasks->shared_room, (size_t)process + 1, sizeof(*tasks->shared));
    if (!tasks->shared[process])
        tasks->shared[process] = thread;
    return tasks->shared[process];
}

uint32_t gecko_tasks_host(struct gecko *gecko, uint32_t thread)
{
    struct gecko_tasks *tasks = &gecko->tasks;
    if (!is_entry(gecko->tables, thread))
        return thread;
    tasks->hosts = alloc_grow(tasks->hosts, &tasks->hosts_room, (size_t)thread + 1, sizeof(*tasks->hosts));
    if (!tasks->hosts[thread])
        tasks->hosts[thread] = find_host(gecko, thread);
    return tasks->hosts[thread];
}

bool gecko_tasks_shared(const struct gecko *gecko, uint32_t thread)
{
    if (!is_entry(gecko->tables, thread))
        return false;
    const uint32_t process = gecko->tables->threads[thread].thread.process;
    return process < gecko->tasks.shared_room && gecko->tasks.shared[process] == thread;
}

void gecko_tasks_free(struct gecko_tasks *tasks)
{
    free(tasks->hosts);
    free(tasks->shared);
}

/* ---- tasks of threads ---- */

void gecko_tasks_change(struct gecko *gecko, struct gecko_thread *thread, uint64_t time, uint32_t task)
{
    if (task == thread->tasks.last.stack)
        return;
    spool_add(&gecko->spool, &thread->tasks, (struct spool_sample){ .time = time, .stack = task });
    gecko->tasks.any = true;
}

/* Takes the task of a sample. An entry always runs its own task, so its marker would only be as long as its line. */
void gecko_tasks_take(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample, uint64_t time)
{
    if (!is_entry(gecko->tables, sample->thread))
        gecko_tasks_change(gecko, thread, time, sample->task);
}

/* ---- markers ---- */

static const char *const colors[] = { "blue", "green", "orange", "purple", "teal", "magenta", "yellow", "ink" };

static void begin(struct gecko_marker_reader *reader)
{
    spool_rewind(&reader->changes, &reader->gecko->spool, &reader->thread->tasks);
    reader->over = !spool_next(&reader->changes, &reader->change);
}

/* Gives the next marker. A task runs from one change to the next; the last task runs to the end. */
static bool next(struct gecko_marker_reader *reader, struct gecko_marker *marker)
{
    while (!reader->over) {
        const struct spool_sample change = reader->change;
        reader->over = !spool_next(&reader->changes, &reader->change);
        if (change.stack == 0)
            continue;
        *marker = (struct gecko_marker){ .subject = change.stack,
                                         .start = change.time,
                                         .end = reader->over ? reader->end : reader->change.time,
                                         .stack = gecko_markers_stack_at(reader, change.time) };
        return true;
    }
    return false;
}

static struct text name(const struct gecko_marker *marker)
{
    (void)marker;
    return TEXT("Task");
}

static void emit_data(struct gecko *gecko, const struct gecko_marker *marker)
{
    const struct text task = tables_task(gecko->tables, marker->subject)->task.name;
    gecko_markers_emit_type(gecko, "Task", colors[marker->subject % countof(colors)]);
    emit_integer(&gecko->json, "task", (int64_t)gecko_tables_string(gecko, task));
    emit_integer(&gecko->json, "number", marker->subject);
    gecko_markers_emit_beginning(gecko, marker);
}

static void add_schemas(const struct gecko *gecko, json_t *schemas)
{
    if (!gecko->tasks.any)
        return;
    json_t *fields = json_array();
    gecko_markers_add_field(fields, "task", "Task", "unique-string");
    gecko_markers_add_field(fields, "number", "Number", "integer");
    gecko_markers_add_beginning_field(fields);
    json_array_append_new(
        schemas, gecko_markers_schema("Task", "The thread's event loop ran this asyncio task.", false, "task", fields));
}

const struct gecko_marker_kind gecko_task_markers = { begin, next, name, emit_data, add_schemas };
