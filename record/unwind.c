/* SPDX-License-Identifier: MIT */
#include "record/unwind.h"

#include "formats/alloc.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 24
#define CHUNKS_LIMIT 512          /* of a thread: 8 MiB of frames where chunks have their usual size */
#define CHUNK_LIMIT (16u << 20)   /* bytes of one chunk */
#define STRAYS_LIMIT 448          /* frames outside the data stack that are read in one call */
#define SLACK 512                 /* bytes read beyond what was used last time: the stack may have grown */
#define STRAY_IDLE 16             /* samples after which an unused one is not read any more */
#define GLANCE_LIMIT 4096

/* What became of an attempt. */
enum attempt {
    ACCEPTED,
    TORN,      /* the thread moved on while we read */
    LEARNED,   /* something was not where it was last time; now we know better */
    NO_CODE,   /* a code object can't be read */
    TOO_DEEP,
    NO_MEMORY, /* something that must be there is not */
    ELSEWHERE,
    GONE,
};

/* One attempt: the thread, and where its pieces are in the copy. */
struct shot {
    struct unwinder *u;
    struct walk *walk;
    const struct layout *layout;
    uint64_t interpreter, thread;
    size_t chunks_at, strays_at; /* index of the first such piece */
    size_t again_at;             /* of the first piece that is read a second time */
    size_t cframe_at, generation_at;
    uint64_t generation;
    enum failure cause;
};

static uint64_t word(const void *bytes, uint32_t offset)
{
    uint64_t value;
    memcpy(&value, (const unsigned char *)bytes + offset, sizeof(value));
    return value;
}

static const unsigned char *piece(const struct shot *shot, size_t i)
{
    return shot->u->pieces[i].into;
}

void unwinder_open(struct unwinder *unwinder, struct target *target, struct codes *codes)
{
    *unwinder = (struct unwinder){ .target = target, .codes = codes };
}

void unwinder_close(struct unwinder *unwinder)
{
    free(unwinder->copy);
    free(unwinder->raw);
    free(unwinder->unsure);
    free(unwinder->frames);
    *unwinder = (struct unwinder){ 0 };
}

void walk_free(struct walk *walk)
{
    free(walk->chunks);
    free(walk->strays);
    free(walk->stack);
    *walk = (struct walk){ 0 };
}

/* ---- learning where things are ---- */

static bool read_at(struct shot *shot, uint64_t address, void *into, size_t size)
{
    return remote_read(&shot->u->target->remote, address, into, size) == REMOTE_READ;
}

static uint32_t rounded(uint64_t used, uint64_t size)
{
    const uint64_t wanted = (used + SLACK + SLACK - 1) / SLACK * SLACK;
    return (uint32_t)(wanted < size ? wanted : size);
}

/* Follows the chain of chunks from the newest, which is at `newest` and used up to `top`. What is known of older ones
 * stays. */
static enum attempt learn_chunks(struct shot *shot, uint64_t newest, uint64_t top)
{
    struct walk *walk = shot->walk;
    const struct layout *l = shot->layout;
    struct chunk chunks[CHUNKS_LIMIT];
    size_t count = 0, known = walk->chunks_count;
    for (uint64_t at = newest; at; count++) {
        if (count == CHUNKS_LIMIT)
            return TOO_DEEP;
        for (known = 0; known < walk->chunks_count && walk->chunks[known].address != at;)
            known++;
        if (count > 0 && known < walk->chunks_count)
            break; /* from here on down it is as it was */
        unsigned char head[32];
        if (!read_at(shot, at, head, l->chunk_data))
            return TORN;
        const uint64_t size = word(head, l->chunk_size);
        /* The newest chunk's own note of its top is made only when another is put on it. */
        const uint64_t used = count == 0 ? top - at : l->chunk_data + word(head, l->chunk_top) * 8;
        if (size > CHUNK_LIMIT || size < l->chunk_data || used > size)
            return TORN;
        chunks[count] = (struct chunk){ at, count == 0 ? rounded(used, size) : (uint32_t)used };
        at = word(head, l->chunk_previous);
    }
    const size_t kept = count > 0 && known < walk->chunks_count ? walk->chunks_count - known : 0;
    if (count + kept > CHUNKS_LIMIT)
        return TOO_DEEP;
    walk->chunks = alloc_grow(walk->chunks, &walk->chunks_room, count + kept, sizeof(*walk->chunks));
    memmove(walk->chunks + count, walk->chunks + known, kept * sizeof(*walk->chunks));
    memcpy(walk->chunks, chunks, count * sizeof(*chunks));
    walk->chunks_count = count + kept;
    return LEARNED;
}

