/* SPDX-License-Identifier: MIT */
#include "record/doubt.h"

#define NEAR_LEAF     8  /* frames */
#define SURE_COPIES   2  /* made twice, in a row, that show a call which is not known */
#define SURE_ODD      3  /* the same of another function than its caller is known to call */
#define SURE_FAR      4  /* the same far from the leaf */
#define SURE_ATTEMPTS 3  /* before this one, calls that need more than SURE_COPIES are not looked at twice */
#define CUT_ATTEMPTS  40 /* after so many, calls that could not be seen for sure are left out */

static bool is_known(const struct unwinder *u, const struct link *caller, const struct link *callee)
{
    return !caller || edges_known(&u->edges, caller->frame, callee->frame);
}

/* What the copy says of calls that are not known. */
struct doubt {
    uint32_t unknown;
    uint32_t first;  /* the first callee of one */
    bool sure;       /* none of their frames changed from the first to the second copy */
    uint32_t copies; /* made twice, in a row, that have to show them */
};

/* How many copies have to show a call that is not known, see edges.h. */
static uint32_t copies_needed(const struct unwinder *u, const struct link *caller, const struct link *callee,
                              uint32_t from_leaf)
{
    if (from_leaf > NEAR_LEAF)
        return SURE_FAR;
    return edges_odd(&u->edges, caller->frame, callee->code->function) ? SURE_ODD : SURE_COPIES;
}

static struct doubt doubt_calls(const struct unwinder *u, struct walk *walk, const struct link *above)
{
    struct doubt doubt = { .sure = true, .copies = SURE_COPIES };
    uint32_t known_caller = 0, known_callee = 0;
    const struct link *caller = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], i++) {
        const struct link *callee = &u->fresh[i];
        /* In a recursion one look is enough. */
        if (caller && caller->frame == known_caller && callee->frame == known_callee)
            continue;
        if (!is_known(u, caller, callee)) {
            doubt.first = doubt.unknown++ ? doubt.first : i;
            const uint32_t copies = copies_needed(u, caller, callee, u->fresh_count - i);
            doubt.copies = copies > doubt.copies ? copies : doubt.copies;
            doubt.sure &= walk->snapshot.twice && walker_sure(&u->walker, walk, caller, callee);
        } else if (caller) {
            known_caller = caller->frame;
            known_callee = callee->frame;
        }
    }
    return doubt;
}

static void see_calls(struct unwinder *u, const struct link *above)
{
    const struct link *caller = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], i++)
        if (!is_known(u, caller, &u->fresh[i]) && !u->fresh[i].suspended)
            edges_see(&u->edges, caller->frame, u->fresh[i].frame, u->fresh[i].code->function);
}

/* Another root than last time or none: the state may be one that lasts for nanoseconds, or by now another thread's. */
static bool is_odd(const struct unwinder *u, const struct walk *walk, const struct link *above)
{
    if (above || (walk->sampled && walk->depth == 0))
        return false;
    return u->fresh_count == 0 || (walk->sampled && walk->root_function != u->fresh[0].code->function);
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

bool doubt_settled(struct unwinder *u, struct walk *walk, uint32_t attempts)
{
    struct snapshot *snapshot = &walk->snapshot;
    const struct link *above = u->walker.joined ? &walk->links[u->walker.joined - 1] : NULL;
    leave_out_suspended(u, above);
    struct doubt doubt = doubt_calls(u, walk, above);
    const bool odd = is_odd(u, walk, above);
    /* Nothing new. It must not count as seen again: a program that lost its processor half-way into a call would make
     * that call known. */
    if (doubt.unknown && !odd && !has_moved(u, walk))
        return true;
    const bool sure = doubt.sure && (!odd || is_sure_root(u, walk));
    /* Some places are left too soon to be seen twice. What is above them is still true. */
    if (doubt.unknown && !odd && u->walker.joined + doubt.first > 0 && attempts >= CUT_ATTEMPTS) {
        u->fresh_count = doubt.first;
        doubt.unknown = 0;
    }
    /* Most likely there is no such call. */
    if (doubt.copies > SURE_COPIES && attempts < SURE_ATTEMPTS) {
        walk->sure_copies = 0;
        return false;
    }
    walk->sure_copies = (odd || doubt.unknown) && sure ? walk->sure_copies + 1 : 0;
    if ((odd || doubt.unknown) && walk->sure_copies < doubt.copies) {
        snapshot->twice = true;
        return false;
    }
    see_calls(u, above);
    walk->sure_copies = 0;
    snapshot->twice = false;
    return true;
}
