/* SPDX-License-Identifier: MIT */
#include "record/exact/crowd.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define RSEQ_CPU_ID 4 /* offset of cpu_id, a u32, in struct rseq */

/* The pieces that are read together. */
struct asked {
    struct remote *remote;
    struct batch *batch;
    bool good;
};

static void asked_send(struct asked *asked)
{
    struct batch *batch = asked->batch;
    if (batch->count > 0)
        asked->good &= remote_read_pieces(asked->remote, batch->pieces, batch->count, NULL) == REMOTE_READ;
    batch->count = 0;
}

static void asked_add(struct asked *asked, uint64_t address, size_t size, void *into)
{
    if (asked->batch->count == REMOTE_PIECES)
        asked_send(asked);
    batch_add(asked->batch, address, size, into);
}

/* Whether the holder of a lock is this thread. */
static bool crowd_holds(const struct crowd *crowd, const struct member *member)
{
    const struct gil *lock = &crowd->locks[member->interpreter];
    return lock->locked && lock->holder == member->address;
}

static void crowd_read_locks(struct crowd *crowd, const struct target *target, struct asked *asked)
{
    unsigned char(*bytes)[LAYOUT_GIL_MAX] = alloc_zeroed(target->interpreters_count + 1, sizeof(*bytes));
    crowd->locks_count = target->interpreters_count;
    crowd->locks = alloc_grow(crowd->locks, &crowd->locks_room, crowd->locks_count + 1, sizeof(*crowd->locks));
    for (size_t i = 0; i < crowd->locks_count; i++)
        if (target->interpreters[i].gil_at)
            asked_add(asked, target->interpreters[i].gil_at, target_gil_size(target), bytes[i]);
    asked_send(asked);
    for (size_t i = 0; i < crowd->locks_count; i++)
        crowd->locks[i] = target->interpreters[i].gil_at ? target_gil(target, bytes[i]) : (struct gil){ 0 };
    free(bytes);
}

/* Adds what shows whether and where a thread runs. */
static void crowd_ask(struct crowd *crowd, const struct thread_list *list, const struct member *member, int64_t rseq,
                      struct asked *asked)
{
    const struct layout *l = &list->target->runtime.layout;
    struct crowd_thread *thread = &crowd->threads[member->place];
    if (member->listed != list->list)
        return;
    thread->asked = true;
    thread->known = member->pointer != 0;
    if (thread->known)
        asked_add(asked, member->pointer + (uint64_t)rseq + RSEQ_CPU_ID, 4, &thread->processor);
    if (l->thread_attachment)
        asked_add(asked, member->address + l->thread_attachment, 4, &thread->attachment);
}

void crowd_read(struct crowd *crowd, const struct thread_list *list, int64_t rseq)
{
    const bool attaches = list->target->runtime.layout.thread_attachment;
    struct asked asked = { .remote = &list->target->remote, .batch = list->unwinder.batch, .good = true };
    asked.batch->count = 0;
    crowd->list = list->list;
    crowd->count = list->order_count;
    crowd->threads = alloc_grow(crowd->threads, &crowd->room, crowd->count + 1, sizeof(*crowd->threads));
    memset(crowd->threads, 0, crowd->count * sizeof(*crowd->threads));
    crowd_read_locks(crowd, list->target, &asked);
    if (thread_list_is_long(list)) {
        for (size_t i = 0; i < THREAD_LIST_FIRST && list->recent[i]; i++)
            crowd_ask(crowd, list, &list->members[list->recent[i] - 1], rseq, &asked);
    } else {
        for (size_t i = 0; i < crowd->count; i++)
            crowd_ask(crowd, list, &list->members[list->order[i]], rseq, &asked);
    }
    asked_send(&asked);
    for (size_t i = 0; i < crowd->count; i++) {
        struct crowd_thread *thread = &crowd->threads[i];
        thread->runs = attaches ? thread->attachment == THREAD_ATTACHED
                                : crowd_holds(crowd, &list->members[list->order[i]]);
    }
    crowd->whole = asked.good && list->whole;
}

static bool is_posted(uint32_t processor, const uint32_t *processors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (processors[i] == processor)
            return true;
    return false;
}

/* Whether nobody took the lock between two readings, or gave it back. */
static bool is_same_lock(const struct gil *then, const struct gil *now)
{
    return then->holder == now->holder && then->switches == now->switches && then->locked == now->locked;
}

size_t crowd_moved(const struct crowd *before, const struct crowd *after, const struct thread_list *list,
                   const uint32_t *processors, size_t count)
{
    const bool comparable = before->whole && after->whole && before->list == after->list &&
                            before->count == after->count && before->locks_count == after->locks_count;
    size_t moved = 0;
    for (size_t i = 0; i < list->asked_count; i++) {
        const struct member *member = &list->members[list->asked[i]];
        if (list->rests && member->tick != list->tick)
            continue; /* thread_list_rest() reads it */
        if (!comparable || member->listed != list->list) {
            moved++;
            continue;
        }
        const struct crowd_thread *then = &before->threads[member->place], *now = &after->threads[member->place];
        const size_t lock = member->interpreter;
        const bool same = is_same_lock(&before->locks[lock], &after->locks[lock]) &&
                          then->processor == now->processor && then->attachment == now->attachment &&
                          then->runs == now->runs;
        moved += !same || !then->asked || (now->runs && (!now->known || !is_posted(now->processor, processors, count)));
    }
    return moved;
}

bool crowd_sleeps(const struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->count; i++)
        if (crowd->threads[i].runs)
            return false;
    return crowd->whole;
}

void crowd_free(struct crowd *crowd)
{
    free(crowd->threads);
    free(crowd->locks);
    *crowd = (struct crowd){ 0 };
}
