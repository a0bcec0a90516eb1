/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_threads.h"

#include "formats/base/alloc.h"
#include "formats/names/name_list.h"
#include "record/asyncio/await_graph.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "record/watch/state_owner.h"
#include "record/watch/watched_names.h"
#include "record/watch/watched_natives.h"
#include "record/watch/watched_tasks.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_OUT_NS   500000000   /* ticks that were left out are emitted after this time at the latest */
#define OWNER_WAIT_NS 1000000u    /* the thread of a state is searched again after this, then after twice as long */
#define OWNER_MOST_NS 1000000000u /* longest wait */
#define JUDGE_WAIT_NS                                                                                                  \
    10000000u /* a thread whose name does not match is looked up again after this, then after twice as long, ... */
#define JUDGE_MOST_NS   1000000000u /* ... up to this */
#define JUDGED_NS       160000000u  /* after a lookup with such a wait behind it, the thread is not read */
#define LIVE_NS         1000000000u /* how often to ask whether threads still live where samples do not show it */
#define ENDED_WAIT_NS   8000000u    /* the same of a state that a thread left behind: another one may take it */
#define STACK_PART      65536       /* bytes of a C stack around an address of unknown owner */
#define NATIVES_AT_ONCE 4           /* native threads whose C functions are looked at in a tick */
#define POST_OTHERS     16          /* so many threads that slept at the last look are asked while the program waits */
#define ROWS_GONE_LEAST 1024        /* rows in rows.index of threads that have ended, before they are removed */

/* ---- threads ---- */

/* Forgets the rows of threads that have ended: a program may start threads for days. */
static void thread_rows_trim(struct watched *w)
{
    if (w->rows.index.count < 2 * w->rows.threads_count + ROWS_GONE_LEAST)
        return;
    intern_pairs_free(&w->rows.index);
    for (size_t i = 0; i < w->rows.threads_count; i++)
        if (w->rows.threads[i].number)
            intern_pairs_add(&w->rows.index, w->rows.threads[i].native_id, 0, (uint32_t)i + 1);
}

struct emitted_thread *watched_threads_row(const struct watched *w, uint32_t native_id)
{
    const uint32_t number = intern_pairs_find(&w->rows.index, native_id, 0);
    struct emitted_thread *row = number ? &w->rows.threads[number - 1] : NULL;
    return row && row->number && row->native_id == native_id ? row : NULL;
}

/* Makes a row for a thread that has none. Returns its index + 1. */
static uint32_t thread_row_add(struct watched *w, uint32_t native_id)
{
    size_t row = 0;
    while (row < w->rows.threads_count && w->rows.threads[row].number)
        row++;
    if (row == w->rows.threads_count) {
        w->rows.threads = alloc_grow(w->rows.threads, &w->rows.threads_room, row + 1, sizeof(*w->rows.threads));
        w->rows.threads[w->rows.threads_count++] = (struct emitted_thread){ 0 };
    }
    thread_rows_trim(w);
    if (intern_pairs_find(&w->rows.index, native_id, 0))
        intern_pairs_slot(&w->rows.index, native_id, 0)->number = (uint32_t)row + 1;
    else
        intern_pairs_add(&w->rows.index, native_id, 0, (uint32_t)row + 1);
    return (uint32_t)row + 1;
}

/* Emits EVENT_LEFT_OUT: the ticks that read the thread and, because of the mode, made no sample. */
static void emit_left_out(struct watched *w, struct emitted_thread *thread)
{
    struct left_out *left_out = &thread->watch.left_out;
    if (left_out->ticks == 0)
        return;
    left_out->thread = thread->number;
    emitter_note(w->emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = *left_out });
    *left_out = (struct left_out){ 0 };
}

/* Emits the CPU time that no sample has, at the end of a thread or of the stream. */
static void emit_owed(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    const struct left_out left_out = { .thread = thread->number, .time_ns = time_ns, .cpu_ns = thread->owed_ns };
    if (thread->owed_ns)
        emitter_note(w->emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = left_out });
    thread->owed_ns = 0;
}

static void thread_leave_out(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    struct left_out *left_out = &thread->watch.left_out;
    if (left_out->ticks == 0)
        thread->left_out_since_ns = time_ns;
    left_out->ticks++;
    left_out->time_ns = time_ns;
    left_out->cpu_ns += thread->watch.cpu_ns + thread->owed_ns;
    thread->owed_ns = 0;
    if (time_ns - thread->left_out_since_ns >= LEFT_OUT_NS)
        emit_left_out(w, thread);
}

/* The next sample has the whole stack. */
static void forget_shown(struct emitted_thread *thread)
{
    synthetic_frames_free(&thread->expansion);
    thread->emitted.count = 0;
    thread->shown = 0;
}

void watched_threads_end_one(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    if (!thread->number)
        return;
    emit_left_out(w, thread);
    thread->owed_ns += thread_status_take_unused_ns(&thread->watch);
    emit_owed(w, thread, time_ns);
    thread_status_watch_close(&w->statuses, &thread->watch);
    c_frames_forget(w->c_frames, thread->tid);
    forget_shown(thread);
    const struct change change = { .number = thread->number, .time_ns = time_ns };
    emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_END, .change = change });
    watched_names_end(w, thread);
    watched_natives_leave(w, thread);
    thread->number = thread->serial = 0;
}

/* Emits the definition of a thread, with the next number. */
static void define_thread(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    const enum main_thread main = !watched_is_main(w, thread->native_id) ? MAIN_NOT
                                  : thread->own_name                     ? MAIN_THREAD_NAMED
                                                                         : MAIN_THREAD;
    thread->number = ++w->emitter->last_thread;
    emitter_serial(w->emitter, SERIAL_THREAD, thread->number, &thread->serial);
    emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD,
                                             .thread = { .number = thread->number,
                                                         .process = w->number,
                                                         .tid = (uint32_t)thread->tid,
                                                         .main = main,
                                                         .interpreter = thread->interpreter_id,
                                                         .start_ns = time_ns,
                                                         .name = thread->name } });
}

