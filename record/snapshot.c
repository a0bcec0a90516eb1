/* SPDX-License-Identifier: MIT */
#include "record/snapshot.h"

#include "formats/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS_LIMIT 256         /* of a thread: 4 MiB of frames where chunks have their usual size */
#define OTHER_PIECES 8           /* of a call, that are neither chunks nor strays */
#define CHUNK_LIMIT  (16u << 20) /* bytes of one chunk */
#define COPY_LIMIT   (64u << 20) /* bytes of all chunks that are read in one call */
#define SLACK        512         /* bytes read beyond what was used last time: the stack may have grown */
#define NEAR_LEAF    2048        /* bytes at the end of the data stack that are copied closest to the moment */
#define STRAY_IDLE   16          /* samples after which an unused one is not read any more */
#define LEARN_STEPS  40000       /* frames that are followed to learn where they are */

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

/* The start of chunk i in the copy. */
static const unsigned char *chunk_head(const struct snapshot *snapshot, size_t i)
{
    return before(snapshot, i + snapshot->split);
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

/* Follows the chain of chunks from the newest, which is at `newest` and used up to `top`. */
static enum attempt learn_chunks(struct snapshot *snapshot, uint64_t newest, uint64_t top)
{
    struct plan *plan = snapshot->plan;
    const struct layout *l = snapshot->layout;
    uint64_t total = 0;
    plan->chunks_count = 0;
    for (uint64_t at = newest; at;) {
        unsigned char head[LAYOUT_OBJECT_MAX];
        if (plan->chunks_count == CHUNKS_LIMIT || total > COPY_LIMIT)
            return TOO_DEEP;
        if (!read_at(snapshot, at, head, l->chunk_data))
            return TORN;
        const uint64_t size = word_at(head, l->chunk_size);
        /* A chunk's own note of its top is made when another is put on it. */
        const uint64_t used = at == newest ? top - at : l->chunk_data + word_at(head, l->chunk_top) * 8;
        if (size > CHUNK_LIMIT || size < l->chunk_data || used > size || used < l->chunk_data)
            return TORN;
        plan->chunks = alloc_grow(plan->chunks, &plan->chunks_room, plan->chunks_count + 1, sizeof(*plan->chunks));
        plan->chunks[plan->chunks_count++] = (struct chunk){ at, at == newest ? rounded(used, size) : (uint32_t)used };
        total += plan->chunks[plan->chunks_count - 1].used;
        at = word_at(head, l->chunk_previous);
    }
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
        const uint64_t size = word_at(chunk_head(snapshot, i), snapshot->layout->chunk_size);
        const uint64_t offset = frame - plan->chunks[i].address;
        if (frame < plan->chunks[i].address || offset >= size || size > CHUNK_LIMIT)
            continue;
        const uint32_t used = rounded(offset + snapshot->layout->frame_size, size);
        plan->chunks[i].used = used > plan->chunks[i].used ? used : plan->chunks[i].used;
        return true;
    }
    return false;
}

/* ---- the snapshot ---- */

static void add_piece(struct snapshot *snapshot, size_t *used, uint64_t address, uint32_t size)
{
    assert(snapshot->pieces_count < REMOTE_PIECES);
    /* `into` is an offset until the copy has its final place. */
    snapshot->pieces[snapshot->pieces_count++] = (struct piece){ address, size, (void *)(uintptr_t)*used };
    *used += (size + 7u) & ~7u;
}

/* A copy of the frames is made of the pieces of the chunks, newest first, and of the strays, latest first. The end of
 * the newest chunk is a piece of its own: there the leaf comes and goes, so it is to be copied closest to the moment.
 */
static void add_chunks(struct snapshot *snapshot, size_t *used)
{
    const struct plan *plan = snapshot->plan;
    for (size_t i = 0; i < plan->chunks_count; i++) {
        const struct chunk *chunk = &plan->chunks[i];
        uint32_t size = chunk->used;
        if (i == 0 && snapshot->split) {
            add_piece(snapshot, used, chunk->address + size - NEAR_LEAF, NEAR_LEAF);
            size -= NEAR_LEAF - snapshot->layout->frame_size; /* no frame is cut in two */
        }
        add_piece(snapshot, used, chunk->address, size);
    }
}

static void add_frames(struct snapshot *snapshot, size_t *used)
{
    const struct plan *plan = snapshot->plan;
    add_chunks(snapshot, used);
    for (size_t i = plan->strays_count; i > 0; i--)
        add_piece(snapshot, used, plan->strays[i - 1].frame, snapshot->layout->frame_size);
}

