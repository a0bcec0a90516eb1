/* SPDX-License-Identifier: MIT */
#include "record/snapshot.h"

#include "formats/alloc.h"

#include <stdlib.h>
#include <string.h>

#define CHUNKS_LIMIT 256         /* of a thread: 4 MiB of frames where chunks have their usual size */
#define CHUNK_LIMIT  (16u << 20) /* bytes of one chunk */
#define COPY_LIMIT   (64u << 20) /* bytes of all chunks that are read in one call */
#define STRAYS_LIMIT 224         /* frames outside the data stack that are read in one call */
#define SLACK        512         /* bytes read beyond what was used last time: the stack may have grown */
#define STRAY_IDLE   16          /* samples after which an unused one is not read any more */

uint64_t word_at(const void *bytes, uint32_t offset)
{
    uint64_t value;
    memcpy(&value, (const unsigned char *)bytes + offset, sizeof(value));
    return value;
}

void snapshot_open(struct snapshot *snapshot, struct remote *remote, const struct layout *layout)
{
    *snapshot = (struct snapshot){ .remote = remote, .layout = layout };
}

void snapshot_close(struct snapshot *snapshot)
{
    free(snapshot->copy);
    *snapshot = (struct snapshot){ 0 };
}

void plan_free(struct plan *plan)
{
    free(plan->chunks);
    free(plan->strays);
    *plan = (struct plan){ 0 };
}

static const unsigned char *piece(const struct snapshot *snapshot, size_t i)
{
    return snapshot->pieces[i].into;
}

/* The copies mirror each other: what changes most, the newest chunk, is copied closest to the moment. */
static const unsigned char *before(const struct snapshot *snapshot, size_t k)
{
    return piece(snapshot, snapshot->moment_at - 1 - k);
}

static const unsigned char *after(const struct snapshot *snapshot, size_t k)
{
    return piece(snapshot, snapshot->after_at + k);
}

const unsigned char *snapshot_state(const struct snapshot *snapshot)
{
    return piece(snapshot, 0);
}

/* ---- learning where things are ---- */

static bool read_at(struct snapshot *snapshot, uint64_t address, void *into, size_t size)
{
    return remote_read(snapshot->remote, address, into, size) == REMOTE_READ;
}

static uint32_t rounded(uint64_t used, uint64_t size)
{
    const uint64_t wanted = (used + SLACK + SLACK - 1) / SLACK * SLACK;
    return (uint32_t)(wanted < size ? wanted : size);
}

/* Follows the chain of chunks from the newest, which is at `newest` and used up to `top`. What is known of older ones
 * stays. */
static enum attempt learn_chunks(struct snapshot *snapshot, uint64_t newest, uint64_t top)
{
    struct plan *plan = snapshot->plan;
    const struct layout *l = snapshot->layout;
    struct chunk chunks[CHUNKS_LIMIT];
    size_t count = 0, known = plan->chunks_count;
    uint64_t total = 0;
    for (uint64_t at = newest; at; count++) {
        if (count == CHUNKS_LIMIT)
            return TOO_DEEP;
        for (known = 0; known < plan->chunks_count && plan->chunks[known].address != at;)
            known++;
        if (count > 0 && known < plan->chunks_count)
            break; /* from here on down it is as it was */
        unsigned char head[32];
        if (!read_at(snapshot, at, head, l->chunk_data))
            return TORN;
        const uint64_t size = word_at(head, l->chunk_size);
        /* The newest chunk's own note of its top is made only when another is put on it. */
        const uint64_t used = count == 0 ? top - at : l->chunk_data + word_at(head, l->chunk_top) * 8;
        if (size > CHUNK_LIMIT || size < l->chunk_data || used > size)
            return TORN;
        total += used + SLACK;
        if (total > COPY_LIMIT)
            return TOO_DEEP;
        chunks[count] = (struct chunk){ at, count == 0 ? rounded(used, size) : (uint32_t)used };
        at = word_at(head, l->chunk_previous);
    }
    const size_t kept = count > 0 && known < plan->chunks_count ? plan->chunks_count - known : 0;
    if (count + kept > CHUNKS_LIMIT)
        return TOO_DEEP;
    plan->chunks = alloc_grow(plan->chunks, &plan->chunks_room, count + kept, sizeof(*plan->chunks));
    if (kept > 0)
        memmove(plan->chunks + count, plan->chunks + known, kept * sizeof(*plan->chunks));
    if (count > 0)
        memcpy(plan->chunks, chunks, count * sizeof(*chunks));
    plan->chunks_count = count + kept;
    return LEARNED;
}