/* Begins a thread. `member` is its state in `interpreter_id` if that tells its name; else NULL. `name`: what the kernel
 * called the thread, which becomes the row's; empty: it can still be asked. */
static struct emitted_thread *begin_row(struct watched *w, const struct member *member, uint64_t interpreter_id,
                                        uint32_t native_id, pid_t tid, struct text name, uint64_t time_ns)
{
    const uint32_t row = thread_row_add(w, native_id);
    struct emitted_thread *thread = &w->rows.threads[row - 1];
    thread->native_id = native_id;
    thread->interpreter_id = interpreter_id;
    thread->tid = tid;
    thread->states = 0;
    thread->tick = 0;
    thread->left = false;
    watched_names_begin(w, member, thread, time_ns);
    if (name.size > 0) {
        text_free(thread->name);
        thread->name = name;
    }
    define_thread(w, thread, time_ns);
    return thread;
}

/* Begins to ask what the thread does, whether or not its sample fails: its CPU time so far is told now. */
static void open_watch(struct watched *w, struct emitted_thread *thread)
{
    if (w->options->with_status && w->statuses.ask_cpu)
        thread_status_watch_open(&w->statuses, &thread->watch, thread->tid);
}

/* Begins a thread. `member` is its first state. */
static struct emitted_thread *begin_thread(struct watched *w, const struct member *member, uint32_t native_id,
                                           uint64_t time_ns)
{
    const struct member *named = w->rows.states[member - w->thread_list.members].lent ? NULL : member;
    struct emitted_thread *thread = begin_row(w, named, member->interpreter_id, native_id,
                                              watched_host_thread(w, native_id), (struct text){ 0 }, time_ns);
    thread->watch.told_ns = watched_natives_adopt(w, native_id, NULL);
    open_watch(w, thread);
    return thread;
}

struct emitted_thread *watched_threads_begin_native(struct watched *w, uint32_t native_id, pid_t tid, struct text name,
                                                    uint64_t time_ns)
{
    return begin_row(w, NULL, 0, native_id, tid, name, time_ns);
}

/* ---- the states of threads ---- */

static struct thread_state *watched_state(struct watched *w, uint32_t index)
{
    if (index >= w->rows.states_count) {
        w->rows.states = alloc_grow(w->rows.states, &w->rows.states_room, (size_t)index + 1, sizeof(*w->rows.states));
        memset(w->rows.states + w->rows.states_count, 0, (index + 1 - w->rows.states_count) * sizeof(*w->rows.states));
        w->rows.states_count = (size_t)index + 1;
    }
    return &w->rows.states[index];
}

/* Takes a state away from its thread. The thread lives on, unless the kernel says that it has ended. */
static void state_leave(struct watched *w, uint32_t index)
{
    struct emitted_thread *thread = watched_thread_of(w, index);
    if (thread) {
        thread->states--;
        thread->left = true;
        if (thread->shown == index + 1)
            forget_shown(thread);
        if (thread->states == 0)
            watched_names_rest(w, thread);
    }
    *watched_state(w, index) = (struct thread_state){ 0 };
}

/* Whether the row is about the state that the list has now: another state may have got the address, and the thread of a
 * state may note another number. */
static bool state_is_of(const struct thread_state *state, const struct member *member)
{
    return state->native_id == member->native_id && state->interpreter_id == member->interpreter_id;
}

/* Finds which thread has a state. Its number in the state is not believed in the first look at a process, and after the
 * kernel did not know the number. */
static void state_find_owner(struct watched *w, uint32_t index, uint64_t time_ns)
{
    struct member *member = &w->thread_list.members[index];
    struct thread_state *state = watched_state(w, index);
    const bool again = state_is_of(state, member);
    if (again && (state->owner || time_ns < state->due_ns))
        return;
    const uint64_t waited_ns = again && !state->ended ? state->wait_ns : 0, twice_ns = 2 * waited_ns;
    state_leave(w, index);
    state->native_id = member->native_id;
    state->interpreter_id = member->interpreter_id;
    state->owner = state_owner_find(w, member, !w->rows.looked || waited_ns > 0);
    member->proved_id = state->owner == member->native_id ? 0 : state->owner;
    state->wait_ns = twice_ns == 0 ? OWNER_WAIT_NS : twice_ns < OWNER_MOST_NS ? twice_ns : OWNER_MOST_NS;
    /* A thread that begins notes its number soon. Each look sees that without a search. */
    state->due_ns = member->native_id ? time_ns + state->wait_ns : UINT64_MAX;
}

/* Gives a state to its thread, which may be new. */
static void state_join(struct watched *w, uint32_t index, uint64_t time_ns)
{
    struct member *member = &w->thread_list.members[index];
    const uint32_t owner = watched_state(w, index)->owner;
    struct emitted_thread *row = watched_threads_row(w, owner);
    if (row && row->brief) { /* the thread got the number of one that has ended */
        watched_threads_end_one(w, row, time_ns);
        row = NULL;
    }
    if (row && row->native) {
        row->watch.told_ns = watched_natives_adopt(w, owner, row);
        open_watch(w, row);
        forget_shown(row);
    }
    row = row ? row : begin_thread(w, member, owner, time_ns);
    row->states++;
    watched_state(w, index)->thread = (uint32_t)(row - w->rows.threads) + 1;
    member->walk.same = 0;
}

