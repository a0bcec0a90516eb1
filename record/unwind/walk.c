/* SPDX-License-Identifier: MIT */
#include "record/unwind/walk.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define SHALLOW     8   /* a stack of this many frames is walked faster than compared with the last one */
#define AHEAD_STEPS 256 /* frames that walk_read_codes() searches for unknown code objects */

#define UNREADABLE_LIMIT 16 /* failed reads of code objects per walk: the program stands still during each */

void walker_close(struct walker *walker)
{
    free(walker->up);
    *walker = (struct walker){ 0 };
}

void walk_free(struct walk *walk)
{
    snapshot_free(&walk->snapshot);
    free(walk->links);
    *walk = (struct walk){ 0 };
}

/* ---- code objects ---- */

static bool is_among(const struct executed *which, size_t count, struct executed wanted)
{
    for (size_t i = 0; i < count; i++)
        if (which[i].code == wanted.code && which[i].copy == wanted.copy)
            return true;
    return false;
}

/* Reads the unknown code object of a frame. With the same calls, also reads unknown code objects of the frame's
 * callers: `above` is the address of the first caller, and the callers are followed as far as the copy has them.
 * Returns false when the frame's code object is not readable. */
static bool walk_read_codes(struct walker *w, struct walk *walk, struct executed unknown, uint64_t above)
{
    const struct layout *l = w->layout;
    struct executed which[CODES_AT_ONCE] = { unknown };
    size_t count = 1;
    for (int steps = 0; steps < AHEAD_STEPS && count < CODES_AT_ONCE; steps++) {
        const unsigned char *here = snapshot_find(&walk->snapshot, l, above);
        if (!here)
            break;
        const struct executed executed = code_executed(l, here);
        above = word_at(here, l->frame_previous);
        const bool wanted = executed.code && here[l->frame_owner] <= l->owner_generator;
        if (wanted && !is_among(which, count, executed) && !codes_find(w->codes, executed.code, executed.copy))
            which[count++] = executed;
    }
    return codes_read_all(w->codes, which, count);
}

/* The code object of a frame. A frame keeps its code object alive, so the frame is real even if its code object is not
 * readable: then it gets codes_gone(). NULL: the time to read is over, so nobody knows whether it is readable. */
static struct code *walk_code(struct walker *w, struct walk *walk, struct executed executed, uint64_t above)
{
    struct code *code = codes_find(w->codes, executed.code, executed.copy);
    if (!code && w->unreadable < UNREADABLE_LIMIT) {
        /* A code object that changes while it is read, as its caches do, is read again. */
        if (walk_read_codes(w, walk, executed, above) || walk_read_codes(w, walk, executed, above))
            code = codes_find(w->codes, executed.code, executed.copy);
        if (!code && w->remote->over)
            return NULL;
        w->unreadable += !code;
    }
    return code ? code : codes_gone(w->codes);
}

/* Whether the address that a frame has as its instruction lies in this code object. */
static bool walk_is_in_code(const struct code *code, uint64_t instruction)
{
    /* Up to 3.12 the word is the address of the unit before the next one. A frame that has not begun has the unit
     * before the first one. */
    const uint64_t first = code->first - 2;
    return instruction >= first && instruction < first + 2 + (uint64_t)code->units * 2;
}

/* ---- links of the last sample ---- */

/* Returns how many links of the last sample can be taken: those from the root to `frame`, which was found last. 0: the
 * frame was not part of the last sample, or a frame between the root and it has changed. */
static uint32_t walk_join(const struct walker *w, const struct walk *walk, const struct found_frame *found,
                          uint64_t frame)
{
    if (!w->compared || walk->epoch != w->codes->epoch || !snapshot_same(&walk->snapshot, w->layout, found, frame))
        return 0;
    /* The leaf of the last sample is left out: it had called nobody. */
    for (uint32_t i = walk->depth - 1; i > 0; i--)
        if (walk->links[i - 1].address == frame)
            return i;
    return 0;
}

/* Compares the copy with that of the last sample, for walk_join(). */
static void walk_compare(struct walker *w, struct walk *walk)
{
    w->compared = !w->anew && walk->depth > SHALLOW;
    if (w->compared)
        snapshot_find_changes(&walk->snapshot, w->layout);
}

/* ---- the current frame ---- */

/* Whether a frame lies behind the end of the thread's data stack. Then it has returned. */
static bool is_behind_end(const struct layout *l, const struct snapshot *s, const struct found_frame *found,
                          uint64_t frame)
{
    const uint64_t chunk = word_at(snapshot_state(s), l->thread_chunk),
                   end = word_at(snapshot_state(s), l->thread_chunk + 8);
    return !found->off_stack && s->chunks[found->chunk].address == chunk && frame >= end;
}

