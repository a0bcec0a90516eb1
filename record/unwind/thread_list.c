/* SPDX-License-Identifier: MIT */
#include "record/unwind/thread_list.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_LIMIT 8192 /* of a target */
#define LIST_ATTEMPTS 24   /* to read a list that changes while we do ... */
#define STILL_LISTS   3    /* ... and one that does not: what is torn then remains so */
#define PASSES        4    /* through the threads, each for those that moved during the last one */

const char *const threads_names[THREADS_KINDS] = { "all", "main", "gil" };

void thread_list_open(struct thread_list *roster, struct target *target, struct codes *codes, enum threads which,
                      bool anew)
{
    *roster = (struct thread_list){ .target = target, .which = which };
    unwinder_open(&roster->unwinder, target, codes, anew);
}

void thread_list_close(struct thread_list *roster)
{
    if (!roster->target)
        return;
    for (size_t i = 0; i < roster->members_count; i++)
        walk_free(&roster->members[i].walk);
    unwinder_close(&roster->unwinder);
    free(roster->members);
    intern_pairs_free(&roster->addresses);
    free(roster->order);
    free(roster->asked);
    free(roster->wanted);
    free(roster->wanted_members);
    *roster = (struct thread_list){ 0 };
}

void thread_list_distrust(struct thread_list *roster)
{
    roster->listed = false;
}

/* ---- the lists ---- */

static uint32_t member_at(struct thread_list *roster, uint64_t address)
{
    bool added;
    const uint32_t number = intern_pairs_number(&roster->addresses, (uint32_t)(address >> 32), (uint32_t)address,
                                                &added);
    if (added) {
        roster->members = alloc_grow(roster->members, &roster->members_room, number, sizeof(struct member));
        roster->members[number - 1] = (struct member){ .address = address };
        roster->members_count = number;
    }
    return number - 1;
}

/* The heads of the states of threads that are likely in the lists, read at once. */
struct heads {
    unsigned char *bytes; /* layout->thread_size of each */
    size_t good;
};

static const unsigned char *expected_head(const struct thread_list *roster, const struct heads *heads, uint64_t address,
                                          size_t at)
{
    if (at >= heads->good || roster->members[roster->order[at]].address != address)
        return NULL;
    return heads->bytes + at * roster->target->runtime.layout.thread_size;
}

static struct heads read_expected_heads(struct thread_list *roster)
{
    const struct layout *l = &roster->target->runtime.layout;
    const size_t count = roster->order_count < REMOTE_PIECES ? roster->order_count : REMOTE_PIECES;
    struct heads heads = { alloc_zeroed(count + 1, l->thread_size), 0 };
    struct call *call = &roster->unwinder.call;
    call->count = 0;
    for (size_t i = 0; i < count; i++)
        call_add(call, roster->members[roster->order[i]].address, l->thread_size, heads.bytes + i * l->thread_size);
    if (count > 0)
        remote_read_pieces(&roster->target->remote, call->pieces, call->count, &heads.good);
    return heads;
}

/* Follows the list of an interpreter's threads. False when it changed on the way. */
static bool list_threads(struct thread_list *roster, size_t interpreter, const struct heads *heads, uint32_t **order,
                         size_t *count, size_t *room)
{
    const struct layout *l = &roster->target->runtime.layout;
    const uint64_t owner = roster->target->interpreters[interpreter].address;
    const uint64_t id = roster->target->interpreters[interpreter].id;
    uint64_t previous = 0, next;
    for (uint64_t at = roster->target->interpreters[interpreter].threads_head; at; previous = at, at = next) {
        unsigned char bytes[LAYOUT_THREAD_MAX];
        const unsigned char *head = NULL;
        /* One more thread or one less: what follows is found a place further on or before. */
        for (size_t shift = 0; shift < 3 && !head; shift++)
            head = *count + shift > 0 ? expected_head(roster, heads, at, *count + shift - 1) : NULL;
        if (!head) {
            if (remote_read(&roster->target->remote, at, bytes, l->thread_size) != REMOTE_READ)
                return false;
            head = bytes;
        }
        if (word_at(head, l->thread_interpreter) != owner || word_at(head, l->thread_prev) != previous ||
            *count == THREADS_LIMIT)
            return false;
        next = word_at(head, l->thread_next);
        const uint32_t place = member_at(roster, at);
        struct member *member = &roster->members[place];
        const uint32_t native_id = (uint32_t)word_at(head, l->thread_native_id);
        /* Another thread, or of another interpreter: it must not be taken for one that has not moved. */
        if (native_id != member->native_id || member->interpreter_id != id) {
            walk_free(&member->walk);
            member->tick = 0;
        }
        member->interpreter = interpreter;
        member->interpreter_id = id;
        member->previous = previous;
        member->next = next;
        member->native_id = native_id;
        member->pointer = word_at(head, l->thread_id);
        member->listed = roster->list;
        *order = alloc_grow(*order, room, *count + 1, sizeof(**order));
        (*order)[(*count)++] = place;
    }
    return true;
}