/* With names of threads: whether the thread that has a state was chosen by its name. Once it is, it stays so. A thread
 * whose name does not match is looked up again: Python learns the name of a new thread a moment after its first frame,
 * and may change it. After some lookups the thread is not read any more. */
static bool is_chosen(struct watched *w, uint32_t index, uint64_t time_ns)
{
    struct member *member = &w->thread_list.members[index];
    struct thread_state *state = watched_state(w, index);
    struct text name;
    if (state->chosen || time_ns < state->judge_ns || !watched_names_find(w, member, state->owner, time_ns, &name))
        return state->chosen;
    state->chosen = name_list_has(w->options->names, name, (uint64_t)watched_host_thread(w, state->owner));
    text_free(name);
    const uint64_t twice_ns = 2 * state->judge_wait_ns;
    state->judge_wait_ns = twice_ns == 0 ? JUDGE_WAIT_NS : twice_ns < JUDGE_MOST_NS ? twice_ns : JUDGE_MOST_NS;
    state->judge_ns = time_ns + state->judge_wait_ns;
    const bool left_out = !state->chosen && state->judge_wait_ns >= JUDGED_NS;
    w->rows.proved |= left_out != member->left_out;
    member->left_out = left_out;
    return state->chosen;
}

/* Whether -t allows a thread by its number: with -t main, the main thread alone. */
static bool is_allowed(const struct watched *w, uint32_t owner)
{
    return w->thread_list.which != THREADS_MAIN || watched_is_main(w, owner);
}

/* Whether samples of the thread that has a state are asked for. CPython 3.11 makes the state of a new thread with the
 * number of the thread that starts it, so a state may turn out not to be the main thread's. */
static bool is_wanted(struct watched *w, uint32_t index, uint32_t owner, uint64_t time_ns)
{
    if (w->thread_list.which == THREADS_NAMED)
        return is_chosen(w, index, time_ns);
    return is_allowed(w, owner);
}

/* Whether the frames of a state may be those of another thread: the thread has several states, or the state belongs to
 * an interpreter in which threads use the states of others. */
static bool state_is_doubtful(const struct watched *w, uint32_t index)
{
    const struct member *member = &w->thread_list.members[index];
    const struct mapping *stack = &w->rows.states[index].stack;
    const uint64_t address = walk_stack_address(&member->walk, &w->target.runtime.layout);
    const bool read = !w->target.remote.kind && member->tick == w->thread_list.tick && member->state == UNWIND_DONE &&
                      member->walk.depth > 0;
    return read && address && (address < stack->low || address >= stack->high) &&
           (member->interpreter_id > 0 || watched_thread_of(w, index)->states > 1);
}

/* Gives a state to the thread on whose C stack its frames are, if that is known. A state that a thread left behind at
 * its end is nobody's. */
static void state_follow_stack(struct watched *w, uint32_t index, uint64_t time_ns)
{
    struct member *member = &w->thread_list.members[index];
    struct thread_state *state = watched_state(w, index);
    const uint64_t address = walk_stack_address(&member->walk, &w->target.runtime.layout);
    const struct stack_owner found = state_owner_by_stack(w, member);
    if (!found.number && !found.ended) {
        /* Nothing contradicts the number in the state; the question is not repeated for calls near this one. */
        state->stack = (struct mapping){ .low = address > STACK_PART ? address - STACK_PART : 0,
                                         .high = address + STACK_PART };
        return;
    }
    if (found.number == state->owner) {
        state->stack = found.stack;
        return;
    }
    const uint64_t wait_ns = found.ended ? ENDED_WAIT_NS : state->wait_ns;
    state_leave(w, index);
    *state = (struct thread_state){ .interpreter_id = member->interpreter_id,
                                    .native_id = member->native_id,
                                    .owner = found.number,
                                    .lent = true,
                                    .ended = found.ended,
                                    .stack = found.stack,
                                    .due_ns = time_ns + wait_ns,
                                    .wait_ns = wait_ns };
    w->rows.proved |= member->proved_id != found.number;
    member->proved_id = found.number;
    if (found.number && is_wanted(w, index, found.number, time_ns))
        state_join(w, index, time_ns);
}

/* Makes sure that a state has the right thread. */
static void state_settle(struct watched *w, uint32_t index, uint64_t time_ns)
{
    state_find_owner(w, index, time_ns);
    const struct thread_state *state = watched_state(w, index);
    if (!state->thread && state->owner && is_wanted(w, index, state->owner, time_ns))
        state_join(w, index, time_ns);
    if (watched_state(w, index)->thread && state_is_doubtful(w, index))
        state_follow_stack(w, index, time_ns);
}

/* Forgets that a thread has its states, because the kernel has no such thread. What was read of them may be from before
 * its end, so nobody gets them in this tick. */
static void thread_lose_states(struct watched *w, const struct emitted_thread *thread, uint64_t time_ns)
{
    for (uint32_t i = 0; i < w->rows.states_count; i++) {
        struct thread_state *state = &w->rows.states[i];
        if (watched_thread_of(w, i) != thread)
            continue;
        state->thread = state->owner = 0;
        state->due_ns = time_ns + 1;
        walk_free(&w->thread_list.members[i].walk);
        w->thread_list.members[i].proved_id = 0;
    }
}

/* Ends a thread if the kernel has it no more. Its states, if it left some behind, are those of no thread. */
static void end_if_gone(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    if (state_owner_lives(w, thread->native_id) || !procfs_thread_gone(w->pid, thread->tid))
        return;
    if (thread->states > 0)
        thread_lose_states(w, thread, time_ns);
    thread->states = 0;
    watched_threads_end_one(w, thread, time_ns);
}

/* Whether the kernel has fewer threads than there are rows: a quick question, which native threads without a row hide.
 */
