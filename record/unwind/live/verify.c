/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/verify.h"

#include "formats/base/alloc.h"
#include "record/unwind/live/live_frame.h"

#define NEAR_LEAF   8 /* frames */
#define SURE_COPIES 2 /* copies in a row, besides the first, that have to show an unknown call, ... */
#define SURE_ODD    3 /* ... a call of another function than the caller is known to call, ... */
#define SURE_FAR    4 /* ... a call more than NEAR_LEAF frames from the leaf */
#define SURE_ATTEMPTS                                                                                                  \
    3 /* before this attempt, a copy with a call that needs more than SURE_COPIES is dropped at once */
#define CUT_ATTEMPTS 40 /* after this many attempts the stack is cut off above the first unproved call, ... */
#define CUT_LOOKS    6  /* ... if the calls of this many copies were examined: other attempts only correct the plan */
#define GONE_CALLS   16 /* calls of the copy before that are searched for a call of this copy */

static uint32_t line_of(const struct unwinder *u, const struct link *link)
{
    return definitions_line(u->codes->definitions, link->frame);
}

static bool call_is_known(const struct unwinder *u, const struct link *caller, const struct link *callee)
{
    return !caller || callgraph_known(&u->callgraph, caller->frame, line_of(u, callee));
}

static struct made_call call_between(const struct unwinder *u, const struct link *caller, const struct link *callee)
{
    return (struct made_call){ caller->frame, line_of(u, callee), callee->code->function };
}

/* How many more copies have to show an unknown call (callgraph.h). `from_leaf`: frames between the call and the leaf.
 */
static uint32_t copies_needed(const struct unwinder *u, const struct made_call *call, uint32_t from_leaf)
{
    if (from_leaf > NEAR_LEAF)
        return SURE_FAR;
    return callgraph_odd(&u->callgraph, call) ? SURE_ODD : SURE_COPIES;
}

/* `driver` drives `caller`, a generator, which drives `callee`, another generator. Whether `driver` is known to drive
 * `callee` in this way. The check of `caller` and `callee` alone is not enough: `callee` stays suspended at its line
 * while another function drives `caller`. */
static bool is_known_below(const struct unwinder *u, const struct link *driver, const struct link *caller,
                           const struct link *callee)
{
    return !driver || driver == caller || !code_is_generator(callee->code) ||
           callgraph_known(&u->callgraph, driver->frame, line_of(u, callee) | CALLGRAPH_DRIVEN);
}

/* Returns the driver of the frames that `link` calls: `driver`, if `link` is a generator that `driver` drives, else
 * `link` itself. */
static const struct link *driver_below(const struct link *driver, const struct link *link)
{
    return code_is_generator(link->code) ? driver : link;
}

/* The index in `fresh` of the first frame whose caller is not known to call it; fresh_count: there is none. `above` is
 * the caller of the first frame; NULL: the first frame is the root. */
static uint32_t first_unknown(const struct unwinder *u, const struct link *above)
{
    uint32_t known_caller = 0, known_callee = 0;
    const struct link *caller = above, *driver = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], driver = driver_below(driver, caller), i++) {
        const struct link *callee = &u->fresh[i];
        /* A recursion repeats one call. */
        if (!caller || (caller->frame == known_caller && callee->frame == known_callee))
            continue;
        if (!call_is_known(u, caller, callee) || !is_known_below(u, driver, caller, callee))
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

/* Whether the stack has another root than in the last sample, or none. The thread may be in a state that lasts for
 * nanoseconds, or its address may belong to another thread now. */
static bool is_odd(const struct unwinder *u, const struct walk *walk, const struct link *above)
{
    if (above || (walk->sampled && walk->depth == 0))
        return false;
    return u->fresh_count == 0 || (walk->sampled && walk->root_function != root_function(u));
}

/* How many more copies show the root. LIVE_FRAME_UNSEEN for near copies: the entry shim above the root is in another
 * piece. */
static uint32_t sure_of_root(const struct unwinder *u, struct walk *walk)
{
    const struct link *root = u->fresh_count > 0 ? &u->fresh[0] : NULL;
    if (!walk->snapshot.twice)
        return 0;
    if (walk->snapshot.near)
        return LIVE_FRAME_UNSEEN;
    return root ? live_frame_sure(&u->walker, walk, root, root) : 1;
}

/* Whether the stack differs from that of the last sample. */
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

/* CPython does not note the end of a frame's stack of values at each instruction. So a caller may seem to resume a
 * generator that it had on that stack before. A suspended generator, and the frames below it, stay only if the caller
 * is known to call it. */
static void leave_out_suspended(struct unwinder *u, const struct link *above)
{
    const struct link *caller = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], i++)
        if (caller && u->fresh[i].suspended && !call_is_known(u, caller, &u->fresh[i]))
            u->fresh_count = i;
}

/* The examination of a copy's unknown calls. */
struct call_look {
    struct doubts *before, *now; /* unknown calls of the copy before, and of this copy */
    uint32_t from;               /* index in `before` from which the next call is searched; both lists are root first */
    bool root;                   /* the root is proved: enough copies showed it, or it is not odd */
    uint32_t shown;              /* index in `fresh` of the first frame whose call is not proved; fresh_count: none */
    bool unlikely;               /* a call needs more than SURE_COPIES */
    bool near; /* the first call that is not proved has both frames in one piece; false for the root */
};

