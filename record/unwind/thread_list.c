/* SPDX-License-Identifier: MIT */
#include "record/unwind/thread_list.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_LIMIT 8192 /* of a target */
#define LIST_ATTEMPTS 3    /* to read a list anew: where the program stands still, a torn list stays torn */
#define PASSES        4    /* rounds of reading; each reads the threads that moved during the last one */

const char *const threads_names[THREADS_KINDS] = { "all", "main", "gil" };

void thread_list_open(struct thread_list *thread_list, struct target *target, struct codes *codes, enum threads which,
                      bool anew)
{
    *thread_list = (struct thread_list){ .target = target, .which = which };
    unwinder_open(&thread_list->unwinder, target, codes, anew);
}

void thread_list_close(struct thread_list *thread_list)
{
    if (!thread_list->target)
        return;
    for (size_t i = 0; i < thread_list->members_count; i++)
        walk_free(&thread_list->members[i].walk);
    unwinder_close(&thread_list->unwinder);
    free(thread_list->members);
    intern_pairs_free(&thread_list->addresses);
    free(thread_list->order);
    free(thread_list->asked);
    free(thread_list->wanted);
    free(thread_list->wanted_members);
    *thread_list = (struct thread_list){ 0 };
}

void thread_list_distrust(struct thread_list *thread_list)
{
    thread_list->listed = false;
}

/* ---- the lists ---- */

/* The index of the member for a thread state at an address; adds the member if there is none. */
static uint32_t member_at(struct thread_list *thread_list, uint64_t address)
{
    bool added;
    const uint32_t number = intern_pairs_number(&thread_list->addresses, (uint32_t)(address >> 32), (uint32_t)address,
                                                &added);
    if (added) {
        thread_list->members = alloc_grow(thread_list->members, &thread_list->members_room, number,
                                          sizeof(struct member));
        thread_list->members[number - 1] = (struct member){ .address = address };
        thread_list->members_count = number;
    }
    return number - 1;
}

/* The states of the threads in the last order, read with one call. */
struct heads {
    unsigned char *bytes; /* layout->thread_size of each */
    size_t good;          /* this many of them were readable */
};

/* The state of the thread at `address` if the last order had it; NULL: it had not. */
static const unsigned char *expected_head(const struct thread_list *thread_list, const struct heads *heads,
                                          uint64_t address)
{
    const uint32_t number = intern_pairs_find(&thread_list->addresses, (uint32_t)(address >> 32), (uint32_t)address);
    const struct member *member = number ? &thread_list->members[number - 1] : NULL;
    if (!member || member->listed + 1 != thread_list->list || member->place >= heads->good)
        return NULL;
    return heads->bytes + member->place * thread_list->target->runtime.layout.thread_size;
}

static struct heads read_expected_heads(struct thread_list *thread_list)
{
    const struct layout *l = &thread_list->target->runtime.layout;
    const size_t count = thread_list->order_count < REMOTE_PIECES ? thread_list->order_count : REMOTE_PIECES;
    struct heads heads = { alloc_zeroed(count + 1, l->thread_size), 0 };
    struct batch *batch = thread_list->unwinder.batch;
    batch->count = 0;
    for (size_t i = 0; i < count; i++)
        batch_add(batch, thread_list->members[thread_list->order[i]].address, l->thread_size,
                  heads.bytes + i * l->thread_size);
    if (count > 0)
        remote_read_pieces(&thread_list->target->remote, batch->pieces, batch->count, &heads.good);
    return heads;
}

/* Follows the list of an interpreter's threads. Returns false when the list changed on the way. A thread may stand in
 * the middle of a change: CPython links a new state, and unlinks an old one, forwards with a single store. So the way
 * forwards is right at each moment, and the links backwards are not compared with it. */