static bool has_fewer_threads(struct watched *w, uint64_t time_ns)
{
    size_t rows = 0;
    if (time_ns < w->rows.count_due_ns)
        return false;
    w->rows.count_due_ns = time_ns + ENDED_WAIT_NS;
    for (size_t i = 0; i < w->rows.threads_count; i++)
        rows += w->rows.threads[i].number && !w->rows.threads[i].brief;
    return procfs_count_threads(w->pid) < rows;
}

/* Asks whether threads still live: those whose state has left the list, and where samples do not show it (without a
 * question to the kernel for each), all of them now and then. The first thread of a process, which may end before the
 * others, leaves its state behind. */
static void end_gone(struct watched *w, uint64_t time_ns)
{
    const bool first_ended = w->target.remote.pid != w->target.remote.process;
    /* A thread that seems to sleep on is not asked: it may have ended without a sound. */
    const bool shown = w->statuses.ask_cpu && w->statuses.others && w->statuses.ran &&
                       w->thread_list.which == THREADS_ALL;
    const bool all = !shown && !w->look.slept && (time_ns >= w->rows.live_due_ns || has_fewer_threads(w, time_ns));
    w->rows.live_due_ns = all ? time_ns + LIVE_NS : w->rows.live_due_ns;
    for (size_t i = 0; i < w->rows.threads_count && !w->look.slept; i++) {
        struct emitted_thread *thread = &w->rows.threads[i];
        const bool left = thread->states == 0 && thread->left;
        const bool ended = first_ended && watched_is_main(w, thread->native_id);
        thread->left = false;
        if (thread->number && !thread->brief && (all || left || ended))
            end_if_gone(w, thread, time_ns);
    }
}

/* With names of threads: looks up those that are not read. One may have got another name, or its state another thread.
 */
static void judge_left_out(struct watched *w, uint64_t time_ns)
{
    struct thread_list *list = &w->thread_list;
    for (size_t i = 0; list->which == THREADS_NAMED && i < list->order_count; i++) {
        struct member *member = &list->members[list->order[i]];
        if (!member->left_out)
            continue;
        state_find_owner(w, list->order[i], time_ns);
        if (watched_state(w, list->order[i])->owner)
            is_chosen(w, list->order[i], time_ns);
    }
}

/* Finds the threads of the states that are new. With -t main, a state may turn out to be that of the main thread. */
static void find_owners(struct watched *w, uint64_t time_ns)
{
    struct thread_list *list = &w->thread_list;
    judge_left_out(w, time_ns);
    for (size_t i = 0; list->which == THREADS_MAIN && i < list->order_count; i++) {
        struct member *member = &list->members[list->order[i]];
        const uint32_t before = member_number(member);
        state_find_owner(w, list->order[i], time_ns);
        w->rows.proved |= before != member_number(member);
    }
    if (w->rows.proved) {
        thread_list_ask_anew(list);
        w->look.idle_looked = false; /* what was not asked for was not read: the next look reads */
    }
    w->rows.proved = false;
}

/* Takes the states that have got another number away from their threads. */
static void leave_changed(struct watched *w, const uint32_t *indexes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct thread_state *state = watched_state(w, indexes[i]);
        if (state->thread && !state_is_of(state, &w->thread_list.members[indexes[i]]))
            state_leave(w, indexes[i]);
    }
}

/* Puts the states of this tick in rows: those of one thread behind one another. Threads that are new begin in the order
 * in which the program made them, which is the order of their numbers for every reader: an interpreter's list begins
 * with the newest one. */
static void group_states(struct watched *w, const uint32_t *indexes, size_t count, uint64_t time_ns)
{
    const uint64_t tick = w->thread_list.tick;
    for (size_t i = count; i-- > 0;)
        state_settle(w, indexes[i], time_ns);
    for (size_t i = 0; i < count; i++) {
        struct member *member = &w->thread_list.members[indexes[i]];
        struct thread_state *state = watched_state(w, indexes[i]);
        struct emitted_thread *thread = watched_thread_of(w, indexes[i]);
        state->next = 0;
        state->above = UINT32_MAX;
        if (!thread) {
            member->hidden = tick;
            w->counters.ownerless += member->state == UNWIND_DONE && w->thread_list.which != THREADS_NAMED;
            continue;
        }
        if (member->tick != tick)
            continue; /* -t main: it was not known as a state of the main thread, and not read */
        w->counters.joined += thread->tick == tick && member->state == UNWIND_DONE;
        if (thread->tick == tick)
            w->rows.states[thread->last - 1].next = indexes[i] + 1;
        else
            thread->first = indexes[i] + 1;
        thread->tick = tick;
        thread->last = indexes[i] + 1;
    }
}

/* ---- the stack of a thread ---- */

/* Puts a state into the row of the thread's stacks, which has the inner ones behind the outer ones. */
static void nest_state(struct watched *w, uint32_t index)
{
    const struct thread_list *list = &w->thread_list;
    size_t at = w->rows.nested_count++;
    w->rows.nested = alloc_grow(w->rows.nested, &w->rows.nested_room, w->rows.nested_count, sizeof(*w->rows.nested));
    for (; at > 0 && thread_list_is_inside(list, &list->members[w->rows.nested[at - 1]], &list->members[index]); at--)
        w->rows.nested[at] = w->rows.nested[at - 1];
    w->rows.nested[at] = index;
}

/* A thread may enter an interpreter, from there a second one, and from there the first one again. Then the stack in the
 * first one has frames above and below those of the second one. The stack that is shown lacks those of the second one.
 */
