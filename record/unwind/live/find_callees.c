/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/find_internal.h"

#include "formats/base/alloc.h"
#include "record/python/opcode_effects.h"

/* Finds the generator that a frame resumes. ATTEMPT_ACCEPTED: *callee is its frame. */
static enum attempt find_resumed(struct walker *w, struct walk *walk, const struct live_frame *caller, uint32_t kind,
                                 struct live_frame *callee)
{
    const struct layout *l = w->layout;
    struct values values;
    const enum attempt done = live_frame_values(w, walk, caller, &values);
    if (done != ATTEMPT_ACCEPTED)
        return done;
    for (size_t i = 0; i < walk->snapshot.off_stack_read; i++) {
        const uint64_t frame = walk->snapshot.off_stack[i].frame;
        if (!live_frame_values_have(l, &values, frame))
            continue;
        const enum attempt looked = live_frame_look(w, walk, frame, callee);
        if (looked == ATTEMPT_LEARNED)
            return ATTEMPT_LEARNED;
        if (looked != ATTEMPT_ACCEPTED || callee->owner != l->owner_generator || callee->life == LIFE_DEAD)
            continue;
        /* A suspended generator does not name its caller. At an instruction that hides what it does, the generator may
         * have been suspended for long. */
        callee->suspended = callee->previous != caller->address;
        const bool resumed = !callee->suspended || !(kind & OPCODE_HIDES);
        return resumed && live_frame_still_there(w, walk, caller, false) ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
    }
    return ATTEMPT_TORN;
}

/* Whether a frame without a callee is alive. Up to 3.13 a frame that has returned looks like LIFE_CALLING if its
 * function is traced: the tracing instruction hides the return instruction. */
static bool is_alive(const struct walker *w, const struct live_frame *seen)
{
    if (seen->life != LIFE_CALLING)
        return seen->life == LIFE_RUNNING;
    return w->layout->marks_returned_frames || !(live_frame_kind(seen) & OPCODE_HIDES);
}

/* Whether the frame at `here`, which lies behind `caller`, was called by C code that `caller` called. */
static bool entered_from(const struct layout *l, struct walk *walk, const unsigned char *here,
                         const struct live_frame *caller, uint32_t kind)
{
    const uint64_t previous = word_at(here, l->frame_previous);
    if (l->frame_entry)
        return here[l->frame_entry] && previous == caller->address;
    return !(kind & OPCODE_RESUMES) && live_frame_known_shim(walk, previous, caller->address);
}

/* Whether the frame at `here`, which lies behind `caller`, was called by `caller`, or by C code that `caller` called.
 */
static bool names_caller(const struct layout *l, struct walk *walk, const unsigned char *here,
                         const struct live_frame *caller, uint32_t kind)
{
    if (caller->life == LIFE_RUNNING)
        return entered_from(l, walk, here, caller, kind);
    if (word_at(here, l->frame_previous) == caller->address)
        return live_frame_calls_plainly(caller, kind);
    return !l->marks_running_frames && entered_from(l, walk, here, caller, kind);
}

/* Finds the frame that `caller` has called; a LIFE_RUNNING caller calls through C. `behind` is the address on the data
 * stack where a plain callee lies. ATTEMPT_ACCEPTED: *callee is the frame. ATTEMPT_TORN: there is none, because the
 * caller is in C code or about to go on. */