static bool thread_list_follow(struct thread_list *thread_list, size_t interpreter, const struct heads *heads,
                               uint32_t **order, size_t *count, size_t *room)
{
    const struct layout *l = &thread_list->target->runtime.layout;
    const uint64_t owner = thread_list->target->interpreters[interpreter].address;
    const uint64_t id = thread_list->target->interpreters[interpreter].id;
    for (uint64_t at = thread_list->target->interpreters[interpreter].threads_head, next; at; at = next) {
        unsigned char bytes[LAYOUT_THREAD_MAX];
        const unsigned char *head = expected_head(thread_list, heads, at);
        if (!head) {
            if (remote_read(&thread_list->target->remote, at, bytes, l->thread_size) != REMOTE_READ)
                return false;
            head = bytes;
        }
        if (word_at(head, l->thread_interpreter) != owner || *count == THREADS_LIMIT)
            return false;
        next = word_at(head, l->thread_next);
        const uint32_t index = member_at(thread_list, at);
        struct member *member = &thread_list->members[index];
        if (member->listed == thread_list->list) /* a ring */
            return false;
        const uint32_t native_id = (uint32_t)word_at(head, l->thread_native_id);
        /* Another thread or interpreter has the address: the thread must not be taken for one that has not moved. */
        if (native_id != member->native_id || member->interpreter_id != id) {
            walk_free(&member->walk);
            member->tick = 0;
            member->proved_id = 0;
            member->catchable = member->left_out = false;
        }
        member->interpreter = interpreter;
        member->interpreter_id = id;
        member->previous = word_at(head, l->thread_prev);
        member->next = next;
        member->native_id = native_id;
        member->pointer = word_at(head, l->thread_id);
        member->listed = thread_list->list;
        member->place = *count;
        *order = alloc_grow(*order, room, *count + 1, sizeof(**order));
        (*order)[(*count)++] = index;
    }
    return true;
}

static bool member_is_main(const struct thread_list *thread_list, const struct member *member)
{
    return member_number(member) == (uint32_t)thread_list->target->ns_pid;
}

static void member_ask_for(struct thread_list *thread_list, uint32_t index)
{
    thread_list->asked = alloc_grow(thread_list->asked, &thread_list->asked_room, thread_list->asked_count + 1,
                                    sizeof(*thread_list->asked));
    thread_list->asked[thread_list->asked_count++] = index;
}

/* Whether a listed thread is asked for, as far as that does not depend on what it does. */
static bool member_is_asked_for(const struct thread_list *thread_list, const struct member *member)
{
    return (thread_list->which != THREADS_MAIN || member_is_main(thread_list, member)) && !member->left_out;
}

/* Asks for all listed threads, for the main one, or for those that are not left out. */
static void ask_for_listed(struct thread_list *thread_list)
{
    thread_list->asked_count = 0;
    for (size_t i = 0; i < thread_list->order_count; i++)
        if (member_is_asked_for(thread_list, &thread_list->members[thread_list->order[i]]))
            member_ask_for(thread_list, thread_list->order[i]);
}

/* Links the states of each thread that has states in several interpreters. */
static void link_twins(struct thread_list *thread_list)
{
    struct intern_pairs threads = { 0 }; /* number of a thread → index in `members` + 1 of one of its states */
    for (size_t i = 0; i < thread_list->members_count; i++)
        thread_list->members[i].twin = 0; /* also of unlisted members, which may be part of a ring */
    if (thread_list->target->interpreters_count < 2)
        return;
    for (size_t i = 0; i < thread_list->order_count; i++) {
        const uint32_t index = thread_list->order[i];
        struct member *member = &thread_list->members[index];
        const uint32_t other = intern_pairs_find(&threads, member_number(member), 0);
        member->twin = other ? thread_list->members[other - 1].twin : index + 1;
        if (other)
            thread_list->members[other - 1].twin = index + 1;
        else
            intern_pairs_add(&threads, member_number(member), 0, index + 1);
    }
    intern_pairs_free(&threads);
}

void thread_list_ask_anew(struct thread_list *thread_list)
{
    link_twins(thread_list);
    ask_for_listed(thread_list);
}