static void leave_out_enclosed(struct watched *w)
{
    const struct thread_list *list = &w->thread_list;
    const struct layout *l = &w->target.runtime.layout;
    const uint64_t innermost = walk_stack_address(&list->members[w->rows.nested[w->rows.nested_count - 1]].walk, l);
    size_t kept = 0;
    for (size_t i = 0; i < w->rows.nested_count; i++) {
        const uint64_t address = walk_stack_address(&list->members[w->rows.nested[i]].walk, l);
        if (address == 0 || address >= innermost)
            w->rows.nested[kept++] = w->rows.nested[i];
    }
    w->rows.nested_count = kept;
}

/* Fills in w->rows.nested: the states in whose interpreters the thread is, the innermost one last. Returns the state
 * that tells what the thread does: the one that has the lock, or the innermost one. */
static uint32_t nest_states(struct watched *w, struct emitted_thread *thread)
{
    const struct thread_list *list = &w->thread_list;
    uint32_t holder = 0;
    w->rows.nested_count = 0;
    for (uint32_t state = thread->first; state; state = w->rows.states[state - 1].next) {
        const struct member *member = &list->members[state - 1];
        if (member->walk.depth > 0)
            nest_state(w, state - 1);
        if (thread_list_holds(list, member))
            holder = state;
    }
    if (w->rows.nested_count > 1)
        leave_out_enclosed(w);
    if (w->rows.nested_count == 0)
        nest_state(w, thread->first - 1);
    const uint32_t innermost = w->rows.nested[w->rows.nested_count - 1] + 1;
    thread->innermost = innermost;
    return (holder ? holder : innermost) - 1;
}

/* ---- samples ---- */

uint32_t watched_threads_collection(const struct watched *w, uint32_t index)
{
    const struct member *member = &w->thread_list.members[index];
    const bool collects = thread_list_collects(&w->thread_list, member);
    return collects ? w->target.interpreters[member->interpreter].collection : 0;
}

/* Puts the stack of a state, which is the only one of its thread, into a sample. */
static void sample_take_state(struct watched *w, struct emitted_thread *thread, uint32_t index, struct sample *sample)
{
    struct member *member = &w->thread_list.members[index];
    struct expanded *expanded = &w->expanded;
    synthetic_frames_expand(&thread->expansion, w->synthetic, &member->walk, thread->shown == index + 1,
                            synthetic_frames_collecting(w->synthetic, &w->thread_list, member), expanded);
    sample->keep = expanded->keep;
    sample->pushed = expanded->pushed;
    sample->frames = expanded->pushed ? expanded->frames : NULL;
    member->walk.same = member->walk.depth;
    w->rows.states[index].above = 0;
    thread->shown = index + 1;
}

/* Adds the stacks outside the innermost one to the thread's stack. */
static void add_outer_stacks(struct watched *w, struct emitted_thread *thread)
{
    uint32_t above = 0;
    for (size_t i = 0; i < w->rows.nested_count; i++) {
        const struct member *member = &w->thread_list.members[w->rows.nested[i]];
        w->rows.states[w->rows.nested[i]].above = above;
        above += member->walk.depth;
        if (i + 1 == w->rows.nested_count)
            break;
        await_graph_add_links(&w->asyncio, member, 0, member->walk.depth, &thread->stack);
        if (w->synthetic->native)
            await_graph_add_native(&w->asyncio, &thread->stack);
    }
}

/* Puts the stacks of several states, or the stack with the labels of tasks, into a sample. `label`: what the thread
 * says that it does; NULL: nothing. False when the task could not be determined. */
static bool sample_take_stacks(struct watched *w, struct emitted_thread *thread, const struct label *label,
                               struct sample *sample)
{
    const uint32_t innermost = w->rows.nested[w->rows.nested_count - 1];
    const struct member *member = &w->thread_list.members[innermost];
    struct frames *stack = &thread->stack;
    stack->count = 0;
    if (label) {
        stack->frames = alloc_grow(stack->frames, &stack->room, 1, sizeof(*stack->frames));
        stack->frames[stack->count++] = label->frame;
    }
    add_outer_stacks(w, thread);
    if (!w->options->async || w->options->plain_threads)
        await_graph_add_links(&w->asyncio, member, 0, member->walk.depth, &thread->stack);
    else if (!watched_tasks_running_stack(w, innermost, &thread->stack))
        return false;
    if (thread->shown)
        forget_shown(thread);
    watched_tasks_take_stack(w, &thread->stack, &thread->emitted, sample);
    return true;
}

/* Emits the sample of a thread that was read in this tick, or that has not moved. `runs`: the state that tells what the
 * thread does. */
static bool thread_emit_stack(struct watched *w, struct emitted_thread *thread, uint32_t runs, uint32_t status,
                              uint64_t time_ns, struct fault *why)
{
    const uint32_t innermost = w->rows.nested[w->rows.nested_count - 1];
    const bool tasks = w->options->async && !w->options->plain_threads;
    struct event event;
    struct sample *sample = emitter_begin_sample(&event, thread->number, time_ns);
    sample->status = status;
    sample->cpu_ns = w->options->async == ASYNC_ALL ? thread->cpu_ns : thread->watch.cpu_ns;
    sample->collection = watched_threads_collection(w, runs);
    const struct label *label = labels_of(&w->publications.labels, thread->native_id, w->emitter, w->number, time_ns);
    const uint32_t task = w->options->async ? watched_tasks_running(w, innermost) : 0;
    sample->task = task || !label ? task : label->number;
    sample->callback_ns = watched_tasks_callback(w, innermost, time_ns);
    sample->span = watched_tasks_span(w, innermost, label);
    if (w->rows.nested_count == 1 && !tasks && !label && !w->thread_list.members[innermost].walk.c_links)
        sample_take_state(w, thread, innermost, sample);
    else if (!sample_take_stacks(w, thread, label, sample))
        return emitter_failed(w->emitter, thread->number, FAILURE_CHANGED, time_ns, why);
    return emitter_sample(w->emitter, &event, why);
}

