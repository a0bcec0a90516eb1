/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/find.h"

#include "formats/base/alloc.h"
#include "record/python/opcode_effects.h"
#include "record/unwind/live/find_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- towards the root ---- */

static void add_up(struct walker *w, const struct live_frame *seen)
{
    if (seen->code->hidden)
        return;
    w->up = alloc_grow(w->up, &w->up_room, w->up_count + 1, sizeof(*w->up));
    w->up[w->up_count++] = (struct link){ .address = seen->address,
                                          .code = seen->code,
                                          .instruction = seen->instruction };
}

/* Whether there is no caller because every stack ends here. */
static bool at_root(const struct walker *w, const struct walk *walk, uint64_t frame, uint32_t last_owner)
{
    const struct layout *l = w->layout;
    if (l->thread_base_frame)
        return frame == word_at(snapshot_state(&walk->snapshot), l->thread_base_frame);
    return !l->root_is_shim || last_owner >= l->owner_shim;
}

/* Whether a plain frame is the first on the data stack: a word is left free in front of it. */
static bool is_first(const struct walker *w, const struct walk *walk, const struct live_frame *seen)
{
    return seen->chunk == 0 && seen->address == walk->snapshot.chunks[0].address + w->layout->chunk_data + 8;
}

/* Where the first free word of the thread's data stack was. It goes up before a frame there is the current one, and
 * down after another is. */
static uint64_t end_of_data(const struct walker *w, const struct walk *walk)
{
    return word_at(snapshot_state(&walk->snapshot), w->layout->thread_chunk + 8);
}

/* Whether a thread can have begun with this generator's frame, which has no caller: in 3.11 one may, with nothing above
 * it on the data stack. `plain` is the last frame there that was seen below it. */
static bool may_begin(const struct walker *w, const struct walk *walk, const struct live_frame *generator, bool called,
                      const struct live_frame *plain)
{
    if (w->layout->root_is_shim || (generator->life != LIFE_RUNNING && !called))
        return false;
    return plain->code ? is_first(w, walk, plain) : walk_has_no_data(w, walk);
}

/* A frame that nothing is below on the data stack, and whose entry shim was seen to be the last: that need not be
 * read each time. */
static bool is_root(const struct walker *w, const struct walk *walk, const struct live_frame *seen)
{
    if (w->anew || seen->off_stack || walk->root == 0)
        return false;
    return is_first(w, walk, seen) && seen->previous == walk->root;
}

/* Learns of a frame that is not in the copy. An entry shim need not be there: *above is what it leads to. */
static enum attempt pass_unread(struct walker *w, struct walk *walk, uint64_t frame, const struct live_frame *callee,
                                uint64_t *above)
{
    if (callee->code && !callee->off_stack && live_frame_above_shim(w, walk, frame, callee, above))
        return ATTEMPT_ACCEPTED;
    return snapshot_learn(&walk->snapshot, w->layout, w->remote, frame);
}

/* The same for a mark that is in the copy, and may be overwritten by now. */
static uint64_t pass_shim(struct walker *w, struct walk *walk, const struct live_frame *shim,
                          const struct live_frame *callee)
{
    uint64_t above;
    struct live_frame caller;
    if (!callee->code || callee->off_stack)
        return shim->previous;
    if (live_frame_look(w, walk, shim->previous, &caller) == ATTEMPT_ACCEPTED && caller.off_stack)
        return shim->previous;
    return live_frame_above_shim(w, walk, shim->address, callee, &above) ? above : shim->previous;
}

/* On the way from a frame to the root. */
struct climb {
    uint64_t frame; /* the next one */
    uint32_t steps;
    uint64_t passed;          /* a frame that was passed; to come there again is a ring */
    struct live_frame callee; /* the last frame that was no mark; code NULL: none yet */
    struct live_frame plain;  /* the last one on the data stack */
    struct live_frame leaf;   /* the last one that nothing alive was below */
    uint32_t last_owner;
    bool from_c;  /* the callee was called through C */
    bool certain; /* the leaf was alive at the moment */
};