/* Whether the thread's data stack has no frame. */
static bool walk_has_no_data(const struct walker *w, const struct walk *walk)
{
    const struct layout *l = w->layout;
    const unsigned char *state = snapshot_state(&walk->snapshot);
    const uint64_t chunk = word_at(state, l->thread_chunk), end = word_at(state, l->thread_chunk + 8);
    return chunk == 0 || end <= chunk + l->chunk_data + 8;
}

/* Whether a frame has reached its first instruction. Only for versions up to 3.12, where the instruction word is the
 * address of the unit before the next one. */
static bool has_begun(const struct layout *l, const unsigned char *frame)
{
    return word_at(frame, l->frame_instruction) != code_executed(l, frame).code + l->code_instructions - 2;
}

/* Before 3.13: whether the current frame leads to `caller`, the current frame of the previous C frame. The way leads
 * through frames that are readable, and the last of them was entered from C.
 *
 * A function that makes a generator leaves the data stack while its frame is still current. Then *current becomes the
 * frame above.
 *
 * ATTEMPT_UNSURE, two cases that depend on the order in which the compiler puts CPython's stores:
 *   - a generator that yields is unlinked, and its caller is not current yet;
 *   - a function that was just called is current, and not linked to its caller yet. Its link is that of the frame that
 *     had its memory before. */
static enum attempt leads_to(struct walker *w, struct walk *walk, uint64_t *current, uint64_t caller)
{
    const struct layout *l = w->layout;
    struct snapshot *s = &walk->snapshot;
    uint64_t frame = *current;
    bool linked = true;
    for (uint32_t steps = 0; frame && steps < DEPTH_LIMIT; steps++) {
        const struct found_frame found = snapshot_locate(s, l, frame);
        const unsigned char *here = found.bytes;
        if (!here) {
            const enum attempt fetched = snapshot_fetch(s, l, w->remote, frame);
            if (fetched != ATTEMPT_ACCEPTED)
                return fetched == ATTEMPT_LEARNED || fetched == ATTEMPT_TOO_DEEP ? fetched : ATTEMPT_TORN;
            continue;
        }
        const uint64_t above = word_at(here, l->frame_previous);
        const bool entered = l->frame_entry ? here[l->frame_entry] : here[l->frame_owner] >= l->owner_shim;
        const bool generator = here[l->frame_owner] == l->owner_generator;
        if (frame_is_compiled(l, here, frame)) { /* linked before it is current, and by no C frame of its own */
            if (above == 0)
                return caller == 0 ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
            frame = above;
            continue;
        }
        if (frame == *current)
            linked = entered || has_begun(l, here);
        if (is_behind_end(l, s, &found, frame)) {
            if (entered)
                return ATTEMPT_TORN;
            *current = above;
        } else if (entered) {
            const bool leads = above == caller &&
                               (linked || above || !generator); /* a thread hardly ever begins in a generator */
            return leads ? ATTEMPT_ACCEPTED : linked ? ATTEMPT_TORN : ATTEMPT_UNSURE;
        } else if (above == 0 && generator) {
            return ATTEMPT_UNSURE;
        }
        frame = above;
    }
    return frame ? ATTEMPT_TOO_DEEP : ATTEMPT_TORN;
}

/* Sets *current to the current frame; 0: none. Before 3.13 the current frame is noted in a C frame on the C stack. Each
 * C call of the interpreter has a C frame of its own. The thread's state points to the new C frame before the current
 * frame is written into it: until then the C frame contains arbitrary memory.
 *
 *     thread ─▶ C frame ─▶ previous C frame ─▶ ...
 *                 │           └ its current frame called the C code: this is certain
 *                 └ its current frame is right if it leads to that caller. Otherwise nothing was written yet, and the
 *                   caller is the current frame
 */
static enum attempt find_current(struct walker *w, struct walk *walk, uint64_t *current)
{
    uint64_t caller;
    *current = snapshot_current(&walk->snapshot, w->layout);
    if (!w->layout->notes_current_late)
        return ATTEMPT_ACCEPTED;
    const enum attempt known = snapshot_caller(&walk->snapshot, &caller);
    if (known != ATTEMPT_ACCEPTED)
        return known;
    const enum attempt leads = *current ? leads_to(w, walk, current, caller) : ATTEMPT_TORN;
    if (leads != ATTEMPT_TORN)
        return leads;
    /* The first C frame has no caller. "No current frame" is believed there only if the data stack is empty. */
    *current = caller;
    return caller || walk_has_no_data(w, walk) ? ATTEMPT_ACCEPTED : ATTEMPT_UNSURE;
}

