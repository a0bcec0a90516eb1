/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"

#include <stdlib.h>

/* The limit of task entries with a line of their own; the other entries of a process share one line. The viewer
 * processes every line of a profile before it shows one: its command-line client took 1.6 seconds for 500 lines, and
 * gave up on 10,000 lines after half a minute. */
#define TASK_LINES_LIMIT 500

static uint32_t find_track(struct gecko *gecko, uint32_t thread)
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

/* The entry on whose line the samples of an entry are, when entries have lines. */
static uint32_t track_of(struct gecko *gecko, uint32_t thread)
{
    struct gecko_tasks *tasks = &gecko->tasks;
    tasks->hosts = alloc_grow(tasks->hosts, &tasks->hosts_room, (size_t)thread + 1, sizeof(*tasks->hosts));
    if (!tasks->hosts[thread])
        tasks->hosts[thread] = find_track(gecko, thread);
    return tasks->hosts[thread];
}

/* ---- the thread whose loop has a task ---- */

/* What tells threads apart. An entry has the identity of the thread that runs its loop; 0, when that is not known. */
struct gecko_tasks_identity {
    uint64_t interpreter;
    uint32_t process, tid;
};

/* The thread that is noted for an identity; 0: none. Valid until the next call. */
static uint32_t *noted(struct gecko_tasks *tasks, struct gecko_tasks_identity identity)
{
    bool added;
    const uint32_t number = intern_number(&tasks->threads, &identity, sizeof(identity), &added);
    tasks->numbers = alloc_grow(tasks->numbers, &tasks->numbers_room, (size_t)number + 1, sizeof(*tasks->numbers));
    return &tasks->numbers[number];
}

/* Notes the threads that were defined since the last call. A main thread also stands for the unknown one. */
static void look_at_threads(struct gecko *gecko)
{
    struct gecko_tasks *tasks = &gecko->tasks;
    for (; tasks->looked_at < gecko->tables->threads_count; tasks->looked_at++) {
        const struct thread *thread = &gecko->tables->threads[tasks->looked_at].thread;
        if (thread->number == 0 || thread->task)
            continue;
        const struct gecko_tasks_identity identity = { thread->interpreter, thread->process, thread->tid };
        *noted(tasks, identity) = thread->number;
        if (thread->main && thread->interpreter == 0)
            *noted(tasks, (struct gecko_tasks_identity){ 0, thread->process, 0 }) = thread->number;
    }
}

/* The thread whose loop has the task of an entry; 0: the recording does not have this thread. */
static uint32_t loop_of(struct gecko *gecko, uint32_t entry)
{
    struct gecko_tasks *tasks = &gecko->tasks;
    const struct thread *thread = &gecko->tables->threads[entry].thread;
    tasks->loops = alloc_grow(tasks->loops, &tasks->loops_room, (size_t)entry + 1, sizeof(*tasks->loops));
    if (tasks->loops[entry])
        return tasks->loops[entry];
    look_at_threads(gecko);
    const struct gecko_tasks_identity identity = { thread->tid ? thread->interpreter : 0, thread->process,
                                                   thread->tid };
    tasks->loops[entry] = *noted(tasks, identity);
    return tasks->loops[entry];
}

/* Whether the recording says that an entry's task ran at a sample with this status, and whether it says anything. */
static bool says_running(uint32_t status)
{
    return attribute_known(status, ATTRIBUTE_TASK_WAITS) && !attribute_is(status, ATTRIBUTE_TASK_WAITS);
}

/* A recording that does not say which task runs has each task on a line of its own. */
uint32_t gecko_tasks_host(struct gecko *gecko, uint32_t thread, uint32_t status)
{
    if (!gecko_tasks_is_entry(gecko, thread))
        return thread;
    if (gecko->style.tasks == GECKO_TASKS_TRACKS || !attribute_known(status, ATTRIBUTE_TASK_WAITS))
        return track_of(gecko, thread);
    if (!says_running(status))
        return 0;
    const uint32_t loop = loop_of(gecko, thread);
    return loop ? loop : track_of(gecko, thread);
}

void gecko_tasks_take_markers(struct gecko *gecko, const struct run *run)
{
    uint32_t line = loop_of(gecko, run->thread);
    if (!line)
        line = track_of(gecko, run->thread);
    if (says_running(run->status))
        markers_take_run(&gecko->markers, run, line);
    else
        markers_take_waiting(&gecko->markers, run, line);
}

bool gecko_tasks_shared(const struct gecko *gecko, uint32_t thread)
{
    if (!gecko_tasks_is_entry(gecko, thread))
        return false;
    const uint32_t process = gecko->tables->threads[thread].thread.process;
    return process < gecko->tasks.shared_room && gecko->tasks.shared[process] == thread;
}

void gecko_tasks_free(struct gecko_tasks *tasks)
{
    free(tasks->hosts);
    free(tasks->shared);
    free(tasks->loops);
    free(tasks->numbers);
    intern_free(&tasks->threads);
}

/* ---- tasks of threads ---- */

void gecko_tasks_change(struct gecko *gecko, struct gecko_thread *thread, uint64_t time, uint32_t task)
{
    if (task == thread->tasks.last.stack)
        return;
    spool_add(&gecko->spool, &thread->tasks, (struct spool_sample){ .time = time, .stack = task });
    gecko->tasks.any = true;
}

/* An entry always runs its own task. */
void gecko_tasks_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run, uint64_t time)
{
    if (!gecko_tasks_is_entry(gecko, run->thread))
        gecko_tasks_change(gecko, thread, time, run->task);
}

/* ---- markers ---- */

static const char *const colors[] = { "blue", "green", "orange", "purple", "teal", "magenta", "yellow", "ink" };

static void gecko_tasks_begin(struct gecko_marker_reader *reader)
{
    spool_rewind(&reader->changes, &reader->gecko->spool, &reader->thread->tasks);
    reader->over = !spool_next(&reader->changes, &reader->change);
}

/* Gives the next marker. A task runs from one change to the next; the last task runs to the end. */
static bool gecko_tasks_next(struct gecko_marker_reader *reader, struct gecko_marker *marker)
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

static struct text gecko_tasks_name(const struct gecko_marker *marker)
{
    (void)marker;
    return TEXT("Runs task");
}

static void gecko_tasks_emit_data(struct gecko *gecko, const struct gecko_marker *marker)
{
    const struct text task = tables_task(gecko->tables, marker->subject)->task.name;
    gecko_markers_emit_type(gecko, "Runs task", colors[marker->subject % countof(colors)]);
    emit_integer(&gecko->json, "task", (int64_t)gecko_tables_string(gecko, task));
    emit_integer(&gecko->json, "number", marker->subject);
    gecko_markers_emit_beginning(gecko, marker);
}

static void gecko_tasks_add_schemas(const struct gecko *gecko, json_t *schemas)
{
    if (!gecko->tasks.any)
        return;
    json_t *fields = json_array();
    gecko_markers_add_field(fields, "task", "Task", "unique-string");
    gecko_markers_add_field(fields, "number", "Number", "integer");
    gecko_markers_add_beginning_field(fields);
    json_array_append_new(
        schemas, gecko_markers_schema("Runs task", "The thread's event loop ran this asyncio task.", "task", fields));
}

const struct gecko_marker_kind gecko_run_markers = { gecko_tasks_begin, gecko_tasks_next, gecko_tasks_name,
                                                     gecko_tasks_emit_data, gecko_tasks_add_schemas };