/* Looks at the next frame. A mark need not be in the copy. */
static enum attempt look_at_next(struct walker *w, struct walk *walk, struct climb *climb, struct live_frame *seen)
{
    enum attempt done = live_frame_look(w, walk, climb->frame, seen);
    if (done == ATTEMPT_LEARNED && !seen->here) {
        done = pass_unread(w, walk, climb->frame, &climb->callee, &seen->previous);
        seen->owner = w->layout->owner_shim;
    } else if (done == ATTEMPT_ACCEPTED && seen->owner >= w->layout->owner_shim) {
        seen->previous = pass_shim(w, walk, seen, &climb->callee);
    }
    return done;
}

/* A stack of one moment has no ring. Finds one in twice its length (Brent). */
static bool in_ring(struct climb *climb)
{
    const uint32_t steps = climb->steps++;
    if (climb->frame == climb->passed)
        return true;
    if ((steps & (steps - 1)) == 0)
        climb->passed = climb->frame;
    return false;
}

/* Whether this frame called the one below it that was found last; *called is false when what is below it has returned.
 */
static enum attempt find_called(struct walker *w, struct walk *walk, const struct climb *climb,
                                const struct live_frame *seen, bool *called)
{
    *called = false;
    if (w->up_count == 0)
        return ATTEMPT_ACCEPTED;
    const enum attempt done = live_frame_called(w, walk, seen, &climb->callee, climb->from_c, climb->certain);
    if (done == ATTEMPT_LEARNED)
        return ATTEMPT_LEARNED;
    *called = done == ATTEMPT_ACCEPTED;
    const bool apart = *called && (seen->off_stack || climb->callee.off_stack);
    if (apart && (!live_frame_still_there(w, walk, seen, climb->from_c) ||
                  !live_frame_still_there(w, walk, &climb->callee, false)))
        return ATTEMPT_TORN;
    return ATTEMPT_ACCEPTED;
}

/* A frame whose callee, if any, is known. */
static void pass_frame(struct walker *w, struct climb *climb, const struct live_frame *seen, bool called)
{
    const struct layout *l = w->layout;
    if (!called)
        w->up_count = 0;
    if (w->up_count == 0) {
        climb->leaf = *seen;
        climb->certain = seen->life == LIFE_RUNNING && !seen->off_stack;
    }
    if (called || (seen->life != LIFE_DEAD && seen->life != LIFE_PAUSED))
        add_up(w, seen);
    climb->callee = *seen;
    climb->callee.entered_c = called && climb->from_c;
    climb->from_c = l->frame_entry && seen->here[l->frame_entry];
    if (!seen->off_stack)
        climb->plain = *seen;
}

/* Whether the walk, which found no more callers, ended where every stack ends. */
static enum attempt check_root(struct walker *w, struct walk *walk, const struct climb *climb, bool empty)
{
    const struct live_frame *root = &climb->callee;
    const bool plain = !empty && !root->off_stack;
    if (!at_root(w, walk, climb->frame, climb->last_owner) || (w->up_count == 0 && !empty))
        return ATTEMPT_TORN;
    if (plain && !is_first(w, walk, root))
        return ATTEMPT_TORN;
    walk->root = plain && climb->last_owner >= w->layout->owner_shim ? root->previous : 0;
    return ATTEMPT_ACCEPTED;
}

