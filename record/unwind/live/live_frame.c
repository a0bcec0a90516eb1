/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/live_frame.h"

#include "formats/base/alloc.h"
#include "record/python/opcode_effects.h"

#define SHIM_TRIES 16 /* places where a mark may be remembered */
#define TAGS       3u /* low bits of a word on a stack of values */

uint64_t live_frame_bytes(const struct layout *l, const struct code *code)
{
    return l->frame_locals + ((uint64_t)code->locals + code->stack) * 8;
}

static enum life life_of(const struct layout *l, const struct live_frame *seen)
{
    if (l->marks_returned_frames) {
        /* A function without variables may also call with nothing on its stack. */
        const uint64_t bottom = seen->address + l->frame_locals;
        return word_at(seen->here, l->frame_stack) == bottom && seen->code->locals > 0 ? LIFE_DEAD : LIFE_CALLING;
    }
    if ((int32_t)half_word_at(seen->here, l->frame_stack) == -1)
        return LIFE_RUNNING;
    const bool can_call = seen->code->hidden || code_kind(seen->code, seen->instruction) & OPCODE_CALLS;
    return can_call || seen->owner == l->owner_generator ? LIFE_CALLING : LIFE_PAUSED;
}

/* Whether a frame on the data stack is one of a function that runs. That of a generator's function leaves the stack at
 * once. Where a frame that has returned has no mark, one that is being made still has the instruction of the one that
 * was there before, which mostly was about to return: whoever returns counts as returned. A mark may be that the frame
 * has no code object.
 */
static bool is_begun(const struct layout *l, const struct live_frame *seen)
{
    if (code_is_generator(seen->code) || !walk_is_in_code(seen->code, seen->instruction))
        return false;
    return l->marks_returned_frames || !(code_kind(seen->code, seen->instruction) & OPCODE_RETURNS);
}

static void note_met(struct walker *w, struct code *code)
{
    if (w->met_count > 0 && w->met[w->met_count - 1] == code)
        return; /* a recursion */
    w->met = alloc_grow(w->met, &w->met_room, w->met_count + 1, sizeof(struct code *));
    w->met[w->met_count++] = code;
}

enum attempt live_frame_look(struct walker *w, struct walk *walk, uint64_t address, struct live_frame *seen)
{
    const struct layout *l = w->layout;
    const unsigned char *here = snapshot_find(&walk->snapshot, l, address);
    seen->here = here;
    if (!here)
        return ATTEMPT_LEARNED;
    *seen = (struct live_frame){ .here = here,
                                 .address = address,
                                 .previous = word_at(here, l->frame_previous),
                                 .instruction = word_at(here, l->frame_instruction),
                                 .owner = here[l->frame_owner],
                                 .off_stack = walk->snapshot.found_off_stack != NULL,
                                 .chunk = walk->snapshot.found_chunk };
    if (seen->owner >= l->owner_shim)
        return ATTEMPT_ACCEPTED;
    const struct executed executed = code_executed(l, here);
    if (seen->owner == l->owner_frame_object)
        return ATTEMPT_TORN;
    seen->life = LIFE_DEAD;
    if (executed.code == 0)
        return ATTEMPT_ACCEPTED;
    seen->code = codes_find(w->codes, executed.code, executed.copy);
    if (!seen->code)
        return walk_read_codes(w, walk, executed, seen->previous) ? ATTEMPT_LEARNED : ATTEMPT_NO_CODE;
    if (w->noting)
        note_met(w, seen->code);
    /* It was read after this copy was made. */
    if (seen->code->number > w->known)
        return ATTEMPT_LEARNED;
    seen->life = life_of(l, seen);
    if (seen->owner == l->owner_generator)
        snapshot_widen(&walk->snapshot, (uint32_t)live_frame_bytes(l, seen->code));
    else if (!is_begun(l, seen))
        seen->life = LIFE_DEAD;
    /* It is left out for what its code object says: that must be the one it has. */
    if (seen->life == LIFE_DEAD || seen->life == LIFE_PAUSED)
        note_met(w, seen->code);
    return walk_is_in_code(seen->code, seen->instruction) || seen->life == LIFE_DEAD ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
}

/* ---- who called whom ---- */

static bool has_word(const uint64_t *words, size_t count, uint64_t wanted)
{
    for (size_t i = 0; i < count; i++)
        if ((words[i] & ~(uint64_t)TAGS) == wanted)
            return true;
    return false;
}

uint32_t live_frame_kind(const struct live_frame *seen)
{
    return code_kind(seen->code, seen->instruction);
}

enum attempt live_frame_values(struct walker *w, struct walk *walk, const struct live_frame *seen,
                               struct values *values)
{
    const struct layout *l = w->layout;
    const uint64_t locals = seen->address + l->frame_locals;
    const uint64_t bottom = locals + (uint64_t)seen->code->locals * 8;
    const uint64_t end = l->stack_is_pointer ? word_at(seen->here, l->frame_stack)
                                             : locals + (uint64_t)half_word_at(seen->here, l->frame_stack) * 8;
    values->count = 0;
    if (end <= bottom || end - bottom > (uint64_t)seen->code->stack * 8 || end % 8 != 0)
        return ATTEMPT_ACCEPTED;
    const size_t near = end - bottom < DRIVEN_NEAR * 8 ? (end - bottom) / 8 : DRIVEN_NEAR;
    if (!snapshot_find(&walk->snapshot, l, seen->address))
        return ATTEMPT_TORN;
    values->count = snapshot_words(&walk->snapshot, end - near * 8, values->words, near);
    return values->count == near ? ATTEMPT_ACCEPTED : snapshot_cover(&walk->snapshot, l, end);
}