static bool is_main(const struct thread_list *roster, const struct member *member)
{
    return member->native_id == (uint32_t)roster->target->ns_pid;
}

static void ask_for(struct thread_list *roster, uint32_t place)
{
    roster->asked = alloc_grow(roster->asked, &roster->asked_room, roster->asked_count + 1, sizeof(*roster->asked));
    roster->asked[roster->asked_count++] = place;
}

/* Of all or the main thread, as listed. */
static void ask_for_listed(struct thread_list *roster)
{
    roster->asked_count = 0;
    for (size_t i = 0; i < roster->order_count; i++)
        if (roster->which != THREADS_MAIN || is_main(roster, &roster->members[roster->order[i]]))
            ask_for(roster, roster->order[i]);
}

/* Finds the threads that have states in several interpreters. */
static void link_twins(struct thread_list *roster)
{
    struct intern_pairs threads = { 0 }; /* native id → place + 1 of a state of it */
    for (size_t i = 0; i < roster->members_count; i++)
        roster->members[i].twin = 0; /* also of those that are not listed any more: rings have no ends */
    if (roster->target->interpreters_count < 2)
        return;
    for (size_t i = 0; i < roster->order_count; i++) {
        const uint32_t place = roster->order[i];
        struct member *member = &roster->members[place];
        const uint32_t other = intern_pairs_find(&threads, member->native_id, 0);
        member->twin = other ? roster->members[other - 1].twin : place + 1;
        if (other)
            roster->members[other - 1].twin = place + 1;
        else
            intern_pairs_add(&threads, member->native_id, 0, place + 1);
    }
    intern_pairs_free(&threads);
}

/* Makes the order that of the lists. */
static enum roster_state make_list(struct thread_list *roster)
{
    roster->whole = false;
    switch (target_read_interpreters(roster->target)) {
    case REMOTE_READ:
        break;
    case REMOTE_UNREADABLE:
        return ROSTER_TORN;
    default:
        return ROSTER_GONE;
    }
    const struct heads heads = read_expected_heads(roster);
    uint32_t *order = NULL;
    size_t count = 0, room = 0;
    bool whole = true;
    roster->list++;
    for (size_t i = 0; whole && i < roster->target->interpreters_count; i++)
        whole = list_threads(roster, i, &heads, &order, &count, &room);
    free(heads.bytes);
    free(roster->order);
    roster->order = order;
    roster->order_count = count;
    roster->order_room = room;
    roster->listed = roster->whole = whole;
    link_twins(roster);
    ask_for_listed(roster);
    return whole ? ROSTER_READ : ROSTER_TORN;
}

/* ---- their stacks ---- */

static bool is_without_lock(const struct thread_list *roster)
{
    return roster->target->runtime.layout.free_threaded;
}

/* Of those that hold a lock now, as far as was read. */
static void ask_for_holders(struct thread_list *roster)
{
    roster->asked_count = 0;
    for (size_t i = 0; i < roster->target->interpreters_count; i++) {
        const struct gil *gil = &roster->target->interpreters[i].gil;
        const uint32_t place = gil->locked ? intern_pairs_find(&roster->addresses, (uint32_t)(gil->holder >> 32),
                                                               (uint32_t)gil->holder)
                                           : 0;
        const struct member *member = place ? &roster->members[place - 1] : NULL;
        if (member && member->listed == roster->list && member->interpreter == i)
            ask_for(roster, place - 1);
    }
}

bool thread_list_holds(const struct thread_list *roster, const struct member *member)
{
    const struct gil *gil = &roster->target->interpreters[member->interpreter].gil;
    if (roster->target->runtime.layout.thread_attachment)
        return member->attachment == THREAD_ATTACHED;
    return gil->known && gil->locked && gil->holder == member->address;
}

bool thread_list_current(const struct thread_list *roster, struct member *member)
{
    if (thread_list_holds(roster, member)) {
        member->held = roster->tick;
        return true;
    }
    const struct member *current = member;
    for (const struct member *m = member; m->twin && &roster->members[m->twin - 1] != member;) {
        m = &roster->members[m->twin - 1];
        if (thread_list_holds(roster, m))
            return false;
        if (m->held > current->held || (m->held == current->held && m->interpreter_id > current->interpreter_id))
            current = m;
    }
    return current == member;
}

static bool has_frame(const struct walk *walk, uint64_t frame)
{
    for (uint32_t i = walk->depth; i > 0; i--)
        if (walk->links[i - 1].address == frame)
            return true;
    return false;
}

