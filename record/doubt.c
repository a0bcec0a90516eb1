/* SPDX-License-Identifier: MIT */
#include "record/doubt.h"

#include "formats/alloc.h"

#define NEAR_LEAF     8  /* frames */
#define SURE_COPIES   2  /* made twice, in a row, that show a call which is not known */
#define SURE_ODD      3  /* the same of another function than its caller is known to call */
#define SURE_FAR      4  /* the same far from the leaf */
#define SURE_ATTEMPTS 3  /* before this one, calls that need more than SURE_COPIES are not looked at twice */
#define CUT_ATTEMPTS  40 /* after so many, calls that could not be seen for sure are left out, ... */
#define CUT_LOOKS     6  /* ... if there were so many looks at them: attempts are also for learning where things are */
#define GONE_CALLS    16 /* that one copy showed and the next one does not, before those are looked for in vain */

/* Of the frame at `i`; NULL: it has none. */
static const struct link *caller_of(const struct unwinder *u, const struct link *above, uint32_t i)
{
    return i > 0 ? &u->fresh[i - 1] : above;
}

static bool is_known(const struct unwinder *u, const struct link *caller, const struct link *callee)
{
    return !caller || edges_known(&u->edges, caller->frame, callee->frame);
}

/* How many copies have to show a call that is not known, see edges.h. */
static uint32_t copies_needed(const struct unwinder *u, const struct link *caller, const struct link *callee,
                              uint32_t from_leaf)
{
    if (from_leaf > NEAR_LEAF)
        return SURE_FAR;
    return edges_odd(&u->edges, caller->frame, callee->code->function) ? SURE_ODD : SURE_COPIES;
}

/* The first frame that its caller is not known to call; fresh_count: there is none. */
static uint32_t first_unknown(const struct unwinder *u, const struct link *above)
{
    uint32_t known_caller = 0, known_callee = 0;
    const struct link *caller = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], i++) {
        const struct link *callee = &u->fresh[i];
        /* In a recursion one look is enough. */
        if (!caller || (caller->frame == known_caller && callee->frame == known_callee))
            continue;
        if (!is_known(u, caller, callee))
            return i;
        known_caller = caller->frame;
        known_callee = callee->frame;
    }
    return u->fresh_count;
}

static uint32_t root_function(const struct unwinder *u)
{
    return u->fresh_count > 0 ? u->fresh[0].code->function : 0;
}

/* Another root than last time or none: the state may be one that lasts for nanoseconds, or by now another thread's. */
static bool is_odd(const struct unwinder *u, const struct walk *walk, const struct link *above)
{
    if (above || (walk->sampled && walk->depth == 0))
        return false;
    return u->fresh_count == 0 || (walk->sampled && walk->root_function != root_function(u));
}

static bool is_sure_root(const struct unwinder *u, struct walk *walk)
{
    const struct link *root = u->fresh_count > 0 ? &u->fresh[0] : NULL;
    return walk->snapshot.twice && (!root || walker_sure(&u->walker, walk, root, root));
}

/* Whether the thread is elsewhere than in its last sample. */
static bool has_moved(const struct unwinder *u, const struct walk *walk)
{
    const uint32_t joined = u->walker.joined;
    if (walk->epoch != u->codes->epoch || joined + u->fresh_count != walk->depth)
        return true;
    for (uint32_t i = 0; i < u->fresh_count; i++) {
        const struct link *now = &u->fresh[i], *last = &walk->links[joined + i];
        if (now->address != last->address || now->code != last->code || now->instruction != last->instruction)
            return true;
    }
    return false;
}

/* What an instruction has on its stack is not noted at each one: a caller may seem to go on with a generator that it
 * had there before. So one that did not run is only believed where it was seen to. */
static void leave_out_suspended(struct unwinder *u, const struct link *above)
{
    const struct link *caller = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], i++)
        if (caller && u->fresh[i].suspended && !is_known(u, caller, &u->fresh[i]))
            u->fresh_count = i;
}

/* A look at the calls of a copy that are not known. */
struct look {
    struct doubts *before, *now; /* what the copy before showed, and what this one does */
    uint32_t from;               /* where the next call is in the one before: both are in order, root first */
    bool root;                   /* enough copies showed the root, or it is not odd, ... */
    uint32_t shown;              /* ... and this is the first frame of which that is not so; fresh_count: none */
    bool unlikely;               /* a call needs more than SURE_COPIES */
};