/* Reads the lists, and sets `order` to their order. */
static enum thread_list_state make_list(struct thread_list *thread_list)
{
    thread_list->whole = false;
    switch (target_read_interpreters(thread_list->target)) {
    case REMOTE_READ:
        break;
    case REMOTE_UNREADABLE:
        return THREAD_LIST_TORN;
    default:
        return THREAD_LIST_GONE;
    }
    const struct heads heads = read_expected_heads(thread_list);
    uint32_t *order = NULL;
    size_t count = 0, room = 0;
    bool whole = true;
    thread_list->list++;
    thread_list->turns++;
    for (size_t i = 0; whole && i < thread_list->target->interpreters_count; i++)
        whole = thread_list_follow(thread_list, i, &heads, &order, &count, &room);
    free(heads.bytes);
    free(thread_list->order);
    thread_list->order = order;
    thread_list->order_count = count;
    thread_list->order_room = room;
    thread_list->whole = whole;
    thread_list->listed = whole && target_knows_locks(thread_list->target);
    thread_list_ask_anew(thread_list);
    return whole ? THREAD_LIST_READ : THREAD_LIST_TORN;
}

/* ---- the threads' stacks ---- */

static bool is_without_lock(const struct thread_list *thread_list)
{
    return thread_list->target->runtime.layout.free_threaded;
}

/* Asks for all states of the thread that has a state. */
static void ask_for_thread(struct thread_list *thread_list, uint32_t index)
{
    uint32_t other = index;
    do {
        /* Read while the program runs, two interpreters may seem to be held by one thread. */
        if (thread_list->members[other].chosen != thread_list->choice)
            member_ask_for(thread_list, other);
        thread_list->members[other].chosen = thread_list->choice;
        other = thread_list->members[other].twin ? thread_list->members[other].twin - 1 : index;
    } while (other != index);
}

/* Asks for the threads that hold a lock, by the state that was read last. */
static void ask_for_holders(struct thread_list *thread_list)
{
    thread_list->asked_count = 0;
    thread_list->choice++;
    for (size_t i = 0; i < thread_list->target->interpreters_count; i++) {
        const struct gil *gil = &thread_list->target->interpreters[i].gil;
        const uint32_t index = gil->locked ? intern_pairs_find(&thread_list->addresses, (uint32_t)(gil->holder >> 32),
                                                               (uint32_t)gil->holder)
                                           : 0;
        const struct member *member = index ? &thread_list->members[index - 1] : NULL;
        if (member && member->listed == thread_list->list && member->interpreter == i)
            ask_for_thread(thread_list, index - 1);
    }
}

bool thread_list_holds(const struct thread_list *thread_list, const struct member *member)
{
    const struct gil *gil = &thread_list->target->interpreters[member->interpreter].gil;
    if (thread_list->target->runtime.layout.thread_attachment)
        return member->attachment == THREAD_ATTACHED;
    return gil->known && gil->locked && gil->holder == member->address;
}

bool thread_list_is_inside(const struct thread_list *thread_list, const struct member *inner,
                           const struct member *outer)
{
    const struct layout *l = &thread_list->target->runtime.layout;
    const uint64_t at = walk_stack_address(&inner->walk, l), outer_at = walk_stack_address(&outer->walk, l);
    if (thread_list_holds(thread_list, inner) != thread_list_holds(thread_list, outer))
        return thread_list_holds(thread_list, inner);
    return at && outer_at ? at < outer_at : inner->interpreter_id > outer->interpreter_id;
}

static bool walk_has_frame(const struct walk *walk, uint64_t frame)
{
    for (uint32_t i = walk->depth; i > 0; i--)
        if (walk->links[i - 1].address == frame)
            return true;
    return false;
}

/* Whether all other threads of the member's interpreter were suspended in this tick. */
static bool has_suspended_others(const struct thread_list *thread_list, const struct member *member)
{
    for (size_t i = 0; i < thread_list->order_count; i++) {
        const struct member *other = &thread_list->members[thread_list->order[i]];
        const bool suspended = other->attachment == THREAD_SUSPENDED || other->attachment == THREAD_SUSPENDED_WAITING;
        if (other != member && other->interpreter == member->interpreter &&
            (other->tick != thread_list->tick || !suspended))
            return false;
    }
    return true;
}

bool thread_list_collects(const struct thread_list *thread_list, const struct member *member)
{
    const struct layout *l = &thread_list->target->runtime.layout;
    const struct interpreter *interpreter = &thread_list->target->interpreters[member->interpreter];
    if (!interpreter->collecting || !thread_list_holds(thread_list, member))
        return false;
    if (!l->free_threaded)
        return true;
    return l->gc_frame ? walk_has_frame(&member->walk, interpreter->gc_frame)
                       : has_suspended_others(thread_list, member);
}

