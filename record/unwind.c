/* SPDX-License-Identifier: MIT */
#include "record/unwind.h"

#include "formats/alloc.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS          64 /* a few microseconds each; a busy recursion needs tens of them at times */
#define TOO_DEEP_ATTEMPTS 3  /* after so many it is believed: a torn stack may look deep without end */

void unwinder_open(struct unwinder *unwinder, struct target *target, struct codes *codes)
{
    *unwinder = (struct unwinder){ .target = target, .codes = codes };
    snapshot_open(&unwinder->snapshot, &target->remote, &target->runtime.layout);
}

void unwinder_close(struct unwinder *unwinder)
{
    snapshot_close(&unwinder->snapshot);
    free(unwinder->raw);
    free(unwinder->unsure);
    free(unwinder->frames);
    *unwinder = (struct unwinder){ 0 };
}

void walk_free(struct walk *walk)
{
    plan_free(&walk->plan);
    free(walk->stack);
    *walk = (struct walk){ 0 };
}

void walk_follow(struct walk *walk, const struct unwound *unwound)
{
    walk->stack = alloc_grow(walk->stack, &walk->stack_room, unwound->depth, sizeof(uint32_t));
    if (unwound->depth > 0)
        memcpy(walk->stack, unwound->frames, unwound->depth * sizeof(uint32_t));
    walk->depth = unwound->depth;
}

/* ---- the walk ---- */

static void add_raw(struct unwinder *u, uint64_t code, uint64_t instruction)
{
    u->raw = alloc_grow(u->raw, &u->raw_room, u->raw_count + 1, sizeof(*u->raw));
    u->raw[u->raw_count++] = (struct raw_frame){ code, instruction };
}

/* Follows the frames in the copy from the leaf to the root. */
static enum attempt walk_frames(struct unwinder *u)
{
    const struct layout *l = u->snapshot.layout;
    const uint64_t base = l->thread_base_frame ? word_at(snapshot_state(&u->snapshot), l->thread_base_frame) : 0;
    uint64_t frame = u->snapshot.current_frame;
    const bool empty = frame == 0;
    uint32_t last_owner = 0;
    u->raw_count = 0;
    for (size_t steps = 0; frame && frame != base; steps++) {
        const unsigned char *here;
        const enum attempt found = snapshot_frame(&u->snapshot, frame, &here);
        if (found != ACCEPTED)
            return found;
        if (u->raw_count >= DEPTH_LIMIT || steps >= 2 * DEPTH_LIMIT)
            return TOO_DEEP;
        last_owner = here[l->frame_owner];
        frame = word_at(here, l->frame_previous);
        /* Entered from C: no Python code of its own, only a mark on the way down. */
        if (last_owner >= l->owner_shim)
            continue;
        const uint64_t code = word_at(here, l->frame_executable) & l->executable_mask;
        /* It has left its stack, or is being cleared. */
        if (last_owner == l->owner_frame_object || code == 0)
            return TORN;
        add_raw(u, code, word_at(here, l->frame_instruction));
    }
    if (empty)
        return ACCEPTED;
    if (base)
        return frame == base ? ACCEPTED : TORN;
    const bool at_root = l->root_is_shim ? last_owner >= l->owner_shim : last_owner != l->owner_generator;
    return at_root ? ACCEPTED : TORN;
}

/* ---- code objects ---- */

static bool has_instruction(const struct layout *l, const struct code *code, uint64_t instruction)
{
    /* Up to 3.12 the word names the unit before the next one: one before the first when it has not begun. */
    const uint64_t first = code->address + l->code_instructions - 2;
    return instruction >= first && instruction < first + 2 + (uint64_t)code->units * 2;
}

/* No code object of the interpreter has been freed since this one was last confirmed. */
static bool is_confirmed(const struct unwinder *u, const struct code *code)
{
    return u->snapshot.generation && code->generation == u->snapshot.generation &&
           code->interpreter == u->snapshot.interpreter;
}

/* Looks up the code of each frame. Those that were not known are read now, for the next attempt. */
static enum attempt look_up_codes(struct unwinder *u)
{
    bool all_known = true;
    u->unsure_count = 0;
    u->sample++;
    for (uint32_t i = 0; i < u->raw_count; i++) {
        struct code *code = codes_find(u->codes, u->raw[i].code);
        if (!code) {
            all_known = false;
            if (!codes_read(u->codes, u->raw[i].code))
                return NO_CODE;
            continue;
        }
        if (code->mark == u->sample || is_confirmed(u, code))
            continue;
        code->mark = u->sample;
        u->unsure = alloc_grow(u->unsure, &u->unsure_room, u->unsure_count + 1, sizeof(struct code *));
        u->unsure[u->unsure_count++] = code;
    }
    return all_known ? ACCEPTED : LEARNED;
}