static bool is_stray(const struct plan *plan, uint64_t frame)
{
    for (size_t i = 0; i < plan->strays_count; i++)
        if (plan->strays[i].frame == frame)
            return true;
    return false;
}

/* The chunk whose read part ends before this frame although it may belong to it. */
static bool grow_chunk(struct snapshot *snapshot, uint64_t frame)
{
    struct plan *plan = snapshot->plan;
    for (size_t i = 0; i < plan->chunks_count; i++) {
        const uint64_t size = word_at(before(snapshot, i), snapshot->layout->chunk_size);
        const uint64_t offset = frame - plan->chunks[i].address;
        if (frame < plan->chunks[i].address || offset >= size || size > CHUNK_LIMIT)
            continue;
        plan->chunks[i].used = rounded(offset + snapshot->layout->frame_size, size);
        return true;
    }
    return false;
}

/* Remembers a frame outside the data stack, and those that follow it outside, for the next attempt. */
static enum attempt learn_frame(struct snapshot *snapshot, uint64_t frame)
{
    struct plan *plan = snapshot->plan;
    const struct layout *l = snapshot->layout;
    if (grow_chunk(snapshot, frame))
        return LEARNED;
    if (plan->strays_count >= STRAYS_LIMIT)
        plan->strays_count = 0; /* mostly old ones by now */
    for (size_t fresh = 0; frame && fresh < STRAYS_LIMIT && plan->strays_count < STRAYS_LIMIT; fresh++) {
        unsigned char head[128];
        if (is_stray(plan, frame) || !read_at(snapshot, frame, head, l->frame_size))
            break;
        plan->strays = alloc_grow(plan->strays, &plan->strays_room, plan->strays_count + 1, sizeof(*plan->strays));
        plan->strays[plan->strays_count++] = (struct stray){ .frame = frame };
        frame = word_at(head, l->frame_previous);
        for (size_t i = 0; i < plan->chunks_count; i++)
            if (frame - plan->chunks[i].address < CHUNK_LIMIT && frame - plan->chunks[i].address < plan->chunks[i].used)
                return LEARNED;
    }
    return LEARNED;
}

/* ---- the snapshot ---- */

static void add_piece(struct snapshot *snapshot, size_t *used, uint64_t address, uint32_t size)
{
    /* `into` is an offset until the copy has its final place. */
    snapshot->pieces[snapshot->pieces_count++] = (struct piece){ address, size, (void *)(uintptr_t)*used };
    *used += (size + 7u) & ~7u;
}

/* Piece k of a copy of the frames: the chunks from the newest on, then the strays from the latest learned on. */
static size_t stray_of(const struct plan *plan, size_t k)
{
    return plan->strays_count - 1 - (k - plan->chunks_count);
}

static void add_frames_piece(struct snapshot *snapshot, size_t *used, size_t k)
{
    const struct plan *plan = snapshot->plan;
    if (k < plan->chunks_count)
        add_piece(snapshot, used, plan->chunks[k].address, plan->chunks[k].used);
    else
        add_piece(snapshot, used, plan->strays[stray_of(plan, k)].frame, snapshot->layout->frame_size);
}

/* The current frame; where it is behind a pointer that may change, that one before and after. */
static void add_moment(struct snapshot *snapshot, size_t *used)
{
    const struct layout *l = snapshot->layout;
    if (!l->thread_cframe) {
        add_piece(snapshot, used, snapshot->thread + l->thread_current_frame, 8);
        return;
    }
    add_piece(snapshot, used, snapshot->thread + l->thread_cframe, 8);
    if (!snapshot->plan->cframe)
        return;
    add_piece(snapshot, used, snapshot->plan->cframe + l->cframe_current_frame, 8);
    add_piece(snapshot, used, snapshot->thread + l->thread_cframe, 8);
}

