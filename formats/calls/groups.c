/* SPDX-License-Identifier: MIT */
#include "formats/calls/groups.h"

#include "formats/base/alloc.h"
#include "formats/frames/plain_name.h"
#include "formats/frames/task_frame.h"
#include "formats/frames/waiting.h"
#include "formats/model/program_name.h"
#include "formats/model/task_owner.h"

#include <stdlib.h>

/* What the search for groups works with. */
struct search {
    struct groups *groups;
    const struct tables *tables;
    const struct groups_style *style;
    struct task_owners owners;
    struct bytes scratch;
};

static struct text keep_scratch(struct search *search)
{
    return intern_text(&search->groups->texts, (struct text){ (const char *)search->scratch.at, search->scratch.size });
}

static struct text process_name(struct search *search, const struct process_row *row)
{
    char *title = program_name_title(row->process.command);
    const struct text name = text_of(title);
    search->scratch.size = 0;
    put_bytes(&search->scratch, name.bytes, name.size);
    free(title);
    if (row->recording.size && !search->style->runs) {
        put_bytes(&search->scratch, " (", 2);
        put_bytes(&search->scratch, row->recording.bytes, row->recording.size);
        put_bytes(&search->scratch, ")", 1);
    }
    return keep_scratch(search);
}

/* The owner of an orphaned task is not known. */
static struct text thread_name(struct search *search, uint32_t number)
{
    const struct thread *thread = &search->tables->threads[number].thread;
    if (!thread->tid && thread->task)
        return (struct text){ "", 0 };
    const struct text name = task_owner_name(&search->owners, search->tables, number);
    if (search->style->ids)
        return intern_text(&search->groups->texts, name);
    search->scratch.size = 0;
    put_plain_name(&search->scratch, name);
    return keep_scratch(search);
}

/* The name of the task of an entry. A task with an automatic name is "task" without ids. */
static struct text task_name(struct search *search, const struct thread *thread)
{
    if (!thread->task)
        return (struct text){ "", 0 };
    const struct text name = tables_task(search->tables, thread->task)->task.name;
    return name.size && (search->style->ids || !task_frame_is_automatic(name))
               ? intern_text(&search->groups->texts, name)
               : TEXT("task");
}

static struct group describe(struct search *search, uint32_t number)
{
    const struct thread *thread = &search->tables->threads[number].thread;
    const struct process_row *process = &search->tables->processes[thread->process];
    struct group group = { .process = process_name(search, process), .pid = process->process.pid, .tid = thread->tid };
    if (search->style->one)
        return (struct group){ .process = search->groups->processes ? (struct text){ "", 0 } : group.process,
                               .pid = group.pid };
    group.thread = thread_name(search, number);
    group.task = task_name(search, thread);
    return group;
}

/* The number of a group: groups that look the same are one, unless each thread is one. */
static uint32_t number_of(struct search *search, const struct group *group, uint32_t thread, bool *added)
{
    struct bytes *key = &search->scratch;
    key->size = 0;
    if (search->style->one)
        put_number(key, 0);
    else if (search->style->ids)
        put_number(key, thread);
    else {
        put_text(key, group->process);
        put_text(key, group->thread);
        put_text(key, group->task);
    }
    return intern_number(&search->groups->keys, (const char *)key->at, key->size, added);
}

/* Adds a thread that has samples. Returns the number of its group: index + 1. */
static uint32_t add_thread(struct search *search, uint32_t thread)
{
    struct groups *groups = search->groups;
    const struct group group = describe(search, thread);
    bool added;
    const uint32_t number = number_of(search, &group, thread, &added);
    if (added) {
        groups->rows = alloc_grow(groups->rows, &groups->room, number, sizeof(*groups->rows));
        groups->rows[number - 1] = group;
        groups->count = number;
    }
    groups->rows[number - 1].threads++;
    groups->rows[number - 1].main |= search->tables->threads[thread].thread.main;
    return number;
}

void groups_find(struct groups *groups, const struct tables *tables, const struct aggregate *aggregate,
                 const struct groups_style *style)
{
    *groups = (struct groups){ .processes = tables_count_processes(tables) > 1 };
    groups->by_thread = alloc_zeroed(tables->threads_count + 1, sizeof(*groups->by_thread));
    struct search search = { .groups = groups, .tables = tables, .style = style };
    task_owner_find(&search.owners, tables);
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        uint32_t *number = &groups->by_thread[row->thread];
        if (!*number)
            *number = add_thread(&search, row->thread);
        struct group *group = &groups->rows[*number - 1];
        aggregate_add_sums(group->sums, row->sums);
        group->waits_ns += waiting_of_group(row->group) != WAITS_NOT ? row->sums[SUM_WALL_NS] : 0;
    }
    task_owner_free(&search.owners);
    bytes_free(&search.scratch);
}

void groups_free(struct groups *groups)
{
    free(groups->rows);
    free(groups->by_thread);
    intern_free(&groups->keys);
    intern_free(&groups->texts);
    *groups = (struct groups){ 0 };
}