static enum attempt confirm_codes(struct unwinder *u)
{
    if (u->unsure_count > 0 && !codes_confirm(u->codes, u->unsure, u->unsure_count))
        return TORN;
    for (size_t i = 0; i < u->unsure_count; i++) {
        u->unsure[i]->interpreter = u->snapshot.interpreter;
        u->unsure[i]->generation = u->snapshot.generation;
    }
    for (uint32_t i = 0; i < u->raw_count; i++)
        if (!has_instruction(u->snapshot.layout, codes_find(u->codes, u->raw[i].code), u->raw[i].instruction))
            return TORN;
    return ACCEPTED;
}

/* ---- the whole ---- */

static enum attempt attempt(struct unwinder *u, struct walk *walk, uint64_t interpreter, uint64_t thread)
{
    enum attempt done = snapshot_take(&u->snapshot, &walk->plan, interpreter, thread);
    if (done == ACCEPTED)
        done = walk_frames(u);
    if (done == ACCEPTED)
        done = look_up_codes(u);
    if (done == ACCEPTED)
        done = confirm_codes(u);
    return done;
}

/* Names the frames, and sees how much of the stack is as it was. */
static void tell_change(struct unwinder *u, const struct walk *walk, struct unwound *unwound)
{
    const uint32_t depth = u->raw_count;
    u->frames = alloc_grow(u->frames, &u->frames_room, depth, sizeof(uint32_t));
    for (uint32_t i = 0; i < depth; i++) {
        const struct raw_frame *raw = &u->raw[depth - 1 - i];
        const uint64_t first = raw->code + u->snapshot.layout->code_instructions;
        const int64_t unit = (int64_t)(raw->instruction - first) / 2;
        u->frames[i] = codes_frame(u->codes, codes_find(u->codes, raw->code), unit);
    }
    uint32_t keep = 0;
    while (keep < depth && keep < walk->depth && u->frames[keep] == walk->stack[keep])
        keep++;
    unwound->frames = u->frames;
    unwound->keep = keep;
    unwound->depth = depth;
}

static void tell_neighbours(const struct layout *l, const unsigned char *state, struct unwound *unwound)
{
    *unwound = (struct unwound){ .previous_thread = word_at(state, l->thread_prev),
                                 .next_thread = word_at(state, l->thread_next),
                                 .native_id = (uint32_t)word_at(state, l->thread_native_id) };
}

enum unwind_state unwind_thread(struct unwinder *unwinder, struct walk *walk, uint64_t interpreter, uint64_t thread,
                                struct unwound *unwound)
{
    static const enum failure causes[] = { [TORN] = FAILURE_CHANGED,
                                           [LEARNED] = FAILURE_CHANGED,
                                           [NO_CODE] = FAILURE_CODE,
                                           [TOO_DEEP] = FAILURE_DEPTH,
                                           [NO_MEMORY] = FAILURE_MEMORY };
    enum attempt done = TORN;
    int too_deep = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        done = attempt(unwinder, walk, interpreter, thread);
        if (done == GONE)
            return UNWIND_GONE;
        if (done == ELSEWHERE)
            return UNWIND_ELSEWHERE;
        tell_neighbours(unwinder->snapshot.layout, snapshot_state(&unwinder->snapshot), unwound);
        if (done == ACCEPTED) {
            tell_change(unwinder, walk, unwound);
            snapshot_fit_plan(&unwinder->snapshot);
            return UNWOUND;
        }
        too_deep += done == TOO_DEEP;
        if (too_deep == TOO_DEEP_ATTEMPTS)
            break;
        unwinder->retries++;
    }
    unwound->cause = causes[done];
    return UNWIND_FAILED;
}

enum unwind_state unwind_glance(struct unwinder *unwinder, uint64_t interpreter, uint64_t thread,
                                struct unwound *unwound)
{
    const struct layout *l = &unwinder->target->runtime.layout;
    unsigned char state[LAYOUT_THREAD_MAX];
    switch (remote_read(&unwinder->target->remote, thread, state, l->thread_size)) {
    case REMOTE_READ:
        tell_neighbours(l, state, unwound);
        return word_at(state, l->thread_interpreter) == interpreter ? UNWOUND : UNWIND_ELSEWHERE;
    case REMOTE_UNREADABLE:
        return UNWIND_ELSEWHERE;
    default:
        return UNWIND_GONE;
    }
}