/* Finds the C functions of a native thread that runs. When there are many such threads, some of them have their turn in
 * each tick. NULL: they are not known. */
static const struct c_links *native_c_frames(struct watched *w, const struct emitted_thread *thread)
{
    struct natives *natives = &w->natives;
    if (!w->c_frames || !thread->busy || thread->brief) /* the number of a brief one may be another's by now */
        return NULL;
    const size_t turns = (natives->busy_before + NATIVES_AT_ONCE - 1) / NATIVES_AT_ONCE;
    natives->busy++;
    if (turns > 1 && (natives->busy + w->tick) % turns != 0)
        return NULL;
    return c_frames_of_native(w->c_frames, thread->tid, synthetic_frames_native_frame(w->synthetic));
}

/* Makes the stack of a native thread: the frame that tells its name, and its C functions. */
static void native_take_stack(struct watched *w, struct emitted_thread *thread)
{
    struct frames *stack = &thread->stack;
    const struct c_links *found = native_c_frames(w, thread);
    const size_t count = found ? found->count : 0;
    stack->frames = alloc_grow(stack->frames, &stack->room, count + 1, sizeof(*stack->frames));
    stack->frames[0] = thread->native;
    for (size_t i = 0; i < count; i++)
        stack->frames[i + 1] = found->links[i].frame;
    stack->count = count + 1;
}

/* Emits the sample of a thread that has no state: it is outside Python, and its stack is empty, but for the frame of a
 * native thread. */
static bool thread_emit_outside(struct watched *w, struct emitted_thread *thread, uint32_t status, uint64_t time_ns,
                                struct fault *why)
{
    struct event event;
    struct sample *sample = emitter_begin_sample(&event, thread->number, time_ns);
    sample->status = status;
    sample->cpu_ns = thread->watch.cpu_ns + thread->owed_ns;
    thread->owed_ns = 0;
    w->counters.outside++;
    if (thread->native) {
        native_take_stack(w, thread);
        watched_tasks_take_stack(w, &thread->stack, &thread->emitted, sample);
    } else {
        forget_shown(thread);
    }
    return emitter_sample(w->emitter, &event, why);
}

/* Whether a thread ran in the last look without running Python: it has a processor, and not the lock. */
static bool runs_c_code(const struct watched *w, const struct member *runs, uint32_t status)
{
    const uint32_t wanted = STATUS_RECORDED | STATUS_CPU;
    return w->rows.nested_count == 1 && w->look.one_moment && runs->state == UNWIND_DONE &&
           (status & (wanted | STATUS_GIL | STATUS_CPU_UNKNOWN | STATUS_READY)) == wanted;
}

/* Emits a sample in which the thread has a status, unless the mode leaves the sample out. `runs`: the state that tells
 * what the thread does; NULL: it has none. */
static bool thread_emit_status(struct watched *w, struct emitted_thread *thread, struct member *runs, uint64_t time_ns,
                               struct fault *why)
{
    const uint64_t now_ns = w->options->start_ns + time_ns;
    const uint32_t index = runs ? (uint32_t)(runs - w->thread_list.members) : 0;
    uint32_t status = 0;
    if (w->options->with_status && thread->native)
        status = STATUS_RECORDED | (thread->busy ? STATUS_CPU : 0);
    else if (w->options->with_status)
        status = thread_status_of(&w->statuses, &thread->watch, &w->thread_list, runs, thread->tid, now_ns);
    if (!runs && w->statuses.ask_cpu && !thread->watch.known && !thread->native)
        end_if_gone(w, thread, time_ns);
    if (!thread->number)
        return true;
    if (w->options->with_status && !thread_status_kept(&w->statuses, status)) {
        thread_leave_out(w, thread, time_ns);
        return true;
    }
    emit_left_out(w, thread);
    if (!runs)
        return thread_emit_outside(w, thread, status, time_ns, why);
    if (w->options->async == ASYNC_ALL &&
        !watched_tasks_owns_sample(w, thread, w->rows.nested[w->rows.nested_count - 1], status) &&
        !w->options->plain_threads)
        return true;
    const bool sleeps = w->rows.nested_count == 1 && w->look.one_moment &&
                        (status & (STATUS_RECORDED | STATUS_CPU | STATUS_CPU_UNKNOWN)) == STATUS_RECORDED;
    if (w->c_frames && sleeps && !runs->walk.c_links)
        c_frames_of_sleeper(w->c_frames, &w->thread_list, runs, thread->tid, &thread->watch.cpu,
                            synthetic_frames_native_frame(w->synthetic), clock_now_ns());
    if (w->c_frames && !sleeps && runs_c_code(w, runs, status) && !runs->walk.c_links)
        c_frames_of_runner(w->c_frames, &w->thread_list, runs, thread->tid,
                           synthetic_frames_native_frame(w->synthetic));
    struct c_registers registers;
    if (w->c_frames && w->options->registers &&
        w->options->registers(w->options->self, watched_host_thread(w, member_number(runs)), &registers))
        c_frames_of_saved(w->c_frames, &w->thread_list, runs, &registers, synthetic_frames_native_frame(w->synthetic));
    w->counters.native.samples += runs->walk.c_links != NULL;
    const bool good = thread_emit_stack(w, thread, index, status, time_ns, why);
    runs->walk.c_links = NULL;
    return good;
}