static bool is_stray(const struct walk *walk, uint64_t frame)
{
    for (size_t i = 0; i < walk->strays_count; i++)
        if (walk->strays[i].frame == frame)
            return true;
    return false;
}

/* The chunk whose read part ends before this frame although it may belong to it. */
static bool grow_chunk(struct shot *shot, uint64_t frame)
{
    struct walk *walk = shot->walk;
    for (size_t i = 0; i < walk->chunks_count; i++) {
        const uint64_t size = word(piece(shot, shot->chunks_at + i), shot->layout->chunk_size);
        const uint64_t offset = frame - walk->chunks[i].address;
        if (frame < walk->chunks[i].address || offset >= size || size > CHUNK_LIMIT)
            continue;
        walk->chunks[i].used = rounded(offset + shot->layout->frame_size, size);
        return true;
    }
    return false;
}

/* Remembers a frame outside the data stack, and those that follow it outside, for the next attempt. */
static enum attempt learn_strays(struct shot *shot, uint64_t frame)
{
    struct walk *walk = shot->walk;
    const struct layout *l = shot->layout;
    if (grow_chunk(shot, frame))
        return LEARNED;
    if (walk->strays_count >= STRAYS_LIMIT)
        walk->strays_count = 0; /* mostly old ones by now */
    for (size_t fresh = 0; frame && fresh < STRAYS_LIMIT && walk->strays_count < STRAYS_LIMIT; fresh++) {
        unsigned char head[128];
        if (is_stray(walk, frame) || !read_at(shot, frame, head, l->frame_size))
            break;
        walk->strays = alloc_grow(walk->strays, &walk->strays_room, walk->strays_count + 1, sizeof(*walk->strays));
        walk->strays[walk->strays_count++] = (struct stray){ .frame = frame };
        frame = word(head, l->frame_previous);
        for (size_t i = 0; i < walk->chunks_count; i++)
            if (frame - walk->chunks[i].address < CHUNK_LIMIT && frame - walk->chunks[i].address < walk->chunks[i].used)
                return LEARNED;
    }
    return LEARNED;
}

/* ---- the snapshot ---- */

static void add_piece(struct shot *shot, size_t *used, uint64_t address, uint32_t size)
{
    struct unwinder *u = shot->u;
    /* `into` is an offset until the copy has its final place. */
    u->pieces[u->pieces_count++] = (struct piece){ address, size, (void *)(uintptr_t)*used };
    *used += (size + 7u) & ~7u;
}

static void plan_pieces(struct shot *shot)
{
    struct unwinder *u = shot->u;
    const struct walk *walk = shot->walk;
    const struct layout *l = shot->layout;
    size_t used = 0;
    u->pieces_count = 0;
    add_piece(shot, &used, shot->thread, l->thread_size);
    shot->cframe_at = u->pieces_count;
    if (walk->cframe)
        add_piece(shot, &used, walk->cframe + l->cframe_current_frame, 8);
    shot->chunks_at = u->pieces_count;
    for (size_t i = 0; i < walk->chunks_count; i++)
        add_piece(shot, &used, walk->chunks[i].address, walk->chunks[i].used);
    shot->strays_at = u->pieces_count;
    for (size_t i = 0; i < walk->strays_count; i++)
        add_piece(shot, &used, walk->strays[i].frame, l->frame_size);
    shot->again_at = u->pieces_count;
    add_piece(shot, &used, shot->thread + (l->thread_cframe ? l->thread_cframe : l->thread_current_frame), 8);
    if (walk->cframe)
        add_piece(shot, &used, walk->cframe + l->cframe_current_frame, 8);
    shot->generation_at = u->pieces_count;
    if (l->interpreter_code_generation)
        add_piece(shot, &used, shot->interpreter + l->interpreter_code_generation, 8);

    u->copy = alloc_grow(u->copy, &u->copy_room, used, 1);
    for (size_t i = 0; i < u->pieces_count; i++)
        u->pieces[i].into = u->copy + (uintptr_t)u->pieces[i].into;
}

