/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/live_frame.h"

#include "formats/base/alloc.h"
#include "record/python/opcode_effects.h"

#define SHIM_TRIES 16 /* slots of the hash table in which a shim may be */
#define TAGS       3u /* low bits of a word on a stack of values */

uint64_t live_frame_bytes(const struct layout *l, const struct code *code)
{
    return l->frame_locals + ((uint64_t)code->locals + code->stack) * 8;
}

static enum life live_frame_life(const struct layout *l, const struct live_frame *seen)
{
    if (l->marks_returned_frames) {
        /* A function without variables may call with an empty stack of values, which looks the same. */
        const uint64_t bottom = seen->address + l->frame_locals;
        return word_at(seen->here, l->frame_stack) == bottom && seen->code->locals > 0 ? LIFE_DEAD : LIFE_CALLING;
    }
    if ((int32_t)half_word_at(seen->here, l->frame_stack) == -1)
        return LIFE_RUNNING;
    const bool can_call = seen->code->hidden || code_kind(seen->code, seen->instruction) & OPCODE_CALLS;
    return can_call || seen->owner == l->owner_generator ? LIFE_CALLING : LIFE_PAUSED;
}

/* Whether a frame on the data stack belongs to a function that has begun and not returned. Not so:
 *   - a frame of a generator's function: it leaves the data stack at once;
 *   - up to 3.13, a frame at an instruction that returns. A frame that is being made still has the instruction of the
 *     frame that had its memory before, which mostly stood at its return.
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

/* Compiled code is C code that its frame runs: the frame has no instruction, and no stack of values. */
static enum attempt look_at_compiled(struct live_frame *seen)
{
    if (!walk_is_in_code(seen->code, seen->instruction))
        return ATTEMPT_TORN;
    seen->life = LIFE_RUNNING;
    seen->instruction = code_address(seen->code, UNIT_UNKNOWN);
    return ATTEMPT_ACCEPTED;
}

enum attempt live_frame_look(struct walker *w, struct walk *walk, uint64_t address, struct live_frame *seen)
{
    const struct layout *l = w->layout;
    const struct found_frame found = snapshot_locate(&walk->snapshot, l, address);
    const unsigned char *here = found.bytes;
    seen->here = here;
    if (!here)
        return ATTEMPT_LEARNED;
    *seen = (struct live_frame){ .here = here,
                                 .address = address,
                                 .previous = word_at(here, l->frame_previous),
                                 .instruction = word_at(here, l->frame_instruction),
                                 .owner = here[l->frame_owner],
                                 .compiled = frame_is_compiled(l, here, address),
                                 .off_stack = found.off_stack,
                                 .chunk = found.chunk };
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
    /* The code object was read after this copy was made, so it may not be the one that the frame had. */
    if (seen->code->number > w->known)
        return ATTEMPT_LEARNED;
    seen->life = live_frame_life(l, seen);
    if (seen->compiled)
        return look_at_compiled(seen);
    if (seen->owner == l->owner_generator)
        snapshot_widen(&walk->snapshot, &found, (uint32_t)live_frame_bytes(l, seen->code));
    else if (!is_begun(l, seen))
        seen->life = LIFE_DEAD;
    /* The frame is left out because of its code object. So the code object must be confirmed. */
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
    const struct found_frame found = snapshot_locate(&walk->snapshot, l, seen->address);
    if (!found.bytes)
        return ATTEMPT_TORN;
    values->count = snapshot_words(&walk->snapshot, &found, end - near * 8, values->words, near);
    return values->count == near ? ATTEMPT_ACCEPTED : snapshot_cover(&walk->snapshot, l, &found, end);
}

bool live_frame_values_have(const struct layout *l, const struct values *values, uint64_t generator_frame)
{
    return has_word(values->words, values->count, generator_frame - l->generator_frame);
}

bool live_frame_calls_plainly(const struct live_frame *seen, uint32_t kind)
{
    return seen->code->hidden || (kind & OPCODE_CALLS && (kind & OPCODE_HIDES || !(kind & OPCODE_RESUMES)));
}