/* Emits the sample of a thread by its states, which were read in this tick. */
static bool watched_emit_thread(struct watched *w, struct emitted_thread *thread, uint64_t time_ns, struct fault *why)
{
    struct member *members = w->thread_list.members;
    uint32_t count = 0;
    for (uint32_t state = thread->first; state; state = w->rows.states[state - 1].next, count++)
        if (members[state - 1].state != UNWIND_DONE)
            return emitter_failed(w->emitter, thread->number, members[state - 1].cause, time_ns, why);
    if (w->look.state != THREAD_LIST_READ && count < thread->states) /* a part of the stack is missing */
        return emitter_failed(w->emitter, thread->number, FAILURE_THREADS, time_ns, why);
    const uint32_t runs = nest_states(w, thread);
    if (!w->rows.states[w->rows.nested[0]].lent)
        watched_names_refresh(w, thread, &members[w->rows.nested[0]], time_ns);
    if (!thread_emit_status(w, thread, &members[runs], time_ns, why))
        return false;
    if (w->statuses.ask_cpu && !thread->watch.known)
        end_if_gone(w, thread, time_ns);
    return true;
}

/* Emits the samples of threads that have no state now: between two calls of Python from C. */
static bool watched_emit_others(struct watched *w, uint64_t time_ns, struct fault *why)
{
    const bool all = w->thread_list.which != THREADS_GIL;
    w->natives.busy_before = w->natives.busy;
    w->natives.busy = 0;
    for (size_t i = 0; all && i < w->rows.threads_count; i++) {
        struct emitted_thread *thread = &w->rows.threads[i];
        if (thread->number && thread->states == 0 && is_allowed(w, thread->native_id) &&
            !thread_emit_status(w, thread, NULL, time_ns, why))
            return false;
    }
    return true;
}

/* Takes the states that have left the thread list away from their threads, and clears their rows: a new state may get
 * the index. */
static void leave_unlisted(struct watched *w)
{
    struct thread_list *thread_list = &w->thread_list;
    for (uint32_t i = 0; i < thread_list->members_count; i++) {
        if (thread_list->members[i].listed == thread_list->list)
            continue;
        state_leave(w, i);
        walk_free(&thread_list->members[i].walk);
    }
}

/* Emits the threads that have these states, in the order of the states. */
static bool emit_states(struct watched *w, const uint32_t *indexes, size_t count, uint64_t time_ns, struct fault *why)
{
    leave_changed(w, indexes, count);
    end_gone(w, time_ns);
    group_states(w, indexes, count, time_ns);
    for (size_t i = 0; i < count; i++) {
        struct emitted_thread *thread = watched_thread_of(w, indexes[i]);
        if (thread && thread->tick == w->thread_list.tick && thread->first == indexes[i] + 1 &&
            !watched_emit_thread(w, thread, time_ns, why))
            return false;
    }
    return true;
}

uint64_t watched_threads_known_cpu_ns(const struct watched *w)
{
    uint64_t known_ns = w->statuses.ended_ns;
    for (uint32_t i = 0; i < w->rows.threads_count; i++)
        known_ns += w->rows.threads[i].number ? cpu_shown_ns(&w->rows.threads[i].watch.cpu) : 0;
    return known_ns;
}

/* Who asks for a thread. By its state in the last tick, whose lock the look has read. */
static enum cpu_asker asker_of(const struct watched *w, const struct emitted_thread *thread)
{
    if (!w->asks.posted)
        return CPU_ANYBODY;
    const uint32_t state = thread->states > 0 ? thread->innermost : 0;
    const bool holds = state && state <= w->thread_list.members_count && watched_thread_of(w, state - 1) == thread &&
                       thread_list_holds(&w->thread_list, &w->thread_list.members[state - 1]);
    return holds ? CPU_POST_OF_HOLDER : CPU_POST;
}

bool watched_threads_sleep_on(void *self, uint32_t state, struct cpu_mark *mark)
{
    const struct watched *w = self;
    const struct emitted_thread *thread = watched_thread_of(w, state);
    *mark = (struct cpu_mark){ 0 };
    /* A state that may be another thread's is read, to find out. */
    return thread && thread->states == 1 && w->thread_list.members[state].interpreter_id == 0 &&
           cpu_sleeps_on(&thread->watch.cpu, mark);
}

/* Asks the threads that ran at the last look. Returns how many others there are. */
static size_t ask_running(struct watched *w)
{
    size_t others = 0;
    for (uint32_t i = 0; i < w->rows.threads_count && w->statuses.ask_cpu; i++)
        if (w->rows.threads[i].number && thread_status_may_run(&w->rows.threads[i].watch))
            thread_status_ask_ahead(&w->statuses, &w->rows.threads[i].watch, asker_of(w, &w->rows.threads[i]));
        else
            others += w->rows.threads[i].number != 0;
    return others;
}

/* Asks the other threads if they may have run. */
static void ask_others(struct watched *w, size_t others, uint64_t now_ns)
{
    w->asks.others_wait = 0;
    if (!w->statuses.ask_cpu ||
        !thread_status_ask_others(&w->statuses, watched_threads_known_cpu_ns(w), others, now_ns))
        return;
    for (uint32_t i = 0; i < w->rows.threads_count; i++)
        if (w->rows.threads[i].number && w->rows.threads[i].watch.asked_tick != w->statuses.tick)
            thread_status_ask_ahead(&w->statuses, &w->rows.threads[i].watch, asker_of(w, &w->rows.threads[i]));
    thread_status_asked_all(&w->statuses, watched_threads_known_cpu_ns(w));
}

void watched_threads_ask_ahead(struct watched *w, bool posted, uint64_t now_ns)
{
    if (!w->options->with_status)
        return;
    w->asks.done = true;
    w->asks.posted = posted;
    thread_status_tick(&w->statuses);
    const size_t others = ask_running(w);
    if (posted && others > POST_OTHERS)
        w->asks.others_wait = others;
    else
        ask_others(w, others, now_ns);
}

