/* SPDX-License-Identifier: MIT */
#include "formats/calls/groups.h"

#include "formats/base/alloc.h"
#include "formats/frames/plain_name.h"
#include "formats/frames/task_frame.h"
#include "formats/frames/waiting.h"
#include "formats/model/program_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct text keep_scratch(struct groups *groups)
{
    return intern_text(&groups->texts, bytes_text(&groups->scratch));
}

/* Puts the name of a process into `scratch`. */
static struct text put_process_name(struct groups *groups, const struct process_row *row)
{
    char *title = program_name_title(row->process.command);
    const struct text name = text_of(title);
    groups->scratch.size = 0;
    if (groups->style.runs && program_name_is_written(row->process.command))
        put_plain_title(&groups->scratch, name);
    else
        put_bytes(&groups->scratch, name.bytes, name.size);
    free(title);
    if (row->process.recording.size && !groups->style.runs) {
        put_bytes(&groups->scratch, " (", 2);
        put_bytes(&groups->scratch, row->process.recording.bytes, row->process.recording.size);
        put_bytes(&groups->scratch, ")", 1);
    }
    return bytes_text(&groups->scratch);
}

/* A process may have titles without end. Where its number tells groups apart, only the latest title is kept. */
static struct text process_name(struct groups *groups, const struct tables *tables, uint32_t number)
{
    const struct process_row *row = &tables->processes[number];
    if (!groups->style.processes)
        return intern_text(&groups->texts, put_process_name(groups, row));
    groups->titles = alloc_grow(groups->titles, &groups->titles_room, (size_t)number + 1, sizeof(*groups->titles));
    if (!groups->titles[number].size)
        groups->titles[number] = text_copy(put_process_name(groups, row));
    return groups->titles[number];
}

static struct text plain_name(struct groups *groups, struct text name)
{
    if (groups->style.ids)
        return intern_text(&groups->texts, name);
    groups->scratch.size = 0;
    put_plain_name(&groups->scratch, name);
    return keep_scratch(groups);
}

/* The owner of an orphaned task is not known. */
static struct text groups_thread_name(struct groups *groups, const struct tables *tables, uint32_t number)
{
    const struct thread *thread = &tables->threads[number].thread;
    if (!thread->tid && thread->task)
        return (struct text){ "", 0 };
    task_owner_find(&groups->owners, tables);
    return plain_name(groups, task_owner_name(&groups->owners, tables, number));
}

/* The name of a thread with what tells it from others of the name. */
static struct text groups_label(struct groups *groups, struct text name, const struct thread *thread)
{
    char number[64];
    if (!groups->style.ids || !thread->tid)
        return name;
    int size = snprintf(number, sizeof(number), " (%" PRIu32 ")", thread->tid);
    if (thread->interpreter)
        size = snprintf(number, sizeof(number), " (%" PRIu32 ", interpreter %" PRIu64 ")", thread->tid,
                        thread->interpreter);
    groups->scratch.size = 0;
    put_bytes(&groups->scratch, name.bytes, name.size);
    put_bytes(&groups->scratch, number, (size_t)size);
    return keep_scratch(groups);
}

/* A task with an automatic name is "task" without ids. */
static struct text groups_task_name(struct groups *groups, const struct tables *tables, uint32_t task)
{
    if (!task)
        return (struct text){ "", 0 };
    const struct text name = tables_task(tables, task)->task.name;
    if (name.size == 0 || (!groups->style.ids && task_frame_is_automatic(name)))
        return TEXT("task");
    return groups->style.tasks ? plain_name(groups, name) : intern_text(&groups->texts, name);
}

static struct group group_describe(struct groups *groups, const struct tables *tables, uint32_t number, uint32_t task)
{
    const struct thread *thread = &tables->threads[number].thread;
    struct group group = { .process = process_name(groups, tables, thread->process),
                           .number = thread->process,
                           .pid = tables->processes[thread->process].process.pid,
                           .tid = thread->tid };
    if (groups->style.one)
        return (struct group){ .process = groups->processes ? (struct text){ "", 0 } : group.process,
                               .pid = group.pid };
    group.thread = groups_thread_name(groups, tables, number);
    group.label = groups_label(groups, group.thread, thread);
    group.task = groups_task_name(groups, tables, thread->task ? thread->task : task);
    return group;
}