static void plan_pieces(struct snapshot *snapshot)
{
    const struct layout *l = snapshot->layout;
    size_t used = 0;
    snapshot->pieces_count = 0;
    add_piece(snapshot, &used, snapshot->thread, l->thread_size);
    const size_t frames_pieces = snapshot->plan->chunks_count + snapshot->plan->strays_count;
    for (size_t k = frames_pieces; k > 0; k--)
        add_frames_piece(snapshot, &used, k - 1);
    snapshot->moment_at = snapshot->pieces_count;
    add_moment(snapshot, &used);
    snapshot->after_at = snapshot->pieces_count;
    for (size_t k = 0; k < frames_pieces; k++)
        add_frames_piece(snapshot, &used, k);
    snapshot->generation_at = snapshot->pieces_count;
    if (l->interpreter_code_generation)
        add_piece(snapshot, &used, snapshot->interpreter + l->interpreter_code_generation, 8);

    snapshot->copy = alloc_grow(snapshot->copy, &snapshot->copy_room, used, 1);
    for (size_t i = 0; i < snapshot->pieces_count; i++)
        snapshot->pieces[i].into = snapshot->copy + (uintptr_t)snapshot->pieces[i].into;
}

/* The order of the others stays: callers before those they called. */
static void drop_stray(struct plan *plan, size_t i)
{
    plan->strays_count--;
    memmove(&plan->strays[i], &plan->strays[i + 1], (plan->strays_count - i) * sizeof(*plan->strays));
}

/* Memory that was there last time is not there now: forget what was read from it. */
static enum attempt forget_piece(struct snapshot *snapshot, size_t bad)
{
    struct plan *plan = snapshot->plan;
    if (bad == 0)
        return ELSEWHERE;
    if (bad >= snapshot->generation_at)
        return NO_MEMORY;
    if (bad >= snapshot->moment_at && bad < snapshot->after_at) {
        plan->cframe = 0;
        return LEARNED;
    }
    const size_t k = bad < snapshot->moment_at ? snapshot->moment_at - 1 - bad : bad - snapshot->after_at;
    if (k < plan->chunks_count)
        plan->chunks_count = 0;
    else
        drop_stray(plan, stray_of(plan, k));
    return LEARNED;
}

static enum attempt read_pieces(struct snapshot *snapshot)
{
    size_t good;
    switch (remote_read_pieces(snapshot->remote, snapshot->pieces, snapshot->pieces_count, &good)) {
    case REMOTE_READ:
        return ACCEPTED;
    case REMOTE_UNREADABLE:
        return forget_piece(snapshot, good);
    default:
        return GONE;
    }
}

/* Whether the chunks that were read are the thread's. */
static enum attempt check_chunks(struct snapshot *snapshot)
{
    struct plan *plan = snapshot->plan;
    const struct layout *l = snapshot->layout;
    const unsigned char *state = snapshot_state(snapshot);
    const uint64_t newest = word_at(state, l->thread_chunk);
    if (newest != (plan->chunks_count ? plan->chunks[0].address : 0))
        return learn_chunks(snapshot, newest, word_at(state, l->thread_chunk + 8));
    for (size_t i = 0; i < plan->chunks_count; i++) {
        const uint64_t older = i + 1 < plan->chunks_count ? plan->chunks[i + 1].address : 0;
        if (word_at(before(snapshot, i), l->chunk_previous) == older)
            continue;
        plan->chunks_count = 0;
        return LEARNED;
    }
    return ACCEPTED;
}

static enum attempt find_moment(struct snapshot *snapshot)
{
    struct plan *plan = snapshot->plan;
    const uint64_t first = word_at(piece(snapshot, snapshot->moment_at), 0);
    if (!snapshot->layout->thread_cframe) {
        snapshot->current_frame = first;
        return ACCEPTED;
    }
    if (first != plan->cframe) {
        plan->cframe = first;
        return LEARNED;
    }
    snapshot->current_frame = first ? word_at(piece(snapshot, snapshot->moment_at + 1), 0) : 0;
    return !first || word_at(piece(snapshot, snapshot->moment_at + 2), 0) == first ? ACCEPTED : TORN;
}