/* Whether all threads of the interpreter but this one were seen suspended in this tick. */
static bool has_suspended_others(const struct thread_list *roster, const struct member *member)
{
    for (size_t i = 0; i < roster->order_count; i++) {
        const struct member *other = &roster->members[roster->order[i]];
        const bool suspended = other->attachment == THREAD_SUSPENDED || other->attachment == THREAD_SUSPENDED_WAITING;
        if (other != member && other->interpreter == member->interpreter && (other->tick != roster->tick || !suspended))
            return false;
    }
    return true;
}

bool thread_list_collects(const struct thread_list *roster, const struct member *member)
{
    const struct layout *l = &roster->target->runtime.layout;
    const struct interpreter *interpreter = &roster->target->interpreters[member->interpreter];
    if (!interpreter->collecting || !thread_list_holds(roster, member))
        return false;
    if (!l->free_threaded)
        return true;
    return l->gc_frame ? has_frame(&member->walk, interpreter->gc_frame) : has_suspended_others(roster, member);
}

static void want(struct thread_list *roster, uint32_t place)
{
    struct member *member = &roster->members[place];
    const size_t count = roster->wanted_count + 1;
    roster->wanted = alloc_grow(roster->wanted, &roster->wanted_room, count, sizeof(*roster->wanted));
    roster->wanted_members = alloc_grow(roster->wanted_members, &roster->wanted_members_room, count,
                                        sizeof(*roster->wanted_members));
    roster->wanted[roster->wanted_count] = (struct wanted){ .walk = &member->walk,
                                                            .thread = member->address,
                                                            .interpreter = member->interpreter };
    roster->wanted_members[roster->wanted_count++] = place;
}

/* Chooses the threads that are to be read: all that were asked for, are not done, and may have moved. */
static void choose(struct thread_list *roster, bool all)
{
    roster->wanted_count = 0;
    if (roster->which == THREADS_GIL && !is_without_lock(roster))
        ask_for_holders(roster);
    for (size_t i = 0; i < roster->asked_count; i++) {
        struct member *member = &roster->members[roster->asked[i]];
        if (member->tick == roster->tick)
            continue;
        const struct interpreter *interpreter = &roster->target->interpreters[member->interpreter];
        if (all || !unwind_unmoved(&roster->unwinder, &member->walk, interpreter, member->address))
            want(roster, roster->asked[i]);
    }
}

/* Puts the holder of each lock in front of the threads that had it lately. */
static void note_holders(struct thread_list *roster)
{
    for (size_t i = 0; i < roster->target->interpreters_count; i++) {
        const uint64_t holder = roster->target->interpreters[i].gil.holder;
        const uint32_t place = intern_pairs_find(&roster->addresses, (uint32_t)(holder >> 32), (uint32_t)holder);
        uint32_t at = 0;
        while (at < ROSTER_FIRST - 1 && roster->recent[at] != place)
            at++;
        for (; place && at > 0; at--)
            roster->recent[at] = roster->recent[at - 1];
        if (place)
            roster->recent[0] = place;
    }
}

/* The same as choose() of those that had the lock lately. */
static void choose_recent(struct thread_list *roster)
{
    roster->wanted_count = 0;
    note_holders(roster);
    for (size_t i = 0; i < ROSTER_FIRST && roster->recent[i]; i++) {
        struct member *member = &roster->members[roster->recent[i] - 1];
        const struct interpreter *interpreter = &roster->target->interpreters[member->interpreter];
        if (member->listed == roster->list && member->tick != roster->tick &&
            !unwind_unmoved(&roster->unwinder, &member->walk, interpreter, member->address))
            want(roster, roster->recent[i] - 1);
    }
}

/* Takes over what became of the threads that were read. False when one is not where the list has it. */
static bool take_over(struct thread_list *roster)
{
    bool there = true;
    for (size_t i = 0; i < roster->wanted_count; i++) {
        const struct wanted *wanted = &roster->wanted[i];
        struct member *member = &roster->members[roster->wanted_members[i]];
        if (wanted->state == UNWIND_ELSEWHERE) {
            there = false;
            continue;
        }
        there &= wanted->unwound.previous_thread == member->previous && wanted->unwound.next_thread == member->next;
        member->pointer = wanted->unwound.pointer;
        member->native_id = wanted->unwound.native_id;
        member->state = wanted->state;
        member->cause = wanted->unwound.cause;
        member->status = wanted->unwound.status;
        member->attachment = wanted->unwound.attachment;
        roster->failed += wanted->state == UNWIND_FAILED;
        member->tick = roster->tick;
    }
    return there;
}

