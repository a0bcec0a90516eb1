/* SPDX-License-Identifier: MIT */
#include "formats/model/task_owner.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* The identity of a thread. A later thread may have the same identity as a thread that has ended. */
struct task_owner_identity {
    uint64_t interpreter;
    uint32_t process, tid;
};

static struct task_owner_identity task_owner_identity_of(const struct thread *thread)
{
    return (struct task_owner_identity){ thread->interpreter, thread->process, thread->tid };
}

/* Where the latest thread with the identity of this thread is noted. */
static uint32_t *latest_of(struct task_owners *owners, const struct thread *thread)
{
    const struct task_owner_identity identity = task_owner_identity_of(thread);
    bool added;
    const uint32_t number = intern_number(&owners->identities, &identity, sizeof(identity), &added);
    owners->latest = alloc_grow(owners->latest, &owners->latest_room, (size_t)number + 1, sizeof(*owners->latest));
    return &owners->latest[number];
}

void task_owner_find(struct task_owners *owners, const struct tables *tables)
{
    owners->threads = alloc_grow(owners->threads, &owners->room, tables->threads_count, sizeof(*owners->threads));
    for (; owners->count < tables->threads_count; owners->count++) {
        const struct thread *thread = &tables->threads[owners->count].thread;
        if (!thread->number)
            continue;
        uint32_t *latest = latest_of(owners, thread);
        if (!thread->task)
            *latest = (uint32_t)owners->count;
        owners->threads[owners->count] = *latest;
    }
}

/* The owner is the latest thread in front of the entry that has the entry's identity, else a thread behind the entry.
 */
uint32_t task_owner_of(const struct task_owners *owners, const struct tables *tables, uint32_t thread)
{
    const struct task_owner_identity identity = task_owner_identity_of(&tables->threads[thread].thread);
    if (owners->threads[thread])
        return owners->threads[thread];
    const uint32_t number = intern_find(&owners->identities, &identity, sizeof(identity));
    return number && tables->threads[thread].thread.number ? owners->latest[number] : 0;
}

struct text task_owner_name(const struct task_owners *owners, const struct tables *tables, uint32_t thread)
{
    const uint32_t owner = task_owner_of(owners, tables, thread);
    if (owner)
        return tables_thread_name(tables, owner);
    if (tables->threads[thread].thread.tid == 0)
        return TEXT("unknown thread");
    /* Linux gives a main thread the number of its process. */
    const struct thread *entry = &tables->threads[thread].thread;
    const uint32_t pid = tables->processes[entry->process].process.pid;
    return entry->tid == pid && entry->interpreter == 0 ? TEXT("MainThread") : TEXT("Thread");
}

void task_owner_free(struct task_owners *owners)
{
    free(owners->threads);
    free(owners->latest);
    intern_free(&owners->identities);
    *owners = (struct task_owners){ 0 };
}