/* Adds the member at an index to those that are read next. */
static void want(struct thread_list *thread_list, uint32_t index)
{
    struct member *member = &thread_list->members[index];
    const size_t count = thread_list->wanted_count + 1;
    thread_list->wanted = alloc_grow(thread_list->wanted, &thread_list->wanted_room, count,
                                     sizeof(*thread_list->wanted));
    thread_list->wanted_members = alloc_grow(thread_list->wanted_members, &thread_list->wanted_members_room, count,
                                             sizeof(*thread_list->wanted_members));
    thread_list->wanted[thread_list->wanted_count] = (struct wanted){ .walk = &member->walk,
                                                                      .thread = member->address,
                                                                      .interpreter = member->interpreter };
    thread_list->wanted_members[thread_list->wanted_count++] = index;
}

/* Whether the kernel says that a thread has slept since it was read. That takes a tenth of the time of reading it, and
 * is worth asking where many threads seem to have moved since the lock went from hand to hand. */
static bool has_slept(struct thread_list *thread_list, uint32_t index, uint64_t now_ns)
{
    struct member *member = &thread_list->members[index];
    if (!thread_list->sleeps_on || thread_list->asked_count < THREAD_LIST_MANY || thread_list->unwinder.walker.anew)
        return false;
    const bool sleeps = thread_list->sleeps_on(thread_list->self, index, &member->mark);
    const bool same = member->mark.runs > 0 && member->mark.runs == member->read_mark.runs &&
                      member->mark.ran_ns == member->read_mark.ran_ns;
    member->marked = thread_list->tick;
    if (!same || (!sleeps && now_ns < member->read_ns + CPU_TICK_NS) || member->state != UNWIND_DONE ||
        !member->walk.sampled)
        return false;
    member->walk.since = thread_list->target->interpreters[member->interpreter].gil;
    return true;
}

/* Whether a thread may have moved since it was read. */
static bool may_have_moved(struct thread_list *thread_list, uint32_t index, uint64_t now_ns)
{
    struct member *member = &thread_list->members[index];
    const struct interpreter *interpreter = &thread_list->target->interpreters[member->interpreter];
    return !unwind_unmoved(&thread_list->unwinder, &member->walk, interpreter, member->address) &&
           !has_slept(thread_list, index, now_ns);
}

/* Chooses the threads to read: those that were asked for, were not read in this tick, and may have moved. `all`: also
 * those that have not moved. */
static void thread_list_choose(struct thread_list *thread_list, bool all, uint64_t now_ns)
{
    thread_list->wanted_count = 0;
    if (thread_list->which == THREADS_GIL && !is_without_lock(thread_list))
        ask_for_holders(thread_list);
    for (size_t i = 0; i < thread_list->asked_count; i++) {
        const uint32_t index = thread_list->asked[i];
        if (thread_list->members[index].tick != thread_list->tick &&
            (all || may_have_moved(thread_list, index, now_ns)))
            want(thread_list, index);
    }
}

void thread_list_note_recent(struct thread_list *thread_list, uint32_t index)
{
    uint32_t at = 0;
    while (at < THREAD_LIST_FIRST - 1 && thread_list->recent[at] != index + 1)
        at++;
    for (; at > 0; at--)
        thread_list->recent[at] = thread_list->recent[at - 1];
    thread_list->recent[0] = index + 1;
}

/* Puts the holder of each lock in front of the threads that had it lately. */
static void note_holders(struct thread_list *thread_list)
{
    for (size_t i = 0; i < thread_list->target->interpreters_count; i++) {
        const uint64_t holder = thread_list->target->interpreters[i].gil.holder;
        const uint32_t index = intern_pairs_find(&thread_list->addresses, (uint32_t)(holder >> 32), (uint32_t)holder);
        if (index)
            thread_list_note_recent(thread_list, index - 1);
    }
}

