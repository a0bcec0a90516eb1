/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/verify.h"

#include "formats/base/alloc.h"
#include "record/unwind/live/live_frame.h"

#define NEAR_LEAF     8  /* frames */
#define SURE_COPIES   2  /* more, in a row, that show a call which is not known */
#define SURE_ODD      3  /* the same of another function than its caller is known to call */
#define SURE_FAR      4  /* the same far from the leaf */
#define SURE_ATTEMPTS 3  /* before this one, calls that need more than SURE_COPIES are not looked at twice */
#define CUT_ATTEMPTS  40 /* after so many, calls that could not be seen for sure are left out, ... */
#define CUT_LOOKS     6  /* ... if there were so many looks at them: attempts are also for learning where things are */
#define GONE_CALLS    16 /* that one copy showed and the next one does not, before those are looked for in vain */

static uint32_t line_of(const struct unwinder *u, const struct link *link)
{
    return definitions_line(u->codes->definitions, link->frame);
}

static bool is_known(const struct unwinder *u, const struct link *caller, const struct link *callee)
{
    return !caller || callgraph_known(&u->callgraph, caller->frame, line_of(u, callee));
}

static struct made_call call_between(const struct unwinder *u, const struct link *caller, const struct link *callee)
{
    return (struct made_call){ caller->frame, line_of(u, callee), callee->code->function };
}

/* How many copies have to show a call that is not known, see callgraph.h. */
static uint32_t copies_needed(const struct unwinder *u, const struct made_call *call, uint32_t from_leaf)
{
    if (from_leaf > NEAR_LEAF)
        return SURE_FAR;
    return callgraph_odd(&u->callgraph, call) ? SURE_ODD : SURE_COPIES;
}

/* Whether it is known that the generator `callee`, which another one drives, is there below the function that drives
 * them all: generators stay where they are while others drive them. */
static bool is_known_below(const struct unwinder *u, const struct link *driver, const struct link *caller,
                           const struct link *callee)
{
    return !driver || driver == caller || !code_is_generator(callee->code) ||
           callgraph_known(&u->callgraph, driver->frame, line_of(u, callee) | CALLGRAPH_DRIVEN);
}

/* Who drives what the frame calls, when `driver` drives the frame. */
static const struct link *driver_below(const struct link *driver, const struct link *link)
{
    return code_is_generator(link->code) ? driver : link;
}