/* Memory that was there last time is not there now: forget what was read from it. */
static enum attempt forget_piece(struct shot *shot, size_t bad)
{
    struct walk *walk = shot->walk;
    if (bad == 0)
        return ELSEWHERE;
    if (bad >= shot->strays_at && bad < shot->again_at) {
        walk->strays[bad - shot->strays_at] = walk->strays[--walk->strays_count];
        return LEARNED;
    }
    if (bad >= shot->chunks_at && bad < shot->strays_at) {
        walk->chunks_count = 0;
        return LEARNED;
    }
    if (walk->cframe) {
        walk->cframe = 0;
        return LEARNED;
    }
    return NO_MEMORY;
}

static enum attempt take_snapshot(struct shot *shot)
{
    struct unwinder *u = shot->u;
    size_t good;
    plan_pieces(shot);
    switch (remote_read_pieces(&u->target->remote, u->pieces, u->pieces_count, &good)) {
    case REMOTE_READ:
        return ACCEPTED;
    case REMOTE_UNREADABLE:
        return forget_piece(shot, good);
    default:
        return GONE;
    }
}

/* Whether what was read is what had to be read: this thread, its chunks, and at one moment. */
static enum attempt check_snapshot(struct shot *shot, uint64_t *current_frame)
{
    struct walk *walk = shot->walk;
    const struct layout *l = shot->layout;
    const unsigned char *state = piece(shot, 0);
    if (word(state, l->thread_interpreter) != shot->interpreter)
        return ELSEWHERE;
    if (l->thread_cframe && word(state, l->thread_cframe) != walk->cframe) {
        walk->cframe = word(state, l->thread_cframe);
        return LEARNED;
    }
    const uint64_t chunk = word(state, l->thread_chunk);
    if (chunk != (walk->chunks_count ? walk->chunks[0].address : 0))
        return learn_chunks(shot, chunk, word(state, l->thread_chunk + 8));
    for (size_t i = 0; i < walk->chunks_count; i++) {
        const uint64_t older = i + 1 < walk->chunks_count ? walk->chunks[i + 1].address : 0;
        if (word(piece(shot, shot->chunks_at + i), l->chunk_previous) != older) {
            walk->chunks_count = 0;
            return LEARNED;
        }
    }
    bool still = word(piece(shot, shot->again_at), 0) ==
                 word(state, l->thread_cframe ? l->thread_cframe : l->thread_current_frame);
    *current_frame = word(state, l->thread_current_frame);
    if (l->thread_cframe) {
        *current_frame = walk->cframe ? word(piece(shot, shot->cframe_at), 0) : 0;
        still = still && (!walk->cframe || word(piece(shot, shot->again_at + 1), 0) == *current_frame);
    }
    shot->generation = l->interpreter_code_generation ? word(piece(shot, shot->generation_at), 0) + 1 : 0;
    return still ? ACCEPTED : TORN;
}

/* ---- the walk ---- */

/* Where the copy has this frame; NULL when it does not. Frames follow each other, so the search for a stray goes on
 * where the last one was found. */
static const unsigned char *find_frame(const struct shot *shot, uint64_t frame, size_t *stray)
{
    const struct walk *walk = shot->walk;
    const uint32_t size = shot->layout->frame_size;
    for (size_t i = 0; i < walk->chunks_count; i++) {
        const uint64_t offset = frame - walk->chunks[i].address;
        if (offset < walk->chunks[i].used && walk->chunks[i].used - offset >= size)
            return piece(shot, shot->chunks_at + i) + offset;
    }
    for (size_t tried = 0; tried < walk->strays_count; tried++) {
        *stray = *stray + 1 < walk->strays_count ? *stray + 1 : 0;
        if (walk->strays[*stray].frame != frame)
            continue;
        walk->strays[*stray].idle = 0;
        return piece(shot, shot->strays_at + *stray);
    }
    return NULL;
}