/* From a frame to the root; what turns out not to be alive is left out. */
static enum attempt go_up(struct walker *w, struct walk *walk, uint64_t from, struct live_frame *leaf)
{
    const struct layout *l = w->layout;
    const uint64_t base = l->thread_base_frame ? word_at(snapshot_state(&walk->snapshot), l->thread_base_frame) : 0;
    struct climb climb = { .frame = from };
    bool found = false;
    w->up_count = w->joined = 0;
    w->behind = 0;
    while (!found && climb.frame && climb.frame != base) {
        struct live_frame seen;
        bool called;
        if (in_ring(&climb))
            return ATTEMPT_TORN;
        if (w->up_count >= DEPTH_LIMIT || climb.steps > 2 * DEPTH_LIMIT)
            return ATTEMPT_TOO_DEEP;
        enum attempt done = look_at_next(w, walk, &climb, &seen);
        if (done != ATTEMPT_ACCEPTED)
            return done;
        climb.last_owner = seen.owner;
        climb.frame = seen.previous;
        /* Entered from C: no Python code of its own, only a mark on the way. */
        if (seen.owner >= l->owner_shim) {
            climb.from_c = true;
            continue;
        }
        done = find_called(w, walk, &climb, &seen, &called);
        if (done != ATTEMPT_ACCEPTED)
            return done;
        if (!called)
            w->behind = 0;
        else
            w->up[w->up_count - 1].from_c = climb.from_c;
        if (!seen.off_stack && w->behind == 0 && seen.life != LIFE_DEAD)
            w->behind = seen.address + live_frame_bytes(l, seen.code);
        found = called && (w->joined = walk_join(w, walk, seen.address)) > 0;
        if (found)
            break;
        pass_frame(w, &climb, &seen, called);
        found = w->up_count > 0 && is_root(w, walk, &seen);
        /* A generator that is suspended has no caller either. */
        if (!found && seen.owner == l->owner_generator && climb.frame == 0 &&
            !may_begin(w, walk, &seen, called, &climb.plain))
            return ATTEMPT_TORN;
    }
    *leaf = climb.leaf;
    return found ? ATTEMPT_ACCEPTED : check_root(w, walk, &climb, from == base);
}

/* The frame of the last sample that is nearest the leaf, on the data stack, and not below one there; 0: anywhere. */
static uint64_t last_plain_frame(const struct walker *w, struct walk *walk, uint64_t below)
{
    struct snapshot *s = &walk->snapshot;
    const bool plain = below && snapshot_find(s, w->layout, below) && !s->found_off_stack;
    const size_t chunk = s->found_chunk;
    for (uint32_t i = walk->epoch == w->codes->epoch ? walk->depth : 0; i > 0; i--) {
        const uint64_t frame = walk->links[i - 1].address;
        if (!snapshot_find(s, w->layout, frame) || s->found_off_stack)
            continue;
        if (!plain || s->found_chunk != chunk || frame < below)
            return frame;
    }
    return 0;
}

/* Whether the leaf that was found can be about to go on with a generator. */
static bool may_drive(const struct walker *w)
{
    const struct link *leaf = w->down_count > 0 ? &w->down[w->down_count - 1] : &w->up[0];
    return code_kind(leaf->code, leaf->instruction) & OPCODE_DRIVES;
}

/* Whether a frame that has not begun lies behind the stack that was found, and ends the data stack. */
static enum attempt find_fresh(struct walker *w, struct walk *walk)
{
    struct live_frame next;
    if (w->behind >= end_of_data(w, walk)) /* what is there is the rest of any frame */
        return ATTEMPT_TORN;
    const enum attempt done = live_frame_look(w, walk, w->behind, &next);
    if (done != ATTEMPT_ACCEPTED)
        return done == ATTEMPT_LEARNED ? ATTEMPT_LEARNED : ATTEMPT_TORN;
    const bool fresh = next.code && !next.off_stack && next.instruction == next.code->first - 2;
    return fresh && w->behind + live_frame_bytes(w->layout, next.code) == end_of_data(w, walk) ? ATTEMPT_ACCEPTED
                                                                                               : ATTEMPT_TORN;
}

/* The thread is said to have no frames. Where the current frame is noted late, that may be what was in memory before:
 * then its data stack has some. */
static enum attempt find_none(struct walker *w, const struct walk *walk)
{
    w->up_count = w->joined = 0;
    return !w->layout->notes_current_late || walk_has_no_data(w, walk) ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
}