bool live_frame_values_have(const struct layout *l, const struct values *values, uint64_t generator_frame)
{
    return has_word(values->words, values->count, generator_frame - l->generator_frame);
}

bool live_frame_calls_plainly(const struct live_frame *seen, uint32_t kind)
{
    return seen->code->hidden || (kind & OPCODE_CALLS && (kind & OPCODE_HIDES || !(kind & OPCODE_RESUMES)));
}

/* What a frame does that has called C, as far as its marks tell. */
static enum life life_in_c(const struct layout *l)
{
    return l->marks_running_frames ? LIFE_RUNNING : LIFE_CALLING;
}

/* Through C. Any instruction may lead there, but only some drive a generator. */
static bool called_through_c(const struct layout *l, const struct live_frame *caller, const struct live_frame *callee,
                             uint32_t kind, bool certain)
{
    /* A generator into which an exception is thrown does not run while the one that it delegates to handles it. */
    const bool throws = caller->owner == l->owner_generator && caller->life == LIFE_CALLING;
    if (callee->owner != l->owner_generator)
        return certain || !l->marks_running_frames || caller->life == LIFE_RUNNING || throws;
    return certain || throws || (caller->life == life_in_c(l) && kind & OPCODE_DRIVES);
}

static enum attempt resumed(struct walker *w, struct walk *walk, const struct live_frame *caller,
                            const struct live_frame *callee, uint32_t kind)
{
    struct values values;
    if (!(kind & OPCODE_RESUMES))
        return ATTEMPT_TORN;
    const enum attempt done = live_frame_values(w, walk, caller, &values);
    if (done != ATTEMPT_ACCEPTED)
        return done;
    return live_frame_values_have(w->layout, &values, callee->address) ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
}

enum attempt live_frame_called(struct walker *w, struct walk *walk, const struct live_frame *caller,
                               const struct live_frame *callee, bool from_c, bool certain)
{
    const struct layout *l = w->layout;
    if (caller->life == LIFE_DEAD)
        return ATTEMPT_TORN;
    const uint32_t kind = live_frame_kind(caller);
    if (from_c)
        return called_through_c(l, caller, callee, kind, certain) ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
    /* One into which an exception is thrown is linked without a mark, though C does it. */
    if (callee->owner == l->owner_generator && callee->entered_c && kind & OPCODE_DRIVES)
        return live_frame_still_there(w, walk, caller, true) ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
    if (caller->life != LIFE_CALLING)
        return ATTEMPT_TORN;
    if (callee->owner == l->owner_generator)
        return resumed(w, walk, caller, callee, kind);
    const bool neighbours = !caller->off_stack && !callee->off_stack && caller->chunk == callee->chunk;
    const bool fits = !neighbours || callee->address == caller->address + live_frame_bytes(l, caller->code);
    return live_frame_calls_plainly(caller, kind) && fits ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
}

bool live_frame_still_there(const struct walker *w, const struct walk *walk, const struct live_frame *seen,
                            bool exactly)
{
    const struct layout *l = w->layout;
    const unsigned char *again = seen->off_stack ? NULL : snapshot_find_again(&walk->snapshot, l, seen->address);
    if (!again)
        return true;
    return word_at(again, l->frame_previous) == seen->previous &&
           word_at(again, l->frame_executable) == word_at(seen->here, l->frame_executable) &&
           (!exactly || word_at(again, l->frame_instruction) == seen->instruction);
}

/* ---- marks ---- */

/* Whether the plain frame `callee` lies right behind the one at an address. */
static bool lies_behind(struct walker *w, struct walk *walk, uint64_t address, const struct live_frame *callee)
{
    const unsigned char *here = snapshot_find(&walk->snapshot, w->layout, address);
    struct live_frame caller;
    /* It is not learned here: what lies there may be no frame at all. */
    const struct executed executed = here ? code_executed(w->layout, here) : (struct executed){ 0 };
    if (!codes_find(w->codes, executed.code, executed.copy))
        return false;
    return live_frame_look(w, walk, address, &caller) == ATTEMPT_ACCEPTED && !caller.off_stack && caller.code &&
           caller.chunk == callee->chunk &&
           caller.address + live_frame_bytes(w->layout, caller.code) == callee->address;
}

/* Whether what was seen above a mark at this address is still there. A frame that goes on with a generator may have the
 * generator between them, and the mark at the same place. */
static bool is_still_above(struct walker *w, struct walk *walk, uint64_t above, const struct live_frame *callee)
{
    struct live_frame caller;
    return lies_behind(w, walk, above, callee) && live_frame_look(w, walk, above, &caller) == ATTEMPT_ACCEPTED &&
           caller.life == life_in_c(w->layout) && !(live_frame_kind(&caller) & OPCODE_RESUMES);
}