static void add_raw(struct unwinder *u, uint64_t code, uint64_t instruction)
{
    u->raw = alloc_grow(u->raw, &u->raw_room, u->raw_count + 1, sizeof(*u->raw));
    u->raw[u->raw_count++] = (struct raw_frame){ code, instruction };
}

/* Follows the frames in the copy from the leaf to the root. */
static enum attempt walk_frames(struct shot *shot, uint64_t frame)
{
    struct unwinder *u = shot->u;
    const struct layout *l = shot->layout;
    const uint64_t base = l->thread_base_frame ? word(piece(shot, 0), l->thread_base_frame) : 0;
    const bool empty = frame == 0;
    uint32_t last_owner = 0;
    size_t stray = SIZE_MAX;
    u->raw_count = 0;
    for (size_t steps = 0; frame && frame != base; steps++) {
        const unsigned char *here = find_frame(shot, frame, &stray);
        if (!here)
            return learn_strays(shot, frame);
        if (u->raw_count >= DEPTH_LIMIT || steps >= 2 * DEPTH_LIMIT)
            return TOO_DEEP;
        last_owner = here[l->frame_owner];
        frame = word(here, l->frame_previous);
        /* Entered from C: no Python code of its own, only a mark on the way down. */
        if (last_owner >= l->owner_shim)
            continue;
        const uint64_t code = word(here, l->frame_executable) & l->executable_mask;
        /* It has left its stack, or is being cleared. */
        if (last_owner == l->owner_frame_object || code == 0)
            return TORN;
        add_raw(u, code, word(here, l->frame_instruction));
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
static bool is_confirmed(const struct shot *shot, const struct code *code)
{
    return shot->generation && code->generation == shot->generation && code->interpreter == shot->interpreter;
}

/* Looks up the code of each frame. Those that were not known are read now, for the next attempt. */
static enum attempt look_up_codes(struct shot *shot)
{
    struct unwinder *u = shot->u;
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
        if (code->mark == u->sample || is_confirmed(shot, code))
            continue;
        code->mark = u->sample;
        u->unsure = alloc_grow(u->unsure, &u->unsure_room, u->unsure_count + 1, sizeof(struct code *));
        u->unsure[u->unsure_count++] = code;
    }
    return all_known ? ACCEPTED : LEARNED;
}

static enum attempt confirm_codes(struct shot *shot)
{
    struct unwinder *u = shot->u;
    if (u->unsure_count > 0 && !codes_confirm(u->codes, u->unsure, u->unsure_count))
        return TORN;
    for (size_t i = 0; i < u->unsure_count; i++) {
        u->unsure[i]->interpreter = shot->interpreter;
        u->unsure[i]->generation = shot->generation;
    }
    for (uint32_t i = 0; i < u->raw_count; i++)
        if (!has_instruction(shot->layout, codes_find(u->codes, u->raw[i].code), u->raw[i].instruction))
            return TORN;
    return ACCEPTED;
}

/* ---- the whole ---- */

static enum attempt attempt(struct shot *shot)
{
    uint64_t current_frame = 0;
    enum attempt done = take_snapshot(shot);
    if (done == ACCEPTED)
        done = check_snapshot(shot, &current_frame);
    if (done == ACCEPTED)
        done = walk_frames(shot, current_frame);
    if (done == ACCEPTED)
        done = look_up_codes(shot);
    if (done == ACCEPTED)
        done = confirm_codes(shot);
    return done;
}

/* Names the frames, and sees how much of the stack is as it was. */
static void tell_change(struct shot *shot, struct unwound *unwound)
{
    struct unwinder *u = shot->u;
    struct walk *walk = shot->walk;
    const uint32_t depth = u->raw_count;
    u->frames = alloc_grow(u->frames, &u->frames_room, depth, sizeof(uint32_t));
    for (uint32_t i = 0; i < depth; i++) {
        const struct raw_frame *raw = &u->raw[depth - 1 - i];
        const uint64_t first = raw->code + shot->layout->code_instructions;
        const int64_t unit = (int64_t)(raw->instruction - first) / 2;
        u->frames[i] = codes_frame(u->codes, codes_find(u->codes, raw->code), unit);
    }
    uint32_t keep = 0;
    while (keep < depth && keep < walk->depth && u->frames[keep] == walk->stack[keep])
        keep++;
    walk->stack = alloc_grow(walk->stack, &walk->stack_room, depth, sizeof(uint32_t));
    memcpy(walk->stack + keep, u->frames + keep, (depth - keep) * sizeof(uint32_t));
    walk->depth = depth;
    unwound->keep = keep;
    unwound->depth = depth;
}

/* Fits what will be read next time to what was needed: the newest chunk shrinks slowly, so that a stack which comes
 * and goes is not learned anew each time; a frame outside that is not used any more is dropped. */
static void fit_plan(struct shot *shot)
{
    struct walk *walk = shot->walk;
    const struct layout *l = shot->layout;
    if (walk->chunks_count > 0) {
        struct chunk *newest = &walk->chunks[0];
        const uint64_t top = word(piece(shot, 0), l->thread_chunk + 8);
        const uint32_t wanted = rounded(top - newest->address, word(piece(shot, shot->chunks_at), l->chunk_size));
        if (top > newest->address && wanted <= CHUNK_LIMIT)
            newest->used = wanted >= newest->used ? wanted : newest->used - (newest->used - wanted) / 8 / 8 * 8;
    }
    for (size_t i = walk->strays_count; i > 0; i--)
        if (walk->strays[i - 1].idle++ > STRAY_IDLE)
            walk->strays[i - 1] = walk->strays[--walk->strays_count];
}

static void tell_neighbours(const struct layout *l, const unsigned char *state, struct unwound *unwound)
{
    *unwound = (struct unwound){ .previous_thread = word(state, l->thread_prev),
                                 .next_thread = word(state, l->thread_next),
                                 .native_id = (uint32_t)word(state, l->thread_native_id) };
}

enum unwind_state unwind_thread(struct unwinder *unwinder, struct walk *walk, uint64_t interpreter, uint64_t thread,
                                struct unwound *unwound)
{
    static const enum failure causes[] = { [TORN] = FAILURE_CHANGED,  [LEARNED] = FAILURE_CHANGED,
                                           [NO_CODE] = FAILURE_CODE,  [TOO_DEEP] = FAILURE_DEPTH,
                                           [NO_MEMORY] = FAILURE_MEMORY };
    struct shot shot = { .u = unwinder,
                         .walk = walk,
                         .layout = &unwinder->target->runtime.layout,
                         .interpreter = interpreter,
                         .thread = thread };
    enum attempt done = TORN;
    for (int i = 0; i < ATTEMPTS; i++) {
        done = attempt(&shot);
        if (done == GONE)
            return UNWIND_GONE;
        if (done == ELSEWHERE)
            return UNWIND_ELSEWHERE;
        tell_neighbours(shot.layout, piece(&shot, 0), unwound);
        if (done == ACCEPTED) {
            tell_change(&shot, unwound);
            fit_plan(&shot);
            return UNWOUND;
        }
        if (done == TOO_DEEP)
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
    unsigned char state[GLANCE_LIMIT];
    if (l->thread_size > sizeof(state))
        return UNWIND_ELSEWHERE;
    switch (remote_read(&unwinder->target->remote, thread, state, l->thread_size)) {
    case REMOTE_READ:
        tell_neighbours(l, state, unwound);
        return word(state, l->thread_interpreter) == interpreter ? UNWOUND : UNWIND_ELSEWHERE;
    case REMOTE_UNREADABLE:
        return UNWIND_ELSEWHERE;
    default:
        return UNWIND_GONE;
    }
}
