/* SPDX-License-Identifier: MIT */
#include "record/exact/crowd.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The pieces that are read together. */
struct asked {
    struct crowd *crowd;
    struct remote *remote;
    struct batch *batch;
    bool good;
};

/* Notes that a piece is not readable. The thread to which it belongs may have moved; the others are as well known. */
static void asked_note_lost(struct asked *asked, const struct piece *piece)
{
    const struct crowd *crowd = asked->crowd;
    const uintptr_t at = (uintptr_t)piece->into - (uintptr_t)crowd->threads;
    if (at < crowd->count * sizeof(*crowd->threads))
        crowd->threads[at / sizeof(*crowd->threads)].lost = true;
    else
        asked->good = false;
}

static void asked_send(struct asked *asked)
{
    struct batch *batch = asked->batch;
    bool there[REMOTE_PIECES];
    asked->good &= remote_read_readable(asked->remote, batch->pieces, batch->count, there) == REMOTE_READ;
    for (size_t i = 0; i < batch->count; i++)
        if (!there[i])
            asked_note_lost(asked, &batch->pieces[i]);
    batch->count = 0;
}

static void asked_add(struct asked *asked, uint64_t address, size_t size, void *into)
{
    if (asked->batch->count == REMOTE_PIECES)
        asked_send(asked);
    batch_add(asked->batch, address, (uint32_t)size, into);
}

/* Whether the holder of a lock is this thread. */
static bool crowd_holds(const struct crowd *crowd, const struct member *member)
{
    const struct gil *lock = member->interpreter < crowd->locks_count ? &crowd->locks[member->interpreter].gil : NULL;
    return lock && lock->locked && lock->holder == member->address;
}

static void crowd_ask_locks(struct asked *asked, const struct target *target)
{
    struct crowd *crowd = asked->crowd;
    const size_t count = target->interpreters_count;
    crowd->locks_count = count;
    crowd->locks = alloc_grow(crowd->locks, &crowd->locks_room, count + 1, sizeof(*crowd->locks));
    for (size_t i = 0; i < count; i++) {
        crowd->locks[i] = (struct crowd_lock){ .at = target->interpreters[i].gil_at };
        if (crowd->locks[i].at)
            asked_add(asked, crowd->locks[i].at, target_gil_size(target), crowd->locks[i].bytes);
    }
}

static void crowd_take_locks(struct crowd *crowd, const struct target *target)
{
    for (size_t i = 0; i < crowd->locks_count; i++)
        if (crowd->locks[i].at)
            crowd->locks[i].gil = target_gil(target, crowd->locks[i].bytes);
}

/* Adds what shows whether and where a thread runs. */
static void crowd_ask(struct asked *asked, const struct thread_list *list, uint32_t index, int64_t rseq)
{
    const struct layout *l = &list->target->runtime.layout;
    const struct member *member = &list->members[index];
    if (member->listed != list->list)
        return;
    struct crowd_thread *thread = &asked->crowd->threads[index];
    thread->asked = true;
    thread->pointer = member->pointer;
    thread->known = member->pointer != 0;
    if (thread->known)
        asked_add(asked, member->pointer + (uint64_t)rseq + RSEQ_CPU_ID, 4, &thread->processor);
    if (l->thread_attachment)
        asked_add(asked, member->address + l->thread_attachment, 4, &thread->attachment);
    asked_add(asked, member->address + (l->thread_cframe ? l->thread_cframe : l->thread_current_frame), 8,
              &thread->frame);
}

void crowd_read(struct crowd *crowd, const struct thread_list *list, int64_t rseq)
{
    const bool attaches = list->target->runtime.layout.thread_attachment;
    struct asked asked = { crowd, &list->target->remote, list->unwinder.batch, true };
    asked.batch->count = 0;
    crowd->count = list->members_count;
    crowd->threads = alloc_grow(crowd->threads, &crowd->room, crowd->count + 1, sizeof(*crowd->threads));
    memset(crowd->threads, 0, crowd->count * sizeof(*crowd->threads));
    crowd_ask_locks(&asked, list->target);
    if (thread_list_is_long(list)) {
        for (size_t i = 0; i < THREAD_LIST_FIRST && list->recent[i]; i++)
            crowd_ask(&asked, list, list->recent[i] - 1, rseq);
    } else {
        for (size_t i = 0; i < list->asked_count; i++)
            crowd_ask(&asked, list, list->asked[i], rseq);
    }
    asked_send(&asked);
    crowd_take_locks(crowd, list->target);
    for (size_t i = 0; i < crowd->count; i++) {
        struct crowd_thread *thread = &crowd->threads[i];
        thread->runs = attaches ? thread->attachment == THREAD_ATTACHED
                                : thread->asked && crowd_holds(crowd, &list->members[i]);
    }
    crowd->whole = asked.good && list->whole;
}

bool crowd_has_new(const struct crowd *before, const struct crowd *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct crowd_thread *then = i < before->count ? &before->threads[i] : NULL;
        if (after->threads[i].asked && (!then || !then->asked || then->pointer != after->threads[i].pointer))
            return true;
    }
    return false;
}

bool crowd_is_elsewhere(const struct crowd *crowd, const struct posts *posts)
{
    bool elsewhere = false;
    for (size_t i = 0; i < crowd->count; i++) {
        const struct crowd_thread *thread = &crowd->threads[i];
        elsewhere |= thread->runs && thread->known && !posts_have(posts, thread->processor);
    }
    return elsewhere;
}

/* Whether nobody took this lock of the interpreters between two readings, or gave it back. */
static bool lock_stood(const struct crowd *before, const struct crowd *after, size_t lock)
{
    if (lock >= before->locks_count || lock >= after->locks_count || before->locks[lock].at != after->locks[lock].at)
        return false;
    const struct gil *then = &before->locks[lock].gil, *now = &after->locks[lock].gil;
    return then->holder == now->holder && then->switches == now->switches && then->locked == now->locked;
}

/* Whether a thread stood still between two readings. `seen`: its attachment as it was read with its stack. */
static bool thread_stood(const struct crowd_thread *then, const struct crowd_thread *now, enum attachment seen,
                         const struct posts *posts)
{
    const bool read = then->asked && now->asked && !then->lost && !now->lost;
    const bool same = then->pointer == now->pointer && then->processor == now->processor &&
                      then->attachment == now->attachment && then->attachment == (uint32_t)seen &&
                      then->runs == now->runs && then->frame == now->frame;
    return read && same && (!now->runs || (now->known && posts_have(posts, now->processor)));
}

size_t crowd_moved(const struct crowd *before, const struct crowd *after, const struct thread_list *list,
                   const struct posts *posts)
{
    size_t moved = 0;
    for (size_t i = 0; i < list->asked_count; i++) {
        const uint32_t index = list->asked[i];
        const struct member *member = &list->members[index];
        if (list->rests && member->tick != list->tick)
            continue; /* thread_list_rest() reads it */
        const bool known = before->whole && after->whole && index < before->count && index < after->count;
        moved += !known || !lock_stood(before, after, member->interpreter) ||
                 !thread_stood(&before->threads[index], &after->threads[index], member->attachment, posts);
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