/* The first frame that its caller is not known to call; fresh_count: there is none. */
static uint32_t first_unknown(const struct unwinder *u, const struct link *above)
{
    uint32_t known_caller = 0, known_callee = 0;
    const struct link *caller = above, *driver = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], driver = driver_below(driver, caller), i++) {
        const struct link *callee = &u->fresh[i];
        /* In a recursion one look is enough. */
        if (!caller || (caller->frame == known_caller && callee->frame == known_callee))
            continue;
        if (!is_known(u, caller, callee) || !is_known_below(u, driver, caller, callee))
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

/* So many copies show the root. What is above it, and leads to nothing, is another piece than the root. */
static uint32_t sure_of_root(const struct unwinder *u, struct walk *walk)
{
    const struct link *root = u->fresh_count > 0 ? &u->fresh[0] : NULL;
    if (!walk->snapshot.twice)
        return 0;
    if (walk->snapshot.near)
        return LIVE_FRAME_UNSEEN;
    return root ? live_frame_sure(&u->walker, walk, root, root) : 1;
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
    bool near;                   /* what is not shown, the root or that call, is in one piece */
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

/* Notes a call that is not known, and how many copies showed it for sure now. Returns how many in a row do; *before:
 * how many did before this one. */
static uint32_t note_call(struct look *look, uint32_t caller, uint32_t callee, uint32_t sure, uint32_t *before)
{
    struct doubts *now = look->now;
    *before = shown_before(look, caller, callee);
    const uint32_t copies = sure == LIVE_FRAME_UNSEEN ? *before : sure ? *before + sure : 0;
    now->calls = alloc_grow(now->calls, &now->room, now->count + 1, sizeof(*now->calls));
    now->calls[now->count++] = (struct doubted){ caller, callee, copies };
    return copies;
}

static bool is_shown_root(struct unwinder *u, struct walk *walk, struct look *look)
{
    uint32_t before;
    look->near = false;
    return note_call(look, 0, root_function(u), sure_of_root(u, walk), &before) >= SURE_COPIES;
}

/* How many copies show the call at the frame at `i`, of those that are made twice. */
static uint32_t sure_copies(const struct unwinder *u, struct walk *walk, const struct link *caller, uint32_t i)
{
    if (!walk->snapshot.twice)
        return 0;
    const uint32_t sure = live_frame_sure(&u->walker, walk, caller, &u->fresh[i]);
    return sure > 1 && sure != LIVE_FRAME_UNSEEN && u->fresh_count - i > NEAR_LEAF ? 1 : sure;
}

/* The frame at `i` has not been shown often enough. */
static void note_not_shown(const struct unwinder *u, struct walk *walk, struct look *look, const struct link *caller,
                           uint32_t i)
{
    if (i >= look->shown)
        return;
    look->shown = i;
    if (look->root)
        look->near = live_frame_near(&u->walker, walk, caller, &u->fresh[i]);
}

/* At a call of the frame at `i`. It counts as seen also when the sample is given up for another call's sake, else calls
 * that are mostly shown together with a short one would never be known. */
static void look_at(struct unwinder *u, struct walk *walk, struct look *look, const struct link *caller, uint32_t i)
{
    const struct link *callee = &u->fresh[i];
    const struct made_call call = call_between(u, caller, callee);
    const uint32_t needed = copies_needed(u, &call, u->fresh_count - i);
    uint32_t before;
    const uint32_t copies = note_call(look, call.caller, call.callee, sure_copies(u, walk, caller, i), &before);
    if (copies < needed)
        note_not_shown(u, walk, look, caller, i);
    else if (before < needed && !callee->suspended)
        callgraph_see(&u->callgraph, &call, u->tick);
    if (live_frame_together(&u->walker, walk, caller, callee))
        callgraph_show(&u->callgraph, &call, u->tick);
    look->unlikely |= needed > SURE_COPIES;
}

/* At the generator at `i`, of which it is not known that it is there below its driver. */
static void look_below(struct unwinder *u, struct walk *walk, struct look *look, const struct link *driver, uint32_t i)
{
    const struct link *callee = &u->fresh[i];
    uint32_t before;
    const uint32_t copies = note_call(look, driver->frame, line_of(u, callee) | CALLGRAPH_DRIVEN,
                                      sure_copies(u, walk, driver, i), &before);
    if (copies < SURE_COPIES)
        note_not_shown(u, walk, look, driver, i);
    else if (before < SURE_COPIES && !callee->suspended)
        callgraph_see_driven(&u->callgraph, driver->frame, line_of(u, callee), u->tick);
}

/* At all of them; `first` is the first callee. The next copy is compared with this one. */
static struct look look_at_calls(struct unwinder *u, struct walk *walk, const struct link *above, uint32_t first,
                                 bool odd)
{
    struct look look = { .before = &walk->doubts, .now = &u->doubts, .shown = u->fresh_count, .near = true };
    look.now->count = 0;
    look.now->looks = look.before->looks + 1;
    look.root = !odd || is_shown_root(u, walk, &look);
    const struct link *caller = above, *driver = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], driver = driver_below(driver, caller), i++) {
        if (i >= first && !is_known(u, caller, &u->fresh[i]))
            look_at(u, walk, &look, caller, i);
        if (i >= first && !is_known_below(u, driver, caller, &u->fresh[i]))
            look_below(u, walk, &look, driver, i);
    }
    const struct doubts before = walk->doubts;
    walk->doubts = u->doubts;
    u->doubts = before;
    return look;
}

bool verify_calls(struct unwinder *u, struct walk *walk, uint32_t attempts)
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
    walk->snapshot.near = look.near;
    if (walk->snapshot.twice)
        return false;
    u->fresh_count = look.shown;
    return true;
}
