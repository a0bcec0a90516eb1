/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/find.h"

#include "formats/base/alloc.h"
#include "record/python/opcode_effects.h"
#include "record/unwind/live/find_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- towards the root ---- */

static void walker_add_seen(struct walker *w, const struct live_frame *seen)
{
    if (seen->code->hidden)
        return;
    w->up = alloc_grow(w->up, &w->up_room, w->up_count + 1, sizeof(*w->up));
    w->up[w->up_count++] = (struct link){ .address = seen->address,
                                          .code = seen->code,
                                          .instruction = seen->instruction };
}

/* Whether every stack ends at `frame`. `last_owner` is the owner of the frame below it. */
static bool at_root(const struct walker *w, const struct walk *walk, uint64_t frame, uint32_t last_owner)
{
    const struct layout *l = w->layout;
    if (l->thread_base_frame)
        return frame == word_at(snapshot_state(&walk->snapshot), l->thread_base_frame);
    return !l->root_is_shim || last_owner >= l->owner_shim;
}

/* Whether a plain frame is the first on the data stack. CPython leaves one word free in front of it. */
static bool is_first(const struct walker *w, const struct walk *walk, const struct live_frame *seen)
{
    return seen->chunk == 0 && seen->address == walk->snapshot.chunks[0].address + w->layout->chunk_data + 8;
}

/* The address of the first free word of the thread's data stack, as its state says. CPython raises it before a new
 * frame becomes current, and lowers it after the caller has become current. */
static uint64_t end_of_data(const struct walker *w, const struct walk *walk)
{
    return word_at(snapshot_state(&walk->snapshot), w->layout->thread_chunk + 8);
}

/* Whether a stack can begin with this generator's frame, which has no caller. This is so in 3.11 if the data stack has
 * no frame above it. `plain` is the last frame of the data stack that was found below it. */
static bool may_begin(const struct walker *w, const struct walk *walk, const struct live_frame *generator, bool called,
                      const struct live_frame *plain)
{
    if (w->layout->root_is_shim || (generator->life != LIFE_RUNNING && !called))
        return false;
    return plain->code ? is_first(w, walk, plain) : walk_has_no_data(w, walk);
}

/* Whether a frame is the first on the data stack and its entry shim is known to link to no other frame. Then the shim
 * need not be read again. */
static bool is_root(const struct walker *w, const struct walk *walk, const struct live_frame *seen)
{
    if (w->anew || seen->off_stack || walk->root == 0)
        return false;
    return is_first(w, walk, seen) && seen->previous == walk->root;
}

/* Handles a frame that is not in the copy. If it is an entry shim: ATTEMPT_ACCEPTED, and *above is the frame that the
 * shim links to. Otherwise the frame is added to the plan. */
static enum attempt pass_unread(struct walker *w, struct walk *walk, uint64_t frame, const struct live_frame *callee,
                                uint64_t *above)
{
    if (callee->code && !callee->off_stack && live_frame_above_shim(w, walk, frame, callee, above))
        return ATTEMPT_ACCEPTED;
    return snapshot_learn(&walk->snapshot, w->layout, w->remote, frame);
}

/* Returns the frame that an entry shim in the copy links to. The shim may have been overwritten already. */
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
    uint64_t frame; /* address of the next one */
    uint32_t steps;
    uint64_t passed;          /* address of a frame that was passed; reaching it again means that there is a ring */
    struct live_frame callee; /* the last frame that was no entry shim; code NULL: none yet */
    struct live_frame plain;  /* the last one on the data stack */
    struct live_frame leaf;   /* the last frame with no live frame below it */
    uint32_t last_owner;
    bool from_c;  /* the callee was called through C */
    bool certain; /* the leaf was alive at the moment of the copy */
};

/* Looks at the next frame. An entry shim need not be in the copy. */
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

/* Whether the climb is in a ring, which a stack of one moment does not have. Brent's method: needs at most about three
 * rounds. */
static bool in_ring(struct climb *climb)
{
    const uint32_t steps = climb->steps++;
    if (climb->frame == climb->passed)
        return true;
    if ((steps & (steps - 1)) == 0)
        climb->passed = climb->frame;
    return false;
}

/* Sets *called: whether the frame `seen` called climb->callee. If not, the callee has returned. */
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

/* Takes the frame `seen` into `up` and goes on. `called`: it called climb->callee; if not, the frames found so far have
 * returned. */
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
        walker_add_seen(w, seen);
    climb->callee = *seen;
    climb->callee.entered_c = called && climb->from_c;
    climb->from_c = l->frame_entry && !seen->compiled && seen->here[l->frame_entry];
    if (!seen->off_stack)
        climb->plain = *seen;
}

/* Whether the climb, which found no more callers, ended where every stack ends. */
static enum attempt check_root(struct walker *w, struct walk *walk, const struct climb *climb, bool empty)
{
    const struct live_frame *root = &climb->callee;
    const bool plain = !empty && !root->off_stack;
    const bool compiled = root->compiled && climb->frame == 0;
    if ((!compiled && !at_root(w, walk, climb->frame, climb->last_owner)) || (w->up_count == 0 && !empty))
        return ATTEMPT_TORN;
    if (plain && !is_first(w, walk, root))
        return ATTEMPT_TORN;
    walk->entered_at = !empty && climb->last_owner >= w->layout->owner_shim ? root->previous : 0;
    walk->root = plain ? walk->entered_at : 0;
    return ATTEMPT_ACCEPTED;
}