/* The index of a group: groups that look the same are one, unless each thread is one. */
static uint32_t group_index(struct groups *groups, const struct group *group, uint32_t thread)
{
    struct bytes *key = &groups->scratch;
    bool added;
    key->size = 0;
    put_number(key, groups->style.ids && !groups->style.one ? thread : 0);
    put_number(key, groups->style.processes ? group->number : 0);
    put_text(key, groups->style.processes ? (struct text){ "", 0 } : group->process);
    put_text(key, group->thread);
    put_text(key, group->task);
    const uint32_t number = intern_number(&groups->keys, (const char *)key->at, key->size, &added);
    if (added) {
        groups->rows = alloc_grow(groups->rows, &groups->room, number, sizeof(*groups->rows));
        groups->rows[number - 1] = *group;
        groups->count = number;
    }
    return number - 1;
}

static bool groups_are_full(const struct groups *groups)
{
    return groups->style.most && groups->count >= groups->style.most;
}

/* Adds a thread that has samples. Returns the index of its group. */
static uint32_t group_add_thread(struct groups *groups, const struct tables *tables, uint32_t thread)
{
    const struct group others = { .process = TEXT("<others>"), .thread = TEXT("<others>"), .label = TEXT("<others>") };
    const bool full = groups_are_full(groups);
    const struct group group = full ? others : group_describe(groups, tables, thread, 0);
    const uint32_t index = group_index(groups, &group, full ? 0 : thread);
    groups->rows[index].threads += !thread_is_rest(&tables->threads[thread].thread);
    groups->rows[index].main |= tables->threads[thread].thread.main;
    return index;
}

/* Adds a task that a thread ran. Where there is no room for its group, its samples stay those of the thread. */
static uint32_t group_add_run(struct groups *groups, const struct tables *tables, uint32_t thread, uint32_t task)
{
    if (groups_are_full(groups))
        return groups->by_thread[thread] - 1;
    const struct group group = group_describe(groups, tables, thread, task);
    const uint32_t index = group_index(groups, &group, thread);
    groups->rows[index].threads++;
    return index;
}

uint32_t groups_of(struct groups *groups, const struct tables *tables, uint32_t thread, uint32_t task)
{
    bool added;
    groups->by_thread = alloc_grow(groups->by_thread, &groups->by_thread_room, (size_t)thread + 1,
                                   sizeof(*groups->by_thread));
    if (!groups->by_thread[thread])
        groups->by_thread[thread] = group_add_thread(groups, tables, thread) + 1;
    if (!task || tables->threads[thread].thread.task)
        return groups->by_thread[thread] - 1;
    const uint32_t run = intern_pairs_number(&groups->runs, thread, task, &added);
    groups->by_run = alloc_grow(groups->by_run, &groups->by_run_room, run, sizeof(*groups->by_run));
    if (!groups->by_run[run - 1])
        groups->by_run[run - 1] = group_add_run(groups, tables, thread, task) + 1;
    return groups->by_run[run - 1] - 1;
}

/* Puts a thread into the row of the busiest ones of its group. `cpu_ns` is by number of the thread. */
static void group_note_busy(struct group *group, const uint64_t *cpu_ns, uint32_t thread, double least_ns)
{
    if (cpu_ns[thread] == 0 || (double)cpu_ns[thread] < least_ns)
        return;
    size_t at = group->busy_count < GROUP_BUSY ? group->busy_count : GROUP_BUSY;
    group->busy_count++;
    for (; at > 0 && cpu_ns[group->busy[at - 1]] < cpu_ns[thread]; at--)
        if (at < GROUP_BUSY)
            group->busy[at] = group->busy[at - 1];
    if (at < GROUP_BUSY)
        group->busy[at] = thread;
}

