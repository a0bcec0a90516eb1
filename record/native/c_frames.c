/* SPDX-License-Identifier: MIT */
#include "record/native/c_frames.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <stdlib.h>

#define SLEEPERS_LIMIT 4096     /* threads; when there are more, all are forgotten */
#define ASLEEP_ENOUGH  3        /* looks that show how a thread sleeps */
#define AWAKE_ENOUGH   8        /* so many looks, one after the other, show that it hardly ever does */
#define CATCH_NS       1000000u /* a thread that has a processor stops within this */
#define CAUGHT_DEPTH   500      /* Python frames of a thread that is caught at most: all are read again */

static void forget_sleepers(struct c_frames *c)
{
    for (size_t i = 0; i < c->sleepers_count; i++)
        free(c->sleepers[i].found.links);
    free(c->sleepers);
    c->sleepers = NULL;
    c->sleepers_count = c->sleepers_room = 0;
    intern_pairs_free(&c->ids);
}

struct c_frames *c_frames_open(struct c_frames *known, const struct c_frames_options *options, struct remote *remote,
                               struct definitions *definitions)
{
    if (!capture_possible())
        return NULL;
    struct c_frames *c = known ? known : alloc_zeroed(1, sizeof(*c));
    for (size_t i = 0; i < C_FRAMES_AT_ONCE; i++)
        capture_open(&c->captures[i], remote, options->child);
    catcher_open(&c->catcher, remote, options->child, options->raise);
    native_stack_open(&c->stack, remote, definitions);
    c->stack.map.waits = c->patient = options->patient;
    c->pid = remote->process;
    c->moved = c->spared = 0;
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
    if (!c)
        return;
    catcher_close(&c->catcher);
    free(c->caught.links);
    free(c->bytes);
    free(c->again);
    free(c->frames);
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
    if (c)
        c->until_ns = give_up_ns;
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

uint64_t c_frames_end_tick(struct c_frames *c)
{
    const uint64_t taken_ns = c ? c->taken_ns : 0;
    for (size_t i = 0; c && i < C_FRAMES_AT_ONCE; i++) {
        if (c->merged[i])
            c->merged[i]->walk.c_links = NULL;
        c->merged[i] = NULL;
    }
    if (c)
        c->until_ns = c->taken_ns = 0;
    return taken_ns;
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

void c_frames_forget(struct c_frames *c, pid_t tid)
{
    const uint32_t row = c ? intern_pairs_find(&c->ids, (uint32_t)tid, 0) : 0;
    if (row)
        c->sleepers[row - 1] = (struct c_sleeper){ .found = c->sleepers[row - 1].found };
}

static bool sleeper_is_as_before(const struct c_sleeper *sleeper, const struct walk *walk, uint64_t runs,
                                 uint32_t edition)
{
    return sleeper->depth == walk->depth && sleeper->runs == runs && sleeper->edition == edition &&
           sleeper->leaf == walk->links[walk->depth - 1].address;
}

/* Whether looks have shown how a thread sleeps, and that a stop does not interrupt it. */
static bool is_catchable(const struct c_sleeper *sleeper)
{
    return !sleeper->fragile && (sleeper->asleep >= ASLEEP_ENOUGH || sleeper->awake >= AWAKE_ENOUGH);
}

/* Asks whether and where a thread sleeps, and notes it. */
static enum sleep c_sleeper_note(struct c_sleeper *sleeper, struct sleeps *sleeps, pid_t pid, pid_t tid,
                                 struct c_registers *registers)
{
    const enum sleep sleep = sleeps_registers(sleeps, pid, tid, registers);
    sleeper->asleep += sleep == SLEEP_SLEEPS;
    sleeper->awake = sleep == SLEEP_NONE ? sleeper->awake + 1 : 0;
    sleeper->fragile |= sleep == SLEEP_SLEEPS && sleeps_fragile(sleeps);
    return sleep;
}

static void copy_stack(struct c_frames *c, struct thread_list *list, const struct walk *walk,
                       const struct c_registers *registers, struct c_copy *copy)
{
    const uint64_t last = native_stack_last(walk, &list->target->runtime.layout);
    if (!c->bytes)
        c->bytes = alloc_zeroed(CAPTURE_ROOM, 1);
    capture_copy_stack(&list->target->remote, registers, last, NULL, c->bytes, copy);
}

/* Unwinds the stack of a thread that sleeps. */
static bool find_sleepers_frames(struct c_frames *c, struct thread_list *list, const struct walk *walk, pid_t tid,
                                 uint32_t hole, uint64_t now_ns, struct c_sleeper *sleeper)
{
    const struct layout *l = &list->target->runtime.layout;
    struct sleeps sleeps = { 0 };
    struct c_registers registers;
    struct c_copy copy;
    const enum sleep sleep = c_sleeper_note(sleeper, &sleeps, list->target->pid, tid, &registers);
    sleeps_close(&sleeps);
    if (sleep != SLEEP_SLEEPS)
        return false;
    copy_stack(c, list, walk, &registers, &copy);
    return native_stack_merge(&c->stack, walk, l, &registers, &copy, hole, now_ns, &sleeper->found);
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
    if (code_map_expects(&c->stack.map))
        code_map_refresh(&c->stack.map, now_ns);
    if (!sleeper_is_as_before(sleeper, walk, runs, c->stack.map.edition)) {
        sleeper->merged = find_sleepers_frames(c, list, walk, tid, hole, now_ns, sleeper);
        sleeper->leaf = walk->links[walk->depth - 1].address;
        sleeper->depth = walk->depth;
        sleeper->edition = c->stack.map.edition;
        /* If it has run by now, what was copied may be of a later moment than the look. */
        sleeper->runs = cpu_sleeps_on(cpu, &mark) && mark.runs == runs ? runs : 0;
    }
    member->catchable = false; /* no post needs to look at it while it sleeps */
    if (sleeper->runs && sleeper->merged)
        walk_has(walk, &sleeper->found);
}

/* ---- threads that run where no post is ---- */

/* Whether a thread may be stopped now from another processor. */
static bool may_catch(struct c_frames *c, struct c_sleeper *sleeper, pid_t tid)
{
    struct sleeps sleeps = { 0 };
    struct c_registers registers;
    const enum sleep sleep = c_sleeper_note(sleeper, &sleeps, c->pid, tid, &registers);
    sleeps_close(&sleeps);
    c->spared += sleep == SLEEP_NONE && sleeper->fragile && !c->patient;
    return sleep == SLEEP_NONE && (c->patient || is_catchable(sleeper));
}

/* Catches a thread, and reads its Python frames again, if there is time for it in this tick. */
static bool catch_thread(struct c_frames *c, const struct captured *wanted, const struct piece *again, size_t count)
{
    uint64_t taken_ns;
    const uint64_t now_ns = clock_now_ns(), until_ns = now_ns + (c->patient ? C_FRAMES_PATIENCE_NS : CATCH_NS);
    if (!c->patient && now_ns >= c->until_ns)
        return false;
    const bool caught = catcher_catch(&c->catcher, wanted, again, count,
                                      c->patient || until_ns < c->until_ns ? until_ns : c->until_ns, &taken_ns);
    c->taken_ns = taken_ns > c->taken_ns ? taken_ns : c->taken_ns;
    return caught;
}

/* Lists what shows the Python stack of a thread: its current frame, and all frames. Returns the number of pieces; 0:
 * there are too many. */
static size_t list_again(struct c_frames *c, const struct layout *l, const struct member *member)
{
    const struct walk *walk = &member->walk;
    const size_t first = l->thread_cframe ? 2 : 1;
    unsigned char *into;
    size_t count = 0;
    if (walk->depth > CAUGHT_DEPTH)
        return 0;
    if (!c->again) {
        c->again = alloc_zeroed(CAUGHT_DEPTH + 2, sizeof(*c->again));
        c->frames = alloc_zeroed((size_t)CAUGHT_DEPTH + 2, LAYOUT_FRAME_MAX);
    }
    into = c->frames;
    c->again[count++] = (struct piece){
        member->address + (l->thread_cframe ? l->thread_cframe : l->thread_current_frame), 8, into
    };
    if (l->thread_cframe)
        c->again[count++] = (struct piece){ walk_stack_address(walk, l) + l->cframe_current_frame, 8, into + 8 };
    into += first * LAYOUT_FRAME_MAX;
    for (uint32_t i = 0; i < walk->depth; i++, into += LAYOUT_FRAME_MAX)
        c->again[count++] = (struct piece){ walk->links[i].address, l->frame_size, into };
    return count;
}

/* Whether the Python stack that was read again is that of the walk. */
static bool frames_are_same(const struct c_frames *c, const struct layout *l, const struct walk *walk)
{
    const uint64_t leaf = walk->links[walk->depth - 1].address;
    const unsigned char *at = c->frames + (l->thread_cframe ? 2 : 1) * LAYOUT_FRAME_MAX;
    const bool same_leaf = l->thread_cframe
                               ? word_at(c->frames, 0) == walk_stack_address(walk, l) && word_at(c->frames, 8) == leaf
                               : word_at(c->frames, 0) == leaf;
    for (uint32_t i = 0; same_leaf && i < walk->depth; i++, at += LAYOUT_FRAME_MAX) {
        const struct link *link = &walk->links[i];
        const struct executed executed = code_executed(l, at);
        if (executed.code != link->code->address || executed.copy != link->code->copy ||
            word_at(at, l->frame_instruction) != link->instruction)
            return false;
    }
    return same_leaf;
}

/* Shows the C frames of a stack whose registers and copy are known, if they have their places in it. */
static void merge_caught(struct c_frames *c, const struct layout *l, struct walk *walk,
                         const struct c_registers *registers, const struct c_copy *copy, uint32_t hole)
{
    if (native_stack_merge(&c->stack, walk, l, registers, copy, hole, clock_now_ns(), &c->caught))
        walk_has(walk, &c->caught);
}

void c_frames_of_runner(struct c_frames *c, struct thread_list *list, struct member *member, pid_t tid, uint32_t hole)
{
    const struct layout *l = &list->target->runtime.layout;
    struct walk *walk = &member->walk;
    const struct capture *capture = &c->catcher.capture;
    const struct captured wanted = { .tid = tid, .thread = member->address, .last = native_stack_last(walk, l) };
    if (!c->open || c->until_ns == 0 || walk->depth == 0 || catcher_is_busy(&c->catcher))
        return;
    struct c_sleeper *sleeper = sleeper_of(c, tid);
    const bool may = may_catch(c, sleeper, tid);
    member->catchable = is_catchable(sleeper);
    const size_t pieces = may ? list_again(c, l, member) : 0;
    if (pieces == 0 || !catch_thread(c, &wanted, c->again, pieces))
        return;
    const bool same = frames_are_same(c, l, walk);
    c->moved += !same;
    if (same)
        merge_caught(c, l, walk, &capture->registers, &capture->copy, hole);
}

const struct c_links *c_frames_of_native(struct c_frames *c, pid_t tid, uint32_t hole)
{
    const struct captured wanted = { .tid = tid };
    const struct capture *capture = &c->catcher.capture;
    if (!c->open || c->until_ns == 0 || catcher_is_busy(&c->catcher) || !may_catch(c, sleeper_of(c, tid), tid) ||
        !catch_thread(c, &wanted, NULL, 0) || capture->held_ns == 0) /* it sleeps */
        return NULL;
    native_stack_alone(&c->stack, &capture->registers, &capture->copy, hole, clock_now_ns(), &c->caught);
    return &c->caught;
}

/* ---- saved memory ---- */

void c_frames_of_saved(struct c_frames *c, struct thread_list *list, struct member *member,
                       const struct c_registers *registers, uint32_t hole)
{
    struct c_copy copy;
    if (!c->open || member->walk.depth == 0)
        return;
    copy_stack(c, list, &member->walk, registers, &copy);
    merge_caught(c, &list->target->runtime.layout, &member->walk, registers, &copy, hole);
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
    counters->moved += c->moved;
    counters->spared += c->spared;
    counters->late += atomic_load(&c->catcher.capture.late);
    counters->refused += atomic_load(&c->catcher.capture.refused);
    for (size_t i = 0; i < C_FRAMES_AT_ONCE; i++) {
        counters->late += atomic_load(&c->captures[i].late);
        counters->refused += atomic_load(&c->captures[i].refused);
    }
}