/* Whether what the threads do is the same a moment after the look: the only thread has the processor whenever it is
 * ready, and no other thread has the lock. */
static bool can_wait(const struct watched *w)
{
    const struct emitted_thread *only = NULL;
    for (size_t i = 0; i < w->rows.threads_count; i++) {
        const struct emitted_thread *thread = &w->rows.threads[i];
        if (thread->number && (only || thread->watch.cpu.crowded))
            return false;
        only = thread->number ? thread : only;
    }
    return true;
}

void watched_threads_ask_in_look(struct watched *w, bool posted, uint64_t now_ns)
{
    w->statuses.slept = false;
    if (!w->options->freezes && (w->c_frames || !can_wait(w)))
        watched_threads_ask_ahead(w, posted, now_ns);
}

/* Asks what the look did not ask. */
static void ask_late(struct watched *w, uint64_t now_ns)
{
    w->statuses.slept = w->look.slept;
    if (!w->asks.done && !w->options->freezes)
        watched_threads_ask_ahead(w, false, now_ns);
    w->asks.posted = w->asks.done = false;
    if (w->asks.others_wait)
        ask_others(w, w->asks.others_wait, now_ns);
}

bool watched_threads_emit_unread(struct watched *w, uint64_t time_ns, struct fault *why)
{
    struct thread_list *list = &w->thread_list;
    ask_late(w, w->options->start_ns + time_ns);
    if (w->options->async == ASYNC_ALL)
        return emitter_failed(w->emitter, 0, FAILURE_THREADS, time_ns, why);
    uint32_t *read = alloc_zeroed(list->members_count + 1, sizeof(*read));
    size_t count = 0;
    for (uint32_t i = 0; i < list->members_count; i++)
        if (list->members[i].tick == list->tick && thread_list_placed(list, &list->members[i]))
            read[count++] = i;
    bool good = emit_states(w, read, count, time_ns, why), any = count > 0;
    free(read);
    for (size_t i = 0; good && i < w->rows.threads_count; i++) {
        const struct emitted_thread *thread = &w->rows.threads[i];
        const bool unread = thread->number && thread->tick != list->tick;
        any |= unread;
        good = !unread || emitter_failed(w->emitter, thread->number, FAILURE_THREADS, time_ns, why);
    }
    return good && (any || emitter_failed(w->emitter, 0, FAILURE_THREADS, time_ns, why));
}

bool watched_threads_emit(struct watched *w, uint64_t time_ns, struct fault *why)
{
    const struct thread_list *thread_list = &w->thread_list;
    const bool changed = w->rows.list != thread_list->list;
    w->rows.list = thread_list->list;
    if (changed)
        leave_unlisted(w);
    find_owners(w, time_ns);
    w->counters.interpreters_cut += w->target.interpreters_cut;
    ask_late(w, w->options->start_ns + time_ns);
    if (!emit_states(w, thread_list->asked, thread_list->asked_count, time_ns, why))
        return false;
    watched_natives_look(w, time_ns);
    return watched_emit_others(w, time_ns, why) &&
           (w->options->async != ASYNC_ALL || watched_tasks_emit(w, time_ns, why));
}

/* ---- another stream ---- */

void watched_threads_flush(struct watched *w, uint64_t time_ns)
{
    for (uint32_t i = 0; i < w->rows.threads_count; i++) {
        struct emitted_thread *thread = &w->rows.threads[i];
        if (!thread->number)
            continue;
        emit_left_out(w, thread);
        thread->owed_ns += thread_status_take_unused_ns(&thread->watch);
        thread->owed_ns += w->options->with_status ? cpu_report_now(&thread->watch.cpu) : 0;
        emit_owed(w, thread, time_ns);
    }
}

static int thread_number_compare(const void *one, const void *another)
{
    const struct emitted_thread *a = *(struct emitted_thread *const *)one;
    const struct emitted_thread *b = *(struct emitted_thread *const *)another;
    return a->number < b->number ? -1 : a->number > b->number;
}

void watched_threads_restart(struct watched *w, uint64_t time_ns)
{
    struct emitted_thread **threads = alloc_zeroed(w->rows.threads_count + 1, sizeof(struct emitted_thread *));
    size_t count = 0;
    for (uint32_t i = 0; i < w->rows.threads_count; i++)
        if (w->rows.threads[i].number)
            threads[count++] = &w->rows.threads[i];
    qsort(threads, count, sizeof(struct emitted_thread *), thread_number_compare);
    for (size_t i = 0; i < count; i++) {
        forget_shown(threads[i]);
        define_thread(w, threads[i], time_ns);
    }
    free(threads);
}

/* ---- a pause, and the end ---- */

void watched_threads_pause(struct watched *w)
{
    watched_natives_pause(w);
    for (uint32_t i = 0; i < w->rows.threads_count; i++)
        thread_status_pause(&w->rows.threads[i].watch);
}

void watched_threads_end(struct watched *w, uint64_t time_ns)
{
    for (uint32_t i = 0; i < w->rows.threads_count; i++) {
        watched_threads_end_one(w, &w->rows.threads[i], time_ns);
        free(w->rows.threads[i].stack.frames);
        free(w->rows.threads[i].emitted.frames);
    }
    intern_pairs_free(&w->rows.index);
    free(w->rows.threads);
    free(w->rows.states);
    free(w->rows.nested);
    w->rows.threads = NULL;
    w->rows.states = NULL;
    w->rows.nested = NULL;
    w->rows.threads_count = w->rows.threads_room = w->rows.states_count = w->rows.states_room = w->rows.nested_count =
        w->rows.nested_room = 0;
}