/* Finds the busiest threads of each group. */
static void groups_find_busiest(struct groups *groups, const struct tables *tables, const struct aggregate *aggregate)
{
    uint64_t *cpu_ns = alloc_zeroed(tables->threads_count + 1, sizeof(*cpu_ns));
    double all_ns = 0;
    for (size_t i = 0; i < aggregate->count; i++) {
        cpu_ns[aggregate->rows[i].thread] += aggregate->rows[i].sums[SUM_CPU_NS];
        all_ns += (double)aggregate->rows[i].sums[SUM_CPU_NS];
    }
    for (uint32_t i = 1; i < tables->threads_count; i++)
        if (groups->by_thread[i])
            group_note_busy(&groups->rows[groups->by_thread[i] - 1], cpu_ns, i, all_ns * GROUP_WORKS);
    free(cpu_ns);
}

static uint32_t pid_of_thread(const struct tables *tables, uint32_t thread)
{
    return tables->processes[tables->threads[thread].thread.process].process.pid;
}

/* Whether the process of a busy thread has the number of one before: it became another program. */
static bool is_named_before(const struct tables *tables, const struct group *group, size_t at)
{
    const uint32_t pid = pid_of_thread(tables, group->busy[at]);
    while (at-- > 0)
        if (pid_of_thread(tables, group->busy[at]) == pid)
            return true;
    return false;
}

void groups_put_busy(struct bytes *to, const struct tables *tables, const struct group *group)
{
    const size_t named = group->busy_count < GROUP_BUSY ? group->busy_count : GROUP_BUSY;
    bool processes = false;
    for (size_t i = 1; i < named; i++)
        processes |= tables->threads[group->busy[i]].thread.process != tables->threads[group->busy[0]].thread.process;
    for (size_t i = 0; named > 1 && i < named; i++)
        if (!processes || !is_named_before(tables, group, i))
            put_format(to, "%s%" PRIu32,
                       i > 0       ? ", "
                       : processes ? "pid "
                                   : "tid ",
                       processes ? pid_of_thread(tables, group->busy[i]) : tables->threads[group->busy[i]].thread.tid);
    if (group->busy_count > GROUP_BUSY)
        put_format(to, " and %zu more%s", group->busy_count - GROUP_BUSY, processes ? " threads" : "");
}

void groups_find(struct groups *groups, const struct tables *tables, const struct aggregate *aggregate,
                 const struct groups_style *style)
{
    *groups = (struct groups){ .style = *style, .processes = tables_count_processes(tables) > 1 };
    groups->by_thread = alloc_grow(NULL, &groups->by_thread_room, tables->threads_count + 1,
                                   sizeof(*groups->by_thread));
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        const uint32_t index = groups_of(groups, tables, row->thread, 0);
        struct group *group = &groups->rows[index];
        aggregate_add_sums(group->sums, row->sums);
        group->waits_ns += waiting_of_group(row->group) != WAITS_NOT ? row->sums[SUM_WALL_NS] : 0;
    }
    groups_find_busiest(groups, tables, aggregate);
}

void groups_renamed(struct groups *groups)
{
    if (groups->by_thread_room)
        memset(groups->by_thread, 0, groups->by_thread_room * sizeof(*groups->by_thread));
    if (groups->by_run_room)
        memset(groups->by_run, 0, groups->by_run_room * sizeof(*groups->by_run));
    for (size_t i = 0; i < groups->count; i++)
        groups->rows[i].threads = 0;
}

void groups_retitled(struct groups *groups, const struct tables *tables)
{
    for (size_t i = 0; i < groups->titles_room; i++) {
        text_free(groups->titles[i]);
        groups->titles[i] = (struct text){ 0 };
    }
    for (size_t i = 0; i < groups->count; i++)
        if (groups->rows[i].number)
            groups->rows[i].process = process_name(groups, tables, groups->rows[i].number);
}

void groups_free(struct groups *groups)
{
    free(groups->rows);
    free(groups->by_thread);
    free(groups->by_run);
    intern_pairs_free(&groups->runs);
    task_owner_free(&groups->owners);
    intern_free(&groups->keys);
    intern_free(&groups->texts);
    for (size_t i = 0; i < groups->titles_room; i++)
        text_free(groups->titles[i]);
    free(groups->titles);
    bytes_free(&groups->scratch);
    *groups = (struct groups){ 0 };
}