/* How many copies in a row showed a call before this one. */
static uint32_t shown_before(struct look *look, uint32_t caller, uint32_t callee)
{
    for (uint32_t i = look->from; i < look->before->count && i - look->from <= GONE_CALLS; i++) {
        const struct doubted *doubted = &look->before->calls[i];
        if (doubted->caller != caller || doubted->callee != callee)
            continue;
        look->from = i + 1;
        return doubted->copies;
    }
    return 0;
}

/* Notes a call that is not known, and whether this copy shows it for sure. Returns how many in a row do. */
static uint32_t note_call(struct look *look, uint32_t caller, uint32_t callee, bool sure)
{
    struct doubts *now = look->now;
    const uint32_t before = shown_before(look, caller, callee), copies = sure ? before + 1 : 0;
    now->calls = alloc_grow(now->calls, &now->room, now->count + 1, sizeof(*now->calls));
    now->calls[now->count++] = (struct doubted){ caller, callee, copies };
    return copies;
}

/* At a call of the frame at `i`. */
static void look_at(const struct unwinder *u, struct walk *walk, struct look *look, const struct link *caller,
                    uint32_t i)
{
    const struct link *callee = &u->fresh[i];
    const uint32_t needed = copies_needed(u, caller, callee, u->fresh_count - i);
    const bool sure = walk->snapshot.twice && walker_sure(&u->walker, walk, caller, callee);
    if (note_call(look, caller->frame, callee->frame, sure) < needed && i < look->shown)
        look->shown = i;
    look->unlikely |= needed > SURE_COPIES;
}

/* At all of them; `first` is the first callee. The next copy is compared with this one. */
static struct look look_at_calls(struct unwinder *u, struct walk *walk, const struct link *above, uint32_t first,
                                 bool odd)
{
    struct look look = { .before = &walk->doubts, .now = &u->doubts, .shown = u->fresh_count };
    look.now->count = 0;
    look.now->looks = look.before->looks + 1;
    look.root = !odd || note_call(&look, 0, root_function(u), is_sure_root(u, walk)) >= SURE_COPIES;
    for (uint32_t i = first; i < u->fresh_count; i++) {
        const struct link *caller = caller_of(u, above, i);
        if (!is_known(u, caller, &u->fresh[i]))
            look_at(u, walk, &look, caller, i);
    }
    const struct doubts before = walk->doubts;
    walk->doubts = u->doubts;
    u->doubts = before;
    return look;
}

static void see_calls(struct unwinder *u, const struct link *above, uint32_t first)
{
    for (uint32_t i = first; i < u->fresh_count; i++) {
        const struct link *caller = caller_of(u, above, i), *callee = &u->fresh[i];
        if (!is_known(u, caller, callee) && !callee->suspended)
            edges_see(&u->edges, caller->frame, callee->frame, callee->code->function);
    }
}

bool doubt_settled(struct unwinder *u, struct walk *walk, uint32_t attempts)
{
    const struct link *above = u->walker.joined ? &walk->links[u->walker.joined - 1] : NULL;
    leave_out_suspended(u, above);
    const bool odd = is_odd(u, walk, above);
    const uint32_t first = first_unknown(u, above);
    /* Nothing new is not seen again: a program that lost its processor half-way into a call would make that call
     * known. */
    if (!odd && (first == u->fresh_count || !has_moved(u, walk))) {
        walk->snapshot.twice = walk->cut = false;
        return true;
    }
    const struct look look = look_at_calls(u, walk, above, first, odd);
    if (look.unlikely && attempts < SURE_ATTEMPTS) { /* most likely there is no such call */
        walk->doubts.count = 0;
        return false;
    }
    /* Some places are left too soon to be seen twice. What is above them is still true. */
    walk->cut = look.shown < u->fresh_count;
    walk->snapshot.twice = !look.root || (walk->cut && (attempts < CUT_ATTEMPTS || walk->doubts.looks < CUT_LOOKS));
    if (walk->snapshot.twice)
        return false;
    u->fresh_count = look.shown;
    see_calls(u, above, first);
    return true;
}