/* Whether nothing is above an entry shim that leads there. */
static bool is_end(const struct walker *w, const struct walk *walk, uint64_t above)
{
    const uint32_t base = w->layout->thread_base_frame;
    return above == (base ? word_at(snapshot_state(&walk->snapshot), base) : 0);
}

/* Where the mark at an address is remembered, or is to be. */
static struct entry_shim *slot_of_shim(struct walk *walk, uint64_t address)
{
    const uint64_t first = address >> 4 ^ address >> 12;
    for (uint64_t i = first; i < first + SHIM_TRIES; i++)
        if (walk->entry_shims[i % ENTRY_SHIMS].address == address || walk->entry_shims[i % ENTRY_SHIMS].address == 0)
            return &walk->entry_shims[i % ENTRY_SHIMS];
    return &walk->entry_shims[first % ENTRY_SHIMS];
}

bool live_frame_known_shim(struct walk *walk, uint64_t shim, uint64_t above)
{
    const struct entry_shim *known = slot_of_shim(walk, shim);
    return shim && known->address == shim && known->above == above;
}

bool live_frame_above_shim(struct walker *w, struct walk *walk, uint64_t shim, const struct live_frame *callee,
                           uint64_t *above)
{
    const struct layout *l = w->layout;
    struct entry_shim *known = slot_of_shim(walk, shim);
    *above = known->above;
    if (known->address == shim && is_still_above(w, walk, known->above, callee))
        return true;
    unsigned char head[LAYOUT_FRAME_MAX];
    if (walk->snapshot.learn_left == 0)
        return false;
    walk->snapshot.learn_left--;
    if (remote_read(w->remote, shim, head, l->frame_size) != REMOTE_READ || head[l->frame_owner] < l->owner_shim)
        return false;
    *above = word_at(head, l->frame_previous);
    if (is_end(w, walk, *above))
        return true;
    if (!lies_behind(w, walk, *above, callee))
        return false;
    *known = (struct entry_shim){ shim, *above };
    return true;
}

/* ---- two copies, one after the other ---- */

static bool same_again(const struct walker *w, struct walk *walk, uint64_t frame, const unsigned char *again,
                       bool exactly)
{
    const struct layout *l = w->layout;
    const unsigned char *here = snapshot_find(&walk->snapshot, l, frame);
    return !here || !again ||
           (word_at(again, l->frame_previous) == word_at(here, l->frame_previous) &&
            word_at(again, l->frame_executable) == word_at(here, l->frame_executable) &&
            (!exactly || word_at(again, l->frame_instruction) == word_at(here, l->frame_instruction)));
}

static bool is_generator(const struct walker *w, struct walk *walk, uint64_t frame)
{
    const unsigned char *here = snapshot_find(&walk->snapshot, w->layout, frame);
    return here && walk->snapshot.found_off_stack;
}

/* Whether the call was there in both copies; the second ones of its frames are these. */
static bool same_call(const struct walker *w, struct walk *walk, const struct link *caller, const struct link *callee,
                      const unsigned char *again_caller, const unsigned char *again_callee)
{
    return same_again(w, walk, caller->address, again_caller, true) &&
           same_again(w, walk, callee->address, again_callee, is_generator(w, walk, callee->address));
}

bool live_frame_near(const struct walker *w, struct walk *walk, const struct link *caller, const struct link *callee)
{
    struct snapshot *s = &walk->snapshot;
    const size_t caller_piece = snapshot_near_piece(s, w->layout, caller->address);
    return caller_piece && caller_piece == snapshot_near_piece(s, w->layout, callee->address);
}

uint32_t live_frame_sure(const struct walker *w, struct walk *walk, const struct link *caller,
                         const struct link *callee)
{
    const struct snapshot *s = &walk->snapshot;
    const struct layout *l = w->layout;
    if (s->near && !live_frame_near(w, walk, caller, callee))
        return LIVE_FRAME_UNSEEN;
    for (uint32_t i = 0; s->near && i < NEAR_COPIES; i++) {
        const unsigned char *near_caller = snapshot_find_near(s, l, caller->address, i);
        const unsigned char *near_callee = snapshot_find_near(s, l, callee->address, i);
        if (!near_caller || !near_callee)
            return LIVE_FRAME_UNSEEN;
        if (!same_call(w, walk, caller, callee, near_caller, near_callee))
            return i;
    }
    return s->near ? NEAR_COPIES
                   : same_call(w, walk, caller, callee, snapshot_find_again(s, l, caller->address),
                               snapshot_find_again(s, l, callee->address));
}

bool live_frame_together(const struct walker *w, struct walk *walk, const struct link *caller,
                         const struct link *callee)
{
    struct snapshot *s = &walk->snapshot;
    if (!snapshot_find(s, w->layout, caller->address) || s->found_off_stack)
        return false;
    const size_t chunk = s->found_chunk;
    return snapshot_find(s, w->layout, callee->address) && !s->found_off_stack && s->found_chunk == chunk;
}