/* Finds the frames from the one at address `from` to the root, and leaves out frames that are not alive. *leaf is the
 * last of them. */
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
        /* An entry shim has no Python code. */
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
        const struct found_frame here = { seen.here, seen.off_stack, seen.chunk };
        w->joined = called ? walk_join(w, walk, &here, seen.address) : w->joined;
        found = called && w->joined > 0;
        if (found)
            break;
        pass_frame(w, &climb, &seen, called);
        found = w->up_count > 0 && is_root(w, walk, &seen);
        /* A suspended generator has no caller either, and is not the root. */
        if (!found && seen.owner == l->owner_generator && !seen.compiled && climb.frame == 0 &&
            !may_begin(w, walk, &seen, called, &climb.plain))
            return ATTEMPT_TORN;
    }
    *leaf = climb.leaf;
    return found ? ATTEMPT_ACCEPTED : check_root(w, walk, &climb, from == base);
}

/* The address of the frame of the last sample that is nearest the leaf and on the data stack; 0: none. Frames at or
 * beyond the address `below` in its chunk do not count; below 0: all frames count. */
static uint64_t last_plain_frame(const struct walker *w, struct walk *walk, uint64_t below)
{
    struct snapshot *s = &walk->snapshot;
    const struct found_frame end = below ? snapshot_locate(s, w->layout, below) : (struct found_frame){ 0 };
    const bool plain = end.bytes && !end.off_stack;
    for (uint32_t i = walk->epoch == w->codes->epoch ? walk->depth : 0; i > 0; i--) {
        const uint64_t frame = walk->links[i - 1].address;
        const struct found_frame found = snapshot_locate(s, w->layout, frame);
        if (!found.bytes || found.off_stack)
            continue;
        if (!plain || found.chunk != end.chunk || frame < below)
            return frame;
    }
    return 0;
}

/* Whether the leaf stands at an instruction that can drive a generator. */
static bool may_drive(const struct walker *w)
{
    const struct link *leaf = w->down_count > 0 ? &w->down[w->down_count - 1] : &w->up[0];
    return code_kind(leaf->code, leaf->instruction) & OPCODE_DRIVES;
}

/* ATTEMPT_ACCEPTED when a frame that has not begun lies behind the leaf, and the data stack ends with it. */
static enum attempt find_fresh(struct walker *w, struct walk *walk)
{
    struct live_frame next;
    if (w->behind >= end_of_data(w, walk)) /* the memory there may be the remains of any frame */
        return ATTEMPT_TORN;
    const enum attempt done = live_frame_look(w, walk, w->behind, &next);
    if (done != ATTEMPT_ACCEPTED)
        return done == ATTEMPT_LEARNED ? ATTEMPT_LEARNED : ATTEMPT_TORN;
    const bool fresh = next.code && !next.off_stack && next.instruction == next.code->first - 2;
    return fresh && w->behind + live_frame_bytes(w->layout, next.code) == end_of_data(w, walk) ? ATTEMPT_ACCEPTED
                                                                                               : ATTEMPT_TORN;
}

/* The thread seems to have no frames. Before 3.13 the C frame may not be written yet (find.h): then "no frames" is
 * believed only if the data stack is empty. */
static enum attempt find_none(struct walker *w, const struct walk *walk)
{
    w->up_count = w->joined = 0;
    return !w->layout->notes_current_late || walk_has_no_data(w, walk) ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
}

/* Before 3.13: whether the current frame seems to be arbitrary memory, from before the C frame was written (find.h).
 * `first` is the result of the search from the current frame. */
static bool is_astray(const struct walker *w, struct walk *walk, enum attempt first)
{
    if (first == ATTEMPT_ACCEPTED || first == ATTEMPT_NO_MEMORY)
        return first == ATTEMPT_NO_MEMORY || w->behind != end_of_data(w, walk);
    const struct layout *l = w->layout;
    const struct found_frame found = snapshot_locate(&walk->snapshot, l, snapshot_current(&walk->snapshot, l));
    const unsigned char *here = found.bytes;
    if (!here || !found.off_stack)
        return !here;
    /* It is in the copy because the memory could be read. This does not prove that it is a frame. */
    return first == ATTEMPT_NO_CODE ||
           (here[l->frame_owner] != l->owner_generator && here[l->frame_owner] < l->owner_shim);
}

/* Whether the copy has generators' frames. */
static bool has_generators(const struct walker *w, const struct walk *walk)
{
    const struct snapshot *s = &walk->snapshot;
    for (size_t i = 0; i < s->off_stack_read; i++)
        if (s->copy[s->off_stack[i].at + w->layout->frame_owner] == w->layout->owner_generator)
            return true;
    return false;
}

/* Searches from a frame of the last sample. `first` is the result of the search from the current frame;
 * ATTEMPT_ACCEPTED: there is no current frame. */
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
    /* The leaf may drive a generator that the search did not find. Then the leaf would get time that belongs to the
     * generator. */
    return first != ATTEMPT_ACCEPTED && has_generators(w, walk) && may_drive(w) ? ATTEMPT_TORN : ATTEMPT_ACCEPTED;
}

/* Whether the thread may have frames although the current frame leads to no stack. Examples: the current frame was a
 * generator's and is suspended by now; for a moment there was no current frame. */
static bool may_have_others(const struct walker *w, struct walk *walk, uint64_t current, enum attempt first)
{
    if (first == ATTEMPT_ACCEPTED)
        return !w->layout->notes_current_late || !walk_has_no_data(w, walk);
    if (first == ATTEMPT_NO_MEMORY &&
        !w->layout->notes_current_late) { /* it has returned, and other frames have its memory */
        const struct found_frame found = snapshot_locate(&walk->snapshot, w->layout, current);
        return found.bytes && !found.off_stack;
    }
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