/* Whether the current frame, of which came `first`, seems to be what was in memory before it was noted. */
static bool is_astray(const struct walker *w, struct walk *walk, enum attempt first)
{
    if (first == ATTEMPT_ACCEPTED || first == ATTEMPT_NO_MEMORY)
        return first == ATTEMPT_NO_MEMORY || w->behind != end_of_data(w, walk);
    const struct layout *l = w->layout;
    const unsigned char *here = snapshot_find(&walk->snapshot, l, snapshot_current(&walk->snapshot, l));
    if (!here || !walk->snapshot.found_off_stack)
        return !here;
    /* It is in the copy since it could be read: that makes it no frame. */
    return first == ATTEMPT_NO_CODE ||
           (here[l->frame_owner] != l->owner_generator && here[l->frame_owner] < l->owner_shim);
}

/* Whether there are generators that may be at work. */
static bool has_generators(const struct walker *w, const struct walk *walk)
{
    const struct snapshot *s = &walk->snapshot;
    for (size_t i = 0; i < s->off_stack_read; i++)
        if (s->copy[s->off_stack[i].at + w->layout->frame_owner] == w->layout->owner_generator)
            return true;
    return false;
}

/* From a frame of the last sample; `first` is what came of the current one, ATTEMPT_ACCEPTED: there is none. */
static enum attempt find_from(struct walker *w, struct walk *walk, uint64_t frame, enum attempt first)
{
    struct live_frame leaf = { 0 };
    const enum attempt up = go_up(w, walk, frame, &leaf);
    if (up != ATTEMPT_ACCEPTED || w->up_count == 0)
        return first == ATTEMPT_ACCEPTED ? find_none(w, walk) : up == ATTEMPT_ACCEPTED ? ATTEMPT_TORN : up;
    const enum attempt down = find_callees(w, walk, leaf);
    if (down != ATTEMPT_ACCEPTED)
        return down;
    if (w->layout->notes_current_late && is_astray(w, walk, first))
        return find_fresh(w, walk);
    /* To leave out a generator at work that was not found from above would tell too much of the frame. */
    return first != ATTEMPT_ACCEPTED && has_generators(w, walk) && may_drive(w) ? ATTEMPT_TORN : ATTEMPT_ACCEPTED;
}

/* Whether the thread may have frames although its current one leads to none: that was a generator's, and is suspended
 * by now; or none was noted for a moment. */
static bool may_have_others(const struct walker *w, struct walk *walk, uint64_t current, enum attempt first)
{
    if (first == ATTEMPT_ACCEPTED)
        return !w->layout->notes_current_late || !walk_has_no_data(w, walk);
    if (first == ATTEMPT_NO_MEMORY && !w->layout->notes_current_late) /* it has returned, and others lie where it was */
        return snapshot_find(&walk->snapshot, w->layout, current) && !walk->snapshot.found_off_stack;
    return first == ATTEMPT_TORN || first == ATTEMPT_NO_CODE || first == ATTEMPT_NO_MEMORY;
}

enum attempt find_stack(struct walker *w, struct walk *walk)
{
    const uint64_t current = snapshot_current(&walk->snapshot, w->layout);
    w->met_count = w->up_count = w->down_count = w->joined = 0;
    if (!walk->entry_shims)
        walk->entry_shims = alloc_zeroed(ENTRY_SHIMS, sizeof(*walk->entry_shims));
    walk_compare(w, walk);
    struct live_frame leaf = { 0 };
    const enum attempt first = current ? go_up(w, walk, current, &leaf) : ATTEMPT_ACCEPTED;
    if (first == ATTEMPT_ACCEPTED && w->up_count > 0)
        return find_callees(w, walk, leaf);
    const uint64_t below = first == ATTEMPT_NO_MEMORY ? current : 0;
    const uint64_t last = may_have_others(w, walk, current, first) ? last_plain_frame(w, walk, below) : 0;
    const uint64_t other = last ? find_callees_last_alive(w, walk, last) : 0;
    if (other == 0 || other == current)
        return first == ATTEMPT_ACCEPTED ? find_none(w, walk) : first;
    const enum attempt found = find_from(w, walk, other, first);
    return found == ATTEMPT_TORN && first == ATTEMPT_NO_MEMORY ? first : found;
}