/* Chooses threads as thread_list_choose() does, but only those that had the lock lately. */
static void choose_recent(struct thread_list *thread_list, uint64_t now_ns)
{
    thread_list->wanted_count = 0;
    note_holders(thread_list);
    for (size_t i = 0; i < THREAD_LIST_FIRST && thread_list->recent[i]; i++) {
        const uint32_t index = thread_list->recent[i] - 1;
        const struct member *member = &thread_list->members[index];
        if (member->listed == thread_list->list && member->tick != thread_list->tick &&
            may_have_moved(thread_list, index, now_ns))
            want(thread_list, index);
    }
}

/* Copies the results of reading into the members. Returns false when a thread is gone or has other neighbours than in
 * the list. */
static bool thread_list_take_over(struct thread_list *thread_list, uint64_t now_ns)
{
    bool there = true;
    for (size_t i = 0; i < thread_list->wanted_count; i++) {
        const struct wanted *wanted = &thread_list->wanted[i];
        struct member *member = &thread_list->members[thread_list->wanted_members[i]];
        if (wanted->state == UNWIND_ELSEWHERE) {
            there = false;
            continue;
        }
        there &= wanted->unwound.previous_thread == member->previous && wanted->unwound.next_thread == member->next;
        member->pointer = wanted->unwound.pointer;
        if (member->native_id != wanted->unwound.native_id) {
            member->proved_id = 0;
            thread_list->turns++;
        }
        member->native_id = wanted->unwound.native_id;
        member->state = wanted->state;
        member->cause = wanted->unwound.cause;
        member->status = wanted->unwound.status;
        member->attachment = wanted->unwound.attachment;
        thread_list->failed += wanted->state == UNWIND_FAILED;
        member->tick = thread_list->tick;
        member->read_ns = now_ns;
        member->read_mark = member->marked == thread_list->tick ? member->mark : (struct cpu_mark){ 0 };
    }
    return there;
}

/* Counts the threads that were not read: they have not moved, so their last stack is this tick's. */
static void repeat_others(struct thread_list *thread_list)
{
    for (size_t i = 0; i < thread_list->asked_count; i++) {
        struct member *member = &thread_list->members[thread_list->asked[i]];
        if (member->tick == thread_list->tick)
            continue;
        member->tick = thread_list->tick;
        member->state = UNWIND_DONE;
        thread_list->unwinder.counters.full++;
        thread_list->unwinder.counters.unmoved++;
        thread_list->unwinder.counters.frames_known += member->walk.depth;
    }
}

/* Whether the thread is attached to an interpreter with one of its states. */
static bool is_attached(const struct thread_list *thread_list, const struct member *member)
{
    const struct member *state = member;
    while (state->attachment != THREAD_ATTACHED && state->twin && &thread_list->members[state->twin - 1] != member)
        state = &thread_list->members[state->twin - 1];
    return state->attachment == THREAD_ATTACHED;
}

/* In a free-threaded build, THREADS_GIL means the attached threads. All threads have to be read to know which are
 * attached. */
static void keep_attached(struct thread_list *thread_list)
{
    size_t kept = 0;
    for (size_t i = 0; i < thread_list->asked_count; i++)
        if (is_attached(thread_list, &thread_list->members[thread_list->asked[i]]))
            thread_list->asked[kept++] = thread_list->asked[i];
    thread_list->asked_count = kept;
}

/* Reads the threads that moved, then those that moved meanwhile, up to PASSES times. */
static enum thread_list_state thread_list_read_moved(struct thread_list *thread_list, uint64_t now_ns)
{
    for (int pass = 0; pass <= PASSES; pass++) {
        if (thread_list->rests)
            choose_recent(thread_list, now_ns);
        else
            thread_list_choose(thread_list, pass == PASSES, now_ns);
        if (pass > 0 && thread_list->wanted_count == 0)
            return THREAD_LIST_READ;
        bool same;
        if (!unwind_threads(&thread_list->unwinder, thread_list->wanted, thread_list->wanted_count,
                            pass == 0 ? now_ns : clock_now_ns(), &same))
            return THREAD_LIST_GONE;
        const bool there = thread_list_take_over(thread_list, now_ns);
        if (!same || !there)
            return THREAD_LIST_TORN;
    }
    return THREAD_LIST_READ;
}

bool thread_list_is_long(const struct thread_list *thread_list)
{
    return thread_list->defers && thread_list->which == THREADS_ALL && thread_list->asked_count > THREAD_LIST_FIRST;
}