/* The same pieces in the opposite order. */
static void add_frames_mirrored(struct snapshot *snapshot, size_t *used)
{
    const size_t first = snapshot->pieces_count;
    add_frames(snapshot, used);
    for (size_t i = first, j = snapshot->pieces_count; i + 1 < j; i++) {
        const struct piece swapped = snapshot->pieces[i];
        snapshot->pieces[i] = snapshot->pieces[--j];
        snapshot->pieces[j] = swapped;
    }
}

/* Which chunk or stray piece k of a copy is of. */
static size_t first_stray_piece(const struct snapshot *snapshot)
{
    return snapshot->plan->chunks_count + snapshot->split;
}

static size_t stray_of(const struct snapshot *snapshot, size_t k)
{
    return snapshot->strays_read - 1 - (k - first_stray_piece(snapshot));
}

/* The order of the others stays: callers before those they called. */
static void drop_stray(struct plan *plan, size_t i)
{
    plan->strays_count--;
    memmove(&plan->strays[i], &plan->strays[i + 1], (plan->strays_count - i) * sizeof(*plan->strays));
}

/* How many strays one call takes beside the chunks. */
static size_t strays_most(const struct plan *plan)
{
    return (REMOTE_PIECES - OTHER_PIECES) / 2 - plan->chunks_count;
}

/* Both copies of all frames must fit into one call, and into a bounded room. What was learned last is needed most. */
static void bound_plan(struct plan *plan)
{
    uint64_t total = 0;
    for (size_t i = 0; i < plan->chunks_count; i++)
        total += plan->chunks[i].used;
    if (total > COPY_LIMIT)
        plan->chunks_count = 0;
    const size_t most = strays_most(plan);
    while (plan->strays_count > most)
        drop_stray(plan, 0);
}

static void plan_pieces(struct snapshot *snapshot)
{
    const struct plan *plan = snapshot->plan;
    const struct layout *l = snapshot->layout;
    const uint64_t current_frame_at = snapshot->thread + l->thread_current_frame;
    size_t used = 0;
    snapshot->pieces_count = 0;
    add_piece(snapshot, &used, snapshot->thread, l->thread_size);
    snapshot->strays_read = plan->strays_count;
    snapshot->split = plan->chunks_count > 0 && plan->chunks[0].used >= 2 * NEAR_LEAF;
    add_frames_mirrored(snapshot, &used);
    snapshot->moment_at = snapshot->pieces_count;
    add_piece(snapshot, &used, plan->cframe ? plan->cframe + l->cframe_current_frame : current_frame_at, 8);
    snapshot->after_at = snapshot->pieces_count;
    add_frames(snapshot, &used);
    snapshot->again_at = snapshot->pieces_count;
    if (l->thread_cframe)
        add_piece(snapshot, &used, snapshot->thread + l->thread_cframe, 8);
    snapshot->generation_at = snapshot->pieces_count;
    if (l->interpreter_code_generation)
        add_piece(snapshot, &used, snapshot->interpreter + l->interpreter_code_generation, 8);

    snapshot->copy = alloc_grow(snapshot->copy, &snapshot->copy_room, used, 1);
    for (size_t i = 0; i < snapshot->pieces_count; i++)
        snapshot->pieces[i].into = snapshot->copy + (uintptr_t)snapshot->pieces[i].into;
}

/* Memory that was there last time is not there now: forget what was read from it. */
static enum attempt forget_piece(struct snapshot *snapshot, size_t bad)
{
    struct plan *plan = snapshot->plan;
    if (bad == 0)
        return ELSEWHERE;
    if (bad >= snapshot->again_at)
        return NO_MEMORY;
    if (bad == snapshot->moment_at) {
        plan->cframe = 0;
        return LEARNED;
    }
    const size_t k = bad < snapshot->moment_at ? snapshot->moment_at - 1 - bad : bad - snapshot->after_at;
    if (k < first_stray_piece(snapshot))
        plan->chunks_count = 0;
    else
        drop_stray(plan, stray_of(snapshot, k));
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
        if (word_at(chunk_head(snapshot, i), l->chunk_previous) == older)
            continue;
        plan->chunks_count = 0;
        return LEARNED;
    }
    return ACCEPTED;
}

/* Whether the leaf was read where the thread keeps it. Before 3.13 that is in a struct of its own for each entry from
 * C, whose address is looked at before and after. */
static enum attempt check_moment(struct snapshot *snapshot)
{
    struct plan *plan = snapshot->plan;
    const struct layout *l = snapshot->layout;
    snapshot->current_frame = word_at(piece(snapshot, snapshot->moment_at), 0);
    if (!l->thread_cframe)
        return ACCEPTED;
    const uint64_t cframe = word_at(snapshot_state(snapshot), l->thread_cframe);
    if (cframe == 0)
        snapshot->current_frame = 0;
    if (cframe == plan->cframe)
        return word_at(piece(snapshot, snapshot->again_at), 0) == cframe ? ACCEPTED : TORN;
    plan->cframe = cframe;
    return LEARNED;
}