static enum attempt find_callee(struct walker *w, struct walk *walk, const struct live_frame *caller, uint64_t behind,
                                struct live_frame *callee)
{
    const struct layout *l = w->layout;
    const uint32_t kind = live_frame_kind(caller);
    const bool waits = caller->life == LIFE_CALLING;
    if ((waits && !(kind & OPCODE_CALLS || caller->code->hidden)) ||
        !snapshot_find(&walk->snapshot, l, caller->address))
        return ATTEMPT_TORN;
    const enum attempt resumed = waits && kind & OPCODE_RESUMES ? find_resumed(w, walk, caller, kind, callee)
                                                                : ATTEMPT_TORN;
    if (resumed != ATTEMPT_TORN)
        return resumed;
    /* The memory there may be the remains of any frame. Only a frame that names the caller is examined further. */
    const unsigned char *here = snapshot_find(&walk->snapshot, l, behind);
    if (!here || here[l->frame_owner] >= l->owner_generator || !names_caller(l, walk, here, caller, kind))
        return ATTEMPT_TORN;
    const enum attempt looked = live_frame_look(w, walk, behind, callee);
    if (looked != ATTEMPT_ACCEPTED)
        return looked == ATTEMPT_LEARNED ? ATTEMPT_LEARNED : ATTEMPT_TORN;
    if (callee->off_stack || !is_alive(w, callee) ||
        (caller->off_stack && !live_frame_still_there(w, walk, callee, false)))
        return ATTEMPT_TORN;
    return waits || callee->instruction >= callee->code->first ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
}

static void add_down(struct walker *w, const struct live_frame *callee, const struct live_frame *caller)
{
    const struct layout *l = w->layout;
    w->down = alloc_grow(w->down, &w->down_room, w->down_count + 1, sizeof(*w->down));
    if (!callee->code->hidden)
        w->down[w->down_count++] = (struct link){ .address = callee->address,
                                                  .code = callee->code,
                                                  .instruction = callee->instruction,
                                                  .from_c = l->frame_entry ? callee->here[l->frame_entry]
                                                                           : callee->previous != caller->address &&
                                                                                 !callee->off_stack,
                                                  .suspended = callee->suspended };
    if (!callee->off_stack)
        w->behind = callee->address + live_frame_bytes(l, callee->code);
}

/* A LIFE_RUNNING frame may have called C code that has called other frames. The remains of an exception behind it may
 * look like LIFE_CALLING frames, but never like a LIFE_RUNNING one. So the frames below the last LIFE_RUNNING one are
 * dropped.
 */
enum attempt find_callees(struct walker *w, struct walk *walk, struct live_frame leaf)
{
    w->down_count = 0;
    uint32_t sure = 0;
    uint64_t behind = w->behind;
    bool through_c = false;
    enum attempt found = ATTEMPT_ACCEPTED;
    for (uint32_t steps = 0; steps < DEPTH_LIMIT && (leaf.life == LIFE_CALLING || leaf.life == LIFE_RUNNING); steps++) {
        struct live_frame callee;
        if (leaf.life == LIFE_RUNNING) {
            through_c = true;
            sure = w->down_count;
            behind = w->behind;
        }
        found = find_callee(w, walk, &leaf, w->behind, &callee);
        if (found != ATTEMPT_ACCEPTED)
            break;
        add_down(w, &callee, &leaf);
        leaf = callee;
    }
    if (through_c && leaf.life != LIFE_RUNNING) {
        w->down_count = sure;
        w->behind = behind;
    }
    return found == ATTEMPT_LEARNED ? ATTEMPT_LEARNED : ATTEMPT_ACCEPTED;
}

uint64_t find_callees_last_alive(struct walker *w, struct walk *walk, uint64_t frame)
{
    const struct layout *l = w->layout;
    struct live_frame seen, behind;
    if (!l->marks_returned_frames || live_frame_look(w, walk, frame, &seen) != ATTEMPT_ACCEPTED)
        return frame;
    for (uint32_t steps = 0; steps < DEPTH_LIMIT && !seen.off_stack && seen.code && seen.life != LIFE_DEAD; steps++) {
        frame = seen.address;
        const uint64_t end = seen.address + live_frame_bytes(l, seen.code);
        const unsigned char *here = snapshot_find(&walk->snapshot, l, end);
        /* An unknown code object is not read here: the memory may be no frame. */
        const struct executed executed = here ? code_executed(l, here) : (struct executed){ 0 };
        if (!codes_find(w->codes, executed.code, executed.copy) || here[l->frame_owner] >= l->owner_generator ||
            live_frame_look(w, walk, end, &behind) != ATTEMPT_ACCEPTED)
            break;
        seen = behind;
    }
    return frame;
}
