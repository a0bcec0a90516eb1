/* SPDX-License-Identifier: MIT */
#include "record/native/c_frames.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <stdlib.h>

#define SLEEPERS_LIMIT 4096 /* threads; when there are more, all are forgotten */

static void forget_sleepers(struct c_frames *c)
{
    for (size_t i = 0; i < c->sleepers_count; i++)
        free(c->sleepers[i].found.links);
    free(c->sleepers);
    c->sleepers = NULL;
    c->sleepers_count = c->sleepers_room = 0;
    intern_pairs_free(&c->ids);
}

struct c_frames *c_frames_open(struct c_frames *known, bool child, struct remote *remote,
                               struct definitions *definitions)
{
    if (!capture_possible())
        return NULL;
    struct c_frames *c = known ? known : alloc_zeroed(1, sizeof(*c));
    for (size_t i = 0; i < C_FRAMES_AT_ONCE; i++)
        capture_open(&c->captures[i], remote, child);
    native_stack_open(&c->stack, remote, definitions);
    c->open = true;
    return c;
}

void c_frames_end(struct c_frames *c)
{
    if (!c || !c->open)
        return;
    for (size_t i = 0; i < C_FRAMES_AT_ONCE; i++)
        capture_drop(&c->captures[i]);
    native_stack_close(&c->stack);
    forget_sleepers(c);
    c->open = false;
}

void c_frames_free(struct c_frames *c)
{
    for (size_t i = 0; c && i < C_FRAMES_AT_ONCE; i++) {
        capture_close(&c->captures[i]);
        free(c->found[i].links);
    }
    if (c)
        free(c->bytes);
    free(c);
}

struct capture *c_frames_captures(struct c_frames *c)
{
    return c && c->open ? c->captures : NULL;
}

/* ---- threads that ran ---- */

/* The innermost stack of a thread in this tick, by the address of its state; NULL: it has none. */
static struct member *asked_member(struct thread_list *list, uint64_t thread)
{
    for (size_t i = 0; i < list->asked_count; i++) {
        struct member *member = &list->members[list->asked[i]];
        if (member->address == thread)
            return member->state == UNWIND_DONE && member->walk.depth > 0 && !member->twin ? member : NULL;
    }
    return NULL;
}

static void walk_has(struct walk *walk, const struct c_links *found)
{
    static const struct c_link none; /* a stack without C frames is known, too */
    walk->c_links = found->count > 0 ? found->links : &none;
    walk->c_count = found->count;
}

void c_frames_tick(struct c_frames *c, struct thread_list *list, bool proved, uint32_t hole, uint64_t give_up_ns)
{
    const struct layout *l = &list->target->runtime.layout;
    for (size_t i = 0; c && c->open && i < C_FRAMES_AT_ONCE; i++) {
        struct capture *capture = &c->captures[i];
        const struct captured *taken = capture_take(capture, give_up_ns);
        struct member *member = taken && proved ? asked_member(list, taken->thread) : NULL;
        if (member && native_stack_merge(&c->stack, &member->walk, l, &capture->registers, &capture->copy, hole,
                                         clock_now_ns(), &c->found[i])) {
            walk_has(&member->walk, &c->found[i]);
            c->merged[i] = member;
        }
        capture_drop(capture);
    }
}

void c_frames_end_tick(struct c_frames *c)
{
    for (size_t i = 0; c && i < C_FRAMES_AT_ONCE; i++) {
        if (c->merged[i])
            c->merged[i]->walk.c_links = NULL;
        c->merged[i] = NULL;
    }
}

/* ---- threads that sleep ---- */

static struct c_sleeper *sleeper_of(struct c_frames *c, pid_t tid)
{
    if (c->sleepers_count >= SLEEPERS_LIMIT)
        forget_sleepers(c);
    bool added;
    const uint32_t row = intern_pairs_number(&c->ids, (uint32_t)tid, 0, &added);
    c->sleepers = alloc_grow(c->sleepers, &c->sleepers_room, row, sizeof(*c->sleepers));
    c->sleepers_count = added ? row : c->sleepers_count;
    return &c->sleepers[row - 1];
}

static bool sleeper_is_as_before(const struct c_sleeper *sleeper, const struct walk *walk, uint64_t runs)
{
    return sleeper->depth == walk->depth && sleeper->runs == runs &&
           sleeper->leaf == walk->links[walk->depth - 1].address;
}

/* Unwinds the stack of a thread that sleeps. */
static bool find_sleepers_frames(struct c_frames *c, struct thread_list *list, const struct walk *walk, pid_t tid,
                                 uint32_t hole, uint64_t now_ns, struct c_links *found)
{
    const struct layout *l = &list->target->runtime.layout;
    struct sleeps sleeps = { 0 };
    struct c_registers registers;
    struct c_copy copy;
    const bool asleep = sleeps_registers(&sleeps, list->target->pid, tid, &registers);
    sleeps_close(&sleeps);
    if (!asleep)
        return false;
    if (!c->bytes)
        c->bytes = alloc_zeroed(CAPTURE_ROOM, 1);
    capture_copy_stack(&list->target->remote, &registers, native_stack_last(walk, l), NULL, c->bytes, &copy);
    return native_stack_merge(&c->stack, walk, l, &registers, &copy, hole, now_ns, found);
}

void c_frames_of_sleeper(struct c_frames *c, struct thread_list *list, struct member *member, pid_t tid,
                         const struct cpu *cpu, uint32_t hole, uint64_t now_ns)
{
    struct walk *walk = &member->walk;
    const uint64_t runs = cpu->runs;
    struct cpu_mark mark;
    if (!c || !c->open || walk->depth == 0 || runs == 0)
        return;
    struct c_sleeper *sleeper = sleeper_of(c, tid);
    if (!sleeper_is_as_before(sleeper, walk, runs)) {
        sleeper->merged = find_sleepers_frames(c, list, walk, tid, hole, now_ns, &sleeper->found);
        sleeper->leaf = walk->links[walk->depth - 1].address;
        sleeper->depth = walk->depth;
        /* If it has run by now, what was copied may be of a later moment than the look. */
        sleeper->runs = cpu_sleeps_on(cpu, &mark) && mark.runs == runs ? runs : 0;
    }
    if (sleeper->runs && sleeper->merged)
        walk_has(walk, &sleeper->found);
}

void c_frames_count(const struct c_frames *c, struct native_counters *counters)
{
    if (!c || !c->open)
        return;
    counters->merged += c->stack.counters.merged;
    counters->holes += c->stack.counters.holes;
    counters->unmerged += c->stack.counters.unmerged;
    counters->frames += c->stack.counters.frames;
    counters->named += c->stack.map.named;
    counters->nameless += c->stack.map.nameless;
    for (size_t i = 0; i < C_FRAMES_AT_ONCE; i++) {
        counters->late += atomic_load(&c->captures[i].late);
        counters->refused += atomic_load(&c->captures[i].refused);
    }
}