/* ---- the walk ---- */

static void walker_add_frame(struct walker *w, uint64_t frame, struct code *code, uint64_t instruction)
{
    w->up = alloc_grow(w->up, &w->up_room, w->up_count + 1, sizeof(*w->up));
    w->up[w->up_count++] = (struct link){ .address = frame, .code = code, .instruction = instruction };
}

enum attempt walk_find(struct walker *w, struct walk *walk)
{
    const struct layout *l = w->layout;
    struct snapshot *s = &walk->snapshot;
    const uint64_t base = l->thread_base_frame ? word_at(snapshot_state(s), l->thread_base_frame) : 0;
    const uint64_t epoch = w->codes->epoch;
    bool from_c = false, ends = true; /* `ends`: a stack may end with the frame that was found last */
    uint64_t shim = 0;                /* the entry shim of the frames that were found last */
    w->up_count = w->joined = 0;
    w->unreadable = 0;
    walk_compare(w, walk);
    uint64_t frame;
    const enum attempt begun = find_current(w, walk, &frame);
    if (begun != ATTEMPT_ACCEPTED)
        return begun;
    for (uint32_t steps = 0; frame && frame != base; steps++) {
        const struct found_frame found = snapshot_locate(s, l, frame);
        const unsigned char *here = found.bytes;
        if (steps > 2 * DEPTH_LIMIT) /* a ring, too, which no program has */
            return ATTEMPT_TOO_DEEP;
        if (!here) {
            const enum attempt fetched = snapshot_fetch(s, l, w->remote, frame);
            if (fetched != ATTEMPT_ACCEPTED)
                return fetched;
            continue;
        }
        const uint64_t above = word_at(here, l->frame_previous);
        if (here[l->frame_owner] >= l->owner_shim) {
            from_c = ends = true;
            shim = frame;
            frame = above;
            continue;
        }
        if (w->up_count > 0) {
            w->up[w->up_count - 1].from_c = from_c;
            w->up[w->up_count - 1].entry = from_c ? shim : 0;
            w->joined = walk_join(w, walk, &found, frame);
        }
        if (w->joined > 0)
            return ATTEMPT_ACCEPTED;
        /* CPython takes a frame from the stack before it clears the frame, or gives it to a frame object. */
        if (here[l->frame_owner] == l->owner_frame_object || code_executed(l, here).code == 0)
            return ATTEMPT_TORN;
        const bool compiled = frame_is_compiled(l, here, frame);
        ends = compiled || !l->root_is_shim || (base && above == base);
        from_c = !compiled && l->frame_entry && here[l->frame_entry];
        const uint64_t instruction = word_at(here, l->frame_instruction);
        struct code *code = walk_code(w, walk, code_executed(l, here), above);
        if (!code)
            return ATTEMPT_NO_CODE;
        if (w->codes->epoch != epoch)
            return ATTEMPT_LEARNED; /* code objects were forgotten, maybe those of frames that were found */
        if (code->units > 0 && !walk_is_in_code(code, instruction)) /* torn, unless the code object was replaced */
            return codes_confirm(w->codes, &code, 1) ? ATTEMPT_TORN : ATTEMPT_LEARNED;
        if (!code->hidden)
            walker_add_frame(w, frame, code,
                             compiled          ? code_address(code, UNIT_UNKNOWN)
                             : code->units > 0 ? instruction
                                               : code_address(code, UNIT_BEGINS));
        /* A generator that yields is unlinked one machine instruction before its caller becomes current. */
        if (above == 0 && l->root_is_shim && here[l->frame_owner] == l->owner_generator && !compiled)
            return ATTEMPT_UNSURE;
        frame = above;
    }
    walk->entered_at = shim;
    if (w->up_count > 0) {
        w->up[w->up_count - 1].from_c = from_c;
        w->up[w->up_count - 1].entry = from_c ? shim : 0;
    }
    return ends ? ATTEMPT_ACCEPTED : ATTEMPT_TORN;
}

uint64_t walk_stack_address(const struct walk *walk, const struct layout *l)
{
    const struct snapshot *s = &walk->snapshot;
    if (l->root_is_shim)
        return walk->entered_at;
    return walk->sampled && s->last ? word_at(s->last, l->thread_cframe) : 0;
}