static enum attempt check_pieces(struct snapshot *snapshot)
{
    const struct layout *l = snapshot->layout;
    if (word_at(snapshot_state(snapshot), l->thread_interpreter) != snapshot->interpreter)
        return ELSEWHERE;
    snapshot->generation = l->interpreter_code_generation ? word_at(piece(snapshot, snapshot->generation_at), 0) + 1
                                                          : 0;
    const enum attempt chunks = check_chunks(snapshot);
    return chunks == ACCEPTED ? check_moment(snapshot) : chunks;
}

enum attempt snapshot_take(struct snapshot *snapshot, struct plan *plan, uint64_t interpreter, uint64_t thread)
{
    snapshot->plan = plan;
    snapshot->interpreter = interpreter;
    snapshot->thread = thread;
    snapshot->last_found = 0;
    bound_plan(plan);
    plan_pieces(snapshot);
    const enum attempt done = read_pieces(snapshot);
    return done == ACCEPTED ? check_pieces(snapshot) : done;
}

/* Which piece of a copy holds this frame, and where in it; false when none does. A caller is likely in the same piece
 * as the frame before it or in the next. */
static bool find_frame(struct snapshot *snapshot, uint64_t frame, size_t *found, uint64_t *offset)
{
    const size_t count = snapshot->again_at - snapshot->after_at;
    for (size_t tried = 0; tried < count; tried++) {
        const size_t k = (snapshot->last_found + tried) % count;
        const struct piece *piece = &snapshot->pieces[snapshot->after_at + k];
        *offset = frame - piece->address;
        if (*offset >= piece->size || piece->size - *offset < snapshot->layout->frame_size)
            continue;
        if (k >= first_stray_piece(snapshot))
            snapshot->plan->strays[stray_of(snapshot, k)].idle = 0;
        snapshot->last_found = *found = k;
        return true;
    }
    return false;
}

/* Takes strays, which are given from the leaf on, into the plan, in the place of those that were not used lately. False
 * when there are too many. */
static bool add_strays(struct plan *plan, const struct stray *fresh, size_t count)
{
    const size_t most = strays_most(plan);
    for (size_t i = plan->strays_count; i > 0 && plan->strays_count + count > most; i--)
        if (plan->strays[i - 1].idle > 0)
            drop_stray(plan, i - 1);
    if (plan->strays_count + count > most)
        return false;
    plan->strays = alloc_grow(plan->strays, &plan->strays_room, plan->strays_count + count, sizeof(*plan->strays));
    for (size_t i = count; i > 0; i--)
        if (!is_stray(plan, fresh[i - 1].frame))
            plan->strays[plan->strays_count++] = fresh[i - 1];
    return true;
}

/* Takes a frame that was not read into the plan, and all that follow it and were not read either, down to the root. */
static enum attempt learn_frames(struct snapshot *snapshot, uint64_t frame)
{
    const struct layout *l = snapshot->layout;
    struct stray fresh[REMOTE_PIECES / 2];
    size_t count = 0;
    bool grown = false;
    for (size_t steps = 0; frame && steps < LEARN_STEPS && count < countof(fresh); steps++) {
        unsigned char head[LAYOUT_FRAME_MAX];
        size_t k;
        uint64_t offset;
        if (find_frame(snapshot, frame, &k, &offset)) {
            frame = word_at(before(snapshot, k) + offset, l->frame_previous);
            continue;
        }
        if (!read_at(snapshot, frame, head, l->frame_size))
            break;
        if (grow_chunk(snapshot, frame))
            grown = true;
        else
            fresh[count++] = (struct stray){ .frame = frame };
        frame = word_at(head, l->frame_previous);
    }
    if (count == 0 && !grown)
        return NO_MEMORY;
    return add_strays(snapshot->plan, fresh, count) ? LEARNED : TOO_DEEP;
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
    size_t k;
    uint64_t offset;
    if (!find_frame(snapshot, frame, &k, &offset))
        return learn_frames(snapshot, frame);
    *here = before(snapshot, k) + offset;
    const bool leaf = frame == snapshot->current_frame;
    return same_frame(snapshot->layout, *here, after(snapshot, k) + offset, leaf) ? ACCEPTED : TORN;
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
        const uint32_t wanted = rounded(top - newest->address, word_at(chunk_head(snapshot, 0), l->chunk_size));
        if (top > newest->address && wanted <= CHUNK_LIMIT)
            newest->used = wanted >= newest->used ? wanted : newest->used - (newest->used - wanted) / 8 / 8 * 8;
    }
    for (size_t i = plan->strays_count; i > 0; i--)
        if (plan->strays[i - 1].idle++ > STRAY_IDLE)
            drop_stray(plan, i - 1);
}