enum thread_list_state thread_list_read(struct thread_list *thread_list, uint64_t now_ns)
{
    enum thread_list_state state = THREAD_LIST_TORN;
    const bool attached_only = thread_list->which == THREADS_GIL && is_without_lock(thread_list);
    thread_list->tick++;
    thread_list->failed = 0;
    if (attached_only)
        ask_for_listed(thread_list);
    const bool listed = thread_list->listed;
    for (int i = 0; i < LIST_ATTEMPTS && state == THREAD_LIST_TORN; i++) {
        state = thread_list->listed ? THREAD_LIST_READ : make_list(thread_list);
        thread_list->rests = thread_list_is_long(thread_list);
        if (state == THREAD_LIST_READ)
            state = thread_list_read_moved(thread_list, i == 0 && listed ? now_ns : clock_now_ns());
        if (state == THREAD_LIST_TORN)
            thread_list->listed = false;
    }
    if (state == THREAD_LIST_READ && !thread_list->rests)
        repeat_others(thread_list);
    if (state == THREAD_LIST_READ && attached_only)
        keep_attached(thread_list);
    return state;
}

/* How many of the threads that were read just now may have moved since the locks had the states `then`. Notes those
 * that run without a lock: the next look reads them at its moment. */
static size_t count_moved(struct thread_list *thread_list, const struct gil *then)
{
    size_t moved = 0;
    for (size_t i = 0; i < thread_list->wanted_count; i++) {
        const struct wanted *wanted = &thread_list->wanted[i];
        const struct gil *now = &thread_list->target->interpreters[wanted->interpreter].gil;
        moved += !now->known || now->switches - then[wanted->interpreter].switches > 1 || now->holder == wanted->thread;
        if (wanted->unwound.attachment == THREAD_ATTACHED)
            thread_list_note_recent(thread_list, thread_list->wanted_members[i]);
    }
    return moved;
}

enum thread_list_state thread_list_rest(struct thread_list *thread_list, uint64_t now_ns)
{
    struct target *target = thread_list->target;
    struct gil then[TARGET_INTERPRETERS];
    bool same = true;
    thread_list->moved = 0;
    if (!thread_list->rests)
        return THREAD_LIST_READ;
    thread_list->rests = false;
    for (size_t i = 0; i < target->interpreters_count; i++)
        then[i] = target->interpreters[i].gil;
    thread_list_choose(thread_list, false, now_ns);
    if (!unwind_threads(&thread_list->unwinder, thread_list->wanted, thread_list->wanted_count, now_ns, &same))
        return THREAD_LIST_GONE;
    thread_list->moved = count_moved(thread_list, then);
    if (!thread_list_take_over(thread_list, now_ns) || !same)
        thread_list_distrust(
            thread_list); /* read the lists anew in the next tick: new threads do not belong to this one */
    for (size_t i = 0; i < target->interpreters_count; i++)
        target->interpreters[i].gil = then[i];
    repeat_others(thread_list);
    return THREAD_LIST_READ;
}

/* The listed member for a thread state at an address; NULL: none. */
static const struct member *listed_at(const struct thread_list *thread_list, uint64_t thread)
{
    const uint32_t index = intern_pairs_find(&thread_list->addresses, (uint32_t)(thread >> 32), (uint32_t)thread);
    return index && thread_list->members[index - 1].listed == thread_list->list ? &thread_list->members[index - 1]
                                                                                : NULL;
}

const struct member *thread_list_member(const struct thread_list *thread_list, uint64_t thread)
{
    return listed_at(thread_list, thread);
}

uint64_t thread_list_pointer(const struct thread_list *thread_list, uint64_t thread)
{
    const struct member *member = listed_at(thread_list, thread);
    return member ? member->pointer : 0;
}

uint32_t thread_list_native_id(const struct thread_list *thread_list, uint64_t thread)
{
    const struct member *member = listed_at(thread_list, thread);
    return member ? member_number(member) : 0;
}

bool thread_list_placed(const struct thread_list *thread_list, const struct member *member)
{
    return thread_list->whole && member->listed == thread_list->list;
}

void thread_list_repeat(struct thread_list *thread_list)
{
    thread_list->tick++;
    repeat_others(thread_list);
}