/* Those that were not read have not moved. */
static void repeat_others(struct thread_list *roster)
{
    for (size_t i = 0; i < roster->asked_count; i++) {
        struct member *member = &roster->members[roster->asked[i]];
        if (member->tick == roster->tick)
            continue;
        member->tick = roster->tick;
        member->state = UNWOUND;
        roster->unwinder.figures.full++;
        roster->unwinder.figures.unmoved++;
        roster->unwinder.figures.frames_known += member->walk.depth;
    }
}

/* Without a lock, the threads that are attached stand for those that hold one. All have to be read to know. */
static void keep_attached(struct thread_list *roster)
{
    size_t kept = 0;
    for (size_t i = 0; i < roster->asked_count; i++)
        if (roster->members[roster->asked[i]].attachment == THREAD_ATTACHED)
            roster->asked[kept++] = roster->asked[i];
    roster->asked_count = kept;
}

/* Reads those that moved, and those that moved while they were read. */
static enum roster_state read_threads(struct thread_list *roster, uint64_t now_ns)
{
    for (int pass = 0; pass <= PASSES; pass++) {
        if (roster->rests)
            choose_recent(roster);
        else
            choose(roster, pass == PASSES);
        if (pass > 0 && roster->wanted_count == 0)
            return ROSTER_READ;
        bool same;
        if (!unwind_threads(&roster->unwinder, roster->wanted, roster->wanted_count,
                            pass == 0 ? now_ns : clock_now_ns(), &same))
            return ROSTER_GONE;
        const bool there = take_over(roster);
        if (!same || !there)
            return ROSTER_TORN;
    }
    return ROSTER_READ;
}

enum roster_state thread_list_read(struct thread_list *roster, uint64_t now_ns)
{
    enum roster_state state = ROSTER_TORN;
    const bool attached_only = roster->which == THREADS_GIL && is_without_lock(roster);
    roster->tick++;
    roster->failed = 0;
    if (attached_only)
        ask_for_listed(roster);
    const bool listed = roster->listed;
    const int attempts = roster->unwinder.still ? STILL_LISTS : LIST_ATTEMPTS;
    for (int i = 0; i < attempts && state == ROSTER_TORN; i++) {
        state = roster->listed ? ROSTER_READ : make_list(roster);
        roster->rests = roster->defers && roster->unwinder.still && roster->which == THREADS_ALL &&
                        roster->asked_count > ROSTER_FIRST;
        if (state == ROSTER_READ)
            state = read_threads(roster, i == 0 && listed ? now_ns : clock_now_ns());
        if (state == ROSTER_TORN)
            roster->listed = false;
    }
    if (state == ROSTER_READ && !roster->rests)
        repeat_others(roster);
    if (state == ROSTER_READ && attached_only)
        keep_attached(roster);
    return state;
}

/* How many of those that were read just now may have moved since the lock was as in `then`. */
static size_t count_moved(const struct thread_list *roster, const struct gil *then)
{
    size_t moved = 0;
    for (size_t i = 0; i < roster->wanted_count; i++) {
        const struct gil *now = &roster->target->interpreters[roster->wanted[i].interpreter].gil;
        moved += !now->known || now->switches - then->switches > 1 || now->holder == roster->wanted[i].thread;
    }
    return moved;
}

enum roster_state thread_list_rest(struct thread_list *roster, uint64_t now_ns)
{
    const struct gil then = roster->target->interpreters[0].gil;
    bool same = true;
    roster->moved = 0;
    if (!roster->rests)
        return ROSTER_READ;
    roster->rests = false;
    choose(roster, false);
    if (!unwind_threads(&roster->unwinder, roster->wanted, roster->wanted_count, now_ns, &same))
        return ROSTER_GONE;
    roster->moved = count_moved(roster, &then);
    if (!take_over(roster) || !same)
        thread_list_distrust(roster); /* for the next tick: threads that came or went since are not of this one */
    for (size_t i = 0; i < roster->target->interpreters_count; i++)
        roster->target->interpreters[i].gil = then;
    repeat_others(roster);
    return ROSTER_READ;
}

static const struct member *listed_at(const struct thread_list *roster, uint64_t thread)
{
    const uint32_t place = intern_pairs_find(&roster->addresses, (uint32_t)(thread >> 32), (uint32_t)thread);
    return place && roster->members[place - 1].listed == roster->list ? &roster->members[place - 1] : NULL;
}

uint64_t thread_list_pointer(const struct thread_list *roster, uint64_t thread)
{
    const struct member *member = listed_at(roster, thread);
    return member ? member->pointer : 0;
}

uint32_t thread_list_native_id(const struct thread_list *roster, uint64_t thread)
{
    const struct member *member = listed_at(roster, thread);
    return member ? member->native_id : 0;
}

bool thread_list_placed(const struct thread_list *roster, const struct member *member)
{
    return roster->whole && member->listed == roster->list;
}

void thread_list_repeat(struct thread_list *roster)
{
    roster->tick++;
    repeat_others(roster);
}