static enum attempt check_pieces(struct snapshot *snapshot)
{
    const struct layout *l = snapshot->layout;
    if (word_at(snapshot_state(snapshot), l->thread_interpreter) != snapshot->interpreter)
        return ELSEWHERE;
    snapshot->generation = l->interpreter_code_generation ? word_at(piece(snapshot, snapshot->generation_at), 0) + 1
                                                          : 0;
    const enum attempt chunks = check_chunks(snapshot);
    return chunks == ACCEPTED ? find_moment(snapshot) : chunks;
}

enum attempt snapshot_take(struct snapshot *snapshot, struct plan *plan, uint64_t interpreter, uint64_t thread)
{
    snapshot->plan = plan;
    snapshot->interpreter = interpreter;
    snapshot->thread = thread;
    snapshot->last_stray = 0;
    plan_pieces(snapshot);
    const enum attempt done = read_pieces(snapshot);
    return done == ACCEPTED ? check_pieces(snapshot) : done;
}

/* Which piece of a copy holds this frame, and where in it; false when none does. Frames follow each other, so the
 * search for a stray goes on where the last one was found. */
static bool find_frame(struct snapshot *snapshot, uint64_t frame, size_t *in_piece, uint64_t *offset)
{
    struct plan *plan = snapshot->plan;
    const uint32_t size = snapshot->layout->frame_size;
    for (*in_piece = 0; *in_piece < plan->chunks_count; ++*in_piece) {
        const struct chunk *chunk = &plan->chunks[*in_piece];
        *offset = frame - chunk->address;
        if (*offset < chunk->used && chunk->used - *offset >= size)
            return true;
    }
    *offset = 0;
    for (size_t tried = 0; tried < plan->strays_count; tried++) {
        snapshot->last_stray = snapshot->last_stray + 1 < plan->strays_count ? snapshot->last_stray + 1 : 0;
        struct stray *stray = &plan->strays[snapshot->last_stray];
        if (stray->frame != frame)
            continue;
        stray->idle = 0;
        *in_piece = plan->chunks_count + plan->strays_count - 1 - snapshot->last_stray;
        return true;
    }
    return false;
}

/* The instruction of the leaf moves on all the time; each of its values is a true one. */
static bool same_frame(const struct layout *l, const unsigned char *a, const unsigned char *b, bool leaf)
{
    return word_at(a, l->frame_previous) == word_at(b, l->frame_previous) &&
           word_at(a, l->frame_executable) == word_at(b, l->frame_executable) &&
           a[l->frame_owner] == b[l->frame_owner] &&
           (leaf || word_at(a, l->frame_instruction) == word_at(b, l->frame_instruction));
}

enum attempt snapshot_frame(struct snapshot *snapshot, uint64_t frame, const unsigned char **here)
{
    size_t in_piece;
    uint64_t offset;
    if (!find_frame(snapshot, frame, &in_piece, &offset))
        return learn_frame(snapshot, frame);
    *here = before(snapshot, in_piece) + offset;
    const bool leaf = frame == snapshot->current_frame;
    return same_frame(snapshot->layout, *here, after(snapshot, in_piece) + offset, leaf) ? ACCEPTED : TORN;
}

/* Fits what will be read next time to what was needed: the newest chunk shrinks slowly, so that a stack which comes
 * and goes is not learned anew each time; a frame outside that is not used any more is dropped. */
void snapshot_fit_plan(struct snapshot *snapshot)
{
    struct plan *plan = snapshot->plan;
    const struct layout *l = snapshot->layout;
    if (plan->chunks_count > 0) {
        struct chunk *newest = &plan->chunks[0];
        const uint64_t top = word_at(piece(snapshot, 0), l->thread_chunk + 8);
        const uint32_t wanted = rounded(top - newest->address, word_at(before(snapshot, 0), l->chunk_size));
        if (top > newest->address && wanted <= CHUNK_LIMIT)
            newest->used = wanted >= newest->used ? wanted : newest->used - (newest->used - wanted) / 8 / 8 * 8;
    }
    for (size_t i = plan->strays_count; i > 0; i--)
        if (plan->strays[i - 1].idle++ > STRAY_IDLE)
            drop_stray(plan, i - 1);
}