/* The life of a frame that has called C code. */
static enum life life_in_c(const struct layout *l)
{
    return l->marks_running_frames ? LIFE_RUNNING : LIFE_CALLING;
}

/* Whether `caller` can have called `callee` through C. Any instruction may call C code, but only some drive a
 * generator.
 */
static bool called_through_c(const struct layout *l, const struct live_frame *caller, const struct live_frame *callee,
                             uint32_t kind, bool certain)
{
    /* gen.throw() into a generator that delegates: the inner generator handles the exception while the outer one is not
     * LIFE_RUNNING. */
    const bool throws = caller->owner == l->owner_generator && caller->life == LIFE_CALLING;
    if (callee->owner != l->owner_generator || callee->compiled)
        return certain || !l->marks_running_frames || caller->life == LIFE_RUNNING || throws;
    return certain || throws || caller->compiled || (caller->life == life_in_c(l) && kind & OPCODE_DRIVES);
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
    if (from_c || callee->compiled)
        return called_through_c(l, caller, callee, kind, certain) ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
    /* gen.throw() is C code, but links the generator without an entry shim. */
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

bool live_frame_still_there(const struct walker *w, struct walk *walk, const struct live_frame *seen, bool exactly)
{
    const struct layout *l = w->layout;
    const unsigned char *again = seen->off_stack ? NULL : snapshot_find_again(&walk->snapshot, l, seen->address);
    if (!again)
        return true;
    return word_at(again, l->frame_previous) == seen->previous &&
           word_at(again, l->frame_executable) == word_at(seen->here, l->frame_executable) &&
           (!exactly || word_at(again, l->frame_instruction) == seen->instruction);
}

/* ---- entry shims ---- */

/* Whether the plain frame `callee` lies right behind the frame at an address. */
static bool lies_behind(struct walker *w, struct walk *walk, uint64_t address, const struct live_frame *callee)
{
    const unsigned char *here = snapshot_find(&walk->snapshot, w->layout, address);
    struct live_frame caller;
    /* An unknown code object is not read here: the memory may be no frame. */
    const struct executed executed = here ? code_executed(w->layout, here) : (struct executed){ 0 };
    if (!codes_find(w->codes, executed.code, executed.copy))
        return false;
    return live_frame_look(w, walk, address, &caller) == ATTEMPT_ACCEPTED && !caller.off_stack && caller.code &&
           caller.chunk == callee->chunk &&
           caller.address + live_frame_bytes(w->layout, caller.code) == callee->address;
}

/* Whether the frame `above`, to which a shim linked when it was remembered, is still the caller of `callee`. Not so if
 * the frame can resume a generator: the generator may be between the two, with another shim at the same address. */
static bool is_still_above(struct walker *w, struct walk *walk, uint64_t above, const struct live_frame *callee)
{
    struct live_frame caller;
    return lies_behind(w, walk, above, callee) && live_frame_look(w, walk, above, &caller) == ATTEMPT_ACCEPTED &&
           caller.life == life_in_c(w->layout) && !(live_frame_kind(&caller) & OPCODE_RESUMES);
}

/* Whether an entry shim that links to `above` is at the root. */
static bool is_end(const struct walker *w, const struct walk *walk, uint64_t above)
{
    const uint32_t base = w->layout->thread_base_frame;
    return above == (base ? word_at(snapshot_state(&walk->snapshot), base) : 0);
}

/* The slot of the shim at an address: the one that has the shim, or the one to put it into. */
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

/* Whether a frame is the same in the copy and in `again`. `exactly`: and stands at the same instruction. */
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
    return snapshot_locate(&walk->snapshot, w->layout, frame).off_stack;
}

/* Whether the call is the same in the copy and in another one. `again_caller` and `again_callee` are the other copies
 * of its frames. */
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
    struct snapshot *s = &walk->snapshot;
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
    const struct found_frame one = snapshot_locate(s, w->layout, caller->address),
                             other = snapshot_locate(s, w->layout, callee->address);
    return one.bytes && !one.off_stack && other.bytes && !other.off_stack && one.chunk == other.chunk;
}