/* How many copies in a row, up to the copy before this one, showed a call. */
static uint32_t shown_before(struct call_look *look, uint32_t caller, uint32_t callee)
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

/* Notes an unknown call, and how many more copies of this system call showed the call unchanged (`sure`). Returns how
 * many copies in a row show the call. *before: how many did so before this system call. */
static uint32_t note_call(struct call_look *look, uint32_t caller, uint32_t callee, uint32_t sure, uint32_t *before)
{
    struct doubts *now = look->now;
    *before = shown_before(look, caller, callee);
    const uint32_t copies = sure == LIVE_FRAME_UNSEEN ? *before : sure ? *before + sure : 0;
    now->calls = alloc_grow(now->calls, &now->room, now->count + 1, sizeof(*now->calls));
    now->calls[now->count++] = (struct doubted){ caller, callee, copies };
    return copies;
}

static bool is_shown_root(struct unwinder *u, struct walk *walk, struct call_look *look)
{
    uint32_t before;
    look->near = false;
    return note_call(look, 0, root_function(u), sure_of_root(u, walk), &before) >= SURE_COPIES;
}

/* How many second or near copies show the call of the frame at index `i` unchanged. Far from the leaf, near copies
 * count as one. */
static uint32_t sure_copies(const struct unwinder *u, struct walk *walk, const struct link *caller, uint32_t i)
{
    if (!walk->snapshot.twice)
        return 0;
    const uint32_t sure = live_frame_sure(&u->walker, walk, caller, &u->fresh[i]);
    return sure > 1 && sure != LIVE_FRAME_UNSEEN && u->fresh_count - i > NEAR_LEAF ? 1 : sure;
}

/* Notes that too few copies show the call of the frame at index `i`. */
static void note_not_shown(const struct unwinder *u, struct walk *walk, struct call_look *look,
                           const struct link *caller, uint32_t i)
{
    if (i >= look->shown)
        return;
    look->shown = i;
    if (look->root)
        look->near = live_frame_near(&u->walker, walk, caller, &u->fresh[i]);
}

/* Examines the call of the frame at index `i`. A call that enough copies showed counts as seen, even if the sample is
 * dropped because of another call. Otherwise a call that mostly appears together with a very short call would never
 * become known. */
static void call_look_at(struct unwinder *u, struct walk *walk, struct call_look *look, const struct link *caller,
                         uint32_t i)
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

/* Examines the generator at index `i`, which `driver` is not known to drive. */
static void look_below(struct unwinder *u, struct walk *walk, struct call_look *look, const struct link *driver,
                       uint32_t i)
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

/* Examines all unknown calls; `first` is the index of the first one. Then walk->doubts has the calls of this copy, for
 * comparison with the next copy. */
static struct call_look look_at_calls(struct unwinder *u, struct walk *walk, const struct link *above, uint32_t first,
                                      bool odd)
{
    struct call_look look = { .before = &walk->doubts, .now = &u->doubts, .shown = u->fresh_count, .near = true };
    look.now->count = 0;
    look.now->looks = look.before->looks + 1;
    look.root = !odd || is_shown_root(u, walk, &look);
    const struct link *caller = above, *driver = above;
    for (uint32_t i = 0; i < u->fresh_count; caller = &u->fresh[i], driver = driver_below(driver, caller), i++) {
        if (i >= first && !call_is_known(u, caller, &u->fresh[i]))
            call_look_at(u, walk, &look, caller, i);
        if (i >= first && !is_known_below(u, driver, caller, &u->fresh[i]))
            look_below(u, walk, &look, driver, i);
    }
    const struct doubts before = walk->doubts;
    walk->doubts = u->doubts;
    u->doubts = before;
    return look;
}

struct verdict verify_calls(struct unwinder *u, struct walk *walk, uint32_t attempts)
{
    const struct link *above = u->walker.joined ? &walk->links[u->walker.joined - 1] : NULL;
    leave_out_suspended(u, above);
    struct verdict verdict = { .frames = u->fresh_count, .near = walk->snapshot.near };
    const bool odd = is_odd(u, walk, above);
    const uint32_t first = first_unknown(u, above);
    /* A stack that has not changed proves nothing new: the program may have lost its processor in the middle of a call,
     * and would make a wrong call known. */
    if (!odd && (first == u->fresh_count || !has_moved(u, walk))) {
        verdict.believed = true;
        return verdict;
    }
    const struct call_look look = look_at_calls(u, walk, above, first, odd);
    if (look.unlikely && attempts < SURE_ATTEMPTS) { /* most likely the copy is torn and there is no such call */
        walk->doubts.count = 0;
        verdict.cut = walk->cut;
        verdict.twice = walk->snapshot.twice;
        return verdict;
    }
    /* Some calls are too short to appear in two copies. The frames above such a call are proved. */
    verdict.frames = look.shown;
    verdict.cut = look.shown < u->fresh_count;
    verdict.twice = !look.root || (verdict.cut && (attempts < CUT_ATTEMPTS || walk->doubts.looks < CUT_LOOKS));
    verdict.near = look.near;
    verdict.believed = !verdict.twice;
    return verdict;
}
