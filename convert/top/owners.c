/* SPDX-License-Identifier: MIT */
#include "convert/top/owners.h"

#include "formats/base/alloc.h"
#include "formats/frames/plain_name.h"
#include "formats/frames/task_frame.h"
#include "formats/model/program_name.h"

#include <stdlib.h>
#include <string.h>

static struct text keep_scratch(struct owners *owners)
{
    return intern_text(&owners->texts, (struct text){ (const char *)owners->scratch.at, owners->scratch.size });
}

static struct text program_of(struct owners *owners, const struct process *process)
{
    char *title = program_name_title(process->command);
    const struct text kept = intern_text(&owners->texts, text_of(title));
    free(title);
    return kept;
}

static struct text plain(struct owners *owners, struct text name)
{
    if (owners->ids)
        return intern_text(&owners->texts, name);
    owners->scratch.size = 0;
    put_plain_name(&owners->scratch, name);
    return keep_scratch(owners);
}

/* The name of a thread. The samples of an entry that stands for a task belong to the thread of the task's event loop.
 */
static struct text thread_of(struct owners *owners, const struct tables *tables, uint32_t number)
{
    const struct thread *thread = &tables->threads[number].thread;
    if (!thread->task)
        return plain(owners, tables_thread_name(tables, number));
    const uint32_t owner = thread->tid ? intern_pairs_find(&tables->lives, thread->process, thread->tid) : 0;
    if (!owner || owner >= tables->threads_count || tables->threads[owner].thread.task)
        return (struct text){ "", 0 };
    return plain(owners, tables_thread_name(tables, owner));
}

/* A task with an automatic name is "task" without ids. */
static struct text task_of(struct owners *owners, const struct tables *tables, uint32_t task)
{
    if (!task)
        return (struct text){ "", 0 };
    const struct text name = tables_task(tables, task)->task.name;
    return name.size && (owners->ids || !task_frame_is_automatic(name)) ? plain(owners, name) : TEXT("task");
}

static struct owner describe(struct owners *owners, const struct tables *tables, uint32_t thread, uint32_t task)
{
    const struct thread *row = &tables->threads[thread].thread;
    const struct process *process = &tables->processes[row->process].process;
    return (struct owner){ .process = row->process,
                           .pid = process->pid,
                           .program = program_of(owners, process),
                           .thread = thread_of(owners, tables, thread),
                           .task = task_of(owners, tables, row->task ? row->task : task) };
}

static uint32_t number_of(struct owners *owners, const struct owner *owner, uint32_t thread)
{
    struct bytes *key = &owners->scratch;
    bool added;
    key->size = 0;
    put_number(key, owner->process);
    put_number(key, owners->ids ? thread : 0);
    put_text(key, owner->thread);
    put_text(key, owner->task);
    return intern_number(&owners->keys, (const char *)key->at, key->size, &added);
}

static uint32_t add(struct owners *owners, const struct tables *tables, uint32_t thread, uint32_t task)
{
    struct owner owner = describe(owners, tables, thread, task);
    if (owners->keys.count >= OWNERS_MOST)
        owner = (struct owner){ .program = TEXT("<others>"), .thread = TEXT("<others>") };
    const uint32_t number = number_of(owners, &owner, owner.process ? thread : 0);
    owners->rows = alloc_grow(owners->rows, &owners->room, (size_t)number + 1, sizeof(*owners->rows));
    if (number >= owners->count) {
        owners->count = (size_t)number + 1;
        owners->rows[number] = owner;
    }
    return number;
}

/* Counts a thread at the first owner that has its name, unless it counts already. */
static void count_thread(struct owners *owners, uint32_t thread, uint32_t number)
{
    struct bytes *key = &owners->scratch;
    bool added;
    owners->counted = alloc_grow(owners->counted, &owners->counted_room, (size_t)thread + 1, sizeof(*owners->counted));
    if (owners->counted[thread])
        return;
    owners->counted[thread] = true;
    key->size = 0;
    put_number(key, owners->rows[number].process);
    put_number(key, owners->ids && owners->rows[number].process ? thread : 0);
    put_text(key, owners->rows[number].thread);
    const uint32_t home = intern_number(&owners->homes, (const char *)key->at, key->size, &added);
    owners->of_home = alloc_grow(owners->of_home, &owners->of_home_room, (size_t)home + 1, sizeof(*owners->of_home));
    if (added)
        owners->of_home[home] = number;
    owners->rows[owners->of_home[home]].threads++;
}

uint32_t owners_find(struct owners *owners, const struct tables *tables, uint32_t thread, uint32_t task)
{
    bool added;
    const uint32_t pair = intern_pairs_number(&owners->pairs, thread, task, &added);
    owners->of_pair = alloc_grow(owners->of_pair, &owners->of_pair_room, pair, sizeof(*owners->of_pair));
    uint32_t *number = &owners->of_pair[pair - 1];
    if (*number)
        return *number;
    *number = add(owners, tables, thread, task);
    owners->rows[*number].runs++;
    if (!tables->threads[thread].thread.task)
        count_thread(owners, thread, *number);
    return *number;
}

void owners_renamed(struct owners *owners)
{
    if (owners->of_pair_room)
        memset(owners->of_pair, 0, owners->of_pair_room * sizeof(*owners->of_pair));
    if (owners->counted_room)
        memset(owners->counted, 0, owners->counted_room * sizeof(*owners->counted));
    for (size_t i = 1; i < owners->count; i++)
        owners->rows[i].threads = owners->rows[i].runs = 0;
}

void owners_free(struct owners *owners)
{
    free(owners->rows);
    free(owners->of_pair);
    free(owners->of_home);
    free(owners->counted);
    intern_free(&owners->homes);
    intern_free(&owners->keys);
    intern_free(&owners->texts);
    intern_pairs_free(&owners->pairs);
    bytes_free(&owners->scratch);
    *owners = (struct owners){ 0 };
}
