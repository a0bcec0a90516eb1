/* SPDX-License-Identifier: MIT */
#include "formats/model/task_owner.h"

#include "formats/base/alloc.h"
#include "formats/intern/intern.h"

#include <stdlib.h>

/* The identity of a thread. A later thread may have the same identity as a thread that has ended. */
struct identity {
    uint64_t interpreter;
    uint32_t process, tid;
};

static uint32_t number_of(struct intern *identities, const struct thread *thread)
{
    const struct identity identity = { thread->interpreter, thread->process, thread->tid };
    bool added;
    return intern_number(identities, &identity, sizeof(identity), &added);
}

/* The owner is the latest thread before the entry that has the entry's identity, else a thread behind the entry. */
void task_owner_find(struct task_owners *owners, const struct tables *tables)
{
    const size_t count = tables->threads_count;
    struct intern identities = { 0 };
    uint32_t *latest = alloc_zeroed(count + 1, sizeof(*latest)); /* latest thread, by number of an identity */
    owners->threads = alloc_zeroed(count + 1, sizeof(*owners->threads));
    for (uint32_t i = 1; i < count; i++) {
        const struct thread *thread = &tables->threads[i].thread;
        const uint32_t identity = thread->number ? number_of(&identities, thread) : 0;
        if (identity && !thread->task)
            latest[identity] = i;
        owners->threads[i] = latest[identity];
    }
    for (uint32_t i = 1; i < count; i++)
        if (!owners->threads[i] && tables->threads[i].thread.number)
            owners->threads[i] = latest[number_of(&identities, &tables->threads[i].thread)];
    intern_free(&identities);
    free(latest);
}

struct text task_owner_name(const struct task_owners *owners, const struct tables *tables, uint32_t thread)
{
    const uint32_t owner = owners->threads[thread];
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
    *owners = (struct task_owners){ 0 };
}
