/* SPDX-License-Identifier: MIT */
#include "record/unwind/snapshot.h"

#include <stdlib.h>

#define AGAIN        2048        /* bytes at the end of the newest chunk that are read again behind off-stack frames */
#define COPY_LIMIT   (64u << 20) /* bytes of all pieces */
#define PIECES_LIMIT 900         /* of a batch, without the interpreters' pieces */
#define ALONE_LIMIT  700         /* of a thread whose chunks come behind the interpreters' pieces */
#define STILL_LIMIT                                                                                                    \
    256                 /* off-stack pieces in the batch of a thread that stands still; further calls read the others  \
                         */
#define TWICE_LIMIT 100 /* the most off-stack frames that get a second copy; if there are more, only chunks do */

#define PAGE      4096u /* bytes; a page of memory is readable as a whole or not at all */
#define SPAN_GAP  1024  /* the largest gap, in bytes, between two off-stack frames that are read as one piece, ... */
#define SPAN_MOST 8192  /* ... and the largest such piece */

static uint32_t aligned(uint32_t size)
{
    return (size + 7u) & ~7u;
}

/* Gives the second copies their offsets: of everything, or, if there are off-stack frames, of the end of the newest
 * chunk. Each lay_out_*() begins at offset `at` and returns the offset behind its last byte. */
static uint64_t lay_out_again(struct snapshot *s, uint64_t at)
{
    const bool all = s->twice && !s->near;
    const size_t first = all ? 0 : s->newest;
    for (size_t i = 0; i < s->chunks_count; i++) {
        struct chunk *chunk = &s->chunks[i];
        chunk->again_at = 0;
        if (s->still || i < first || i > s->newest || (!all && s->off_stack_count == 0))
            continue;
        chunk->again_from = all || chunk->used < AGAIN ? 0 : chunk->used - AGAIN;
        chunk->again_at = (uint32_t)at;
        at += aligned(chunk->used - chunk->again_from);
    }
    s->off_stack_again = all && s->off_stack_count <= TWICE_LIMIT;
    const uint64_t moved = at - (s->off_stack_count > 0 ? s->off_stack[0].at : 0);
    for (size_t i = 0; s->off_stack_again && i < s->off_stack_count; i++) {
        s->off_stack[i].again_at = s->off_stack[i].at + (uint32_t)moved;
        at += aligned(s->off_stack[i].span);
    }
    return at;
}

static int off_stack_order(const void *a, const void *b)
{
    const uint64_t one = ((const struct off_stack *)a)->frame, other = ((const struct off_stack *)b)->frame;
    return one < other ? -1 : one > other;
}

/* Sorts by address. The off-stack frames are mostly in order. */
static void sort_off_stack(struct snapshot *s)
{
    size_t sorted = 1;
    while (sorted < s->off_stack_count && s->off_stack[sorted - 1].frame < s->off_stack[sorted].frame)
        sorted++;
    if (sorted >= s->off_stack_count)
        return;
    qsort(s->off_stack, s->off_stack_count, sizeof(*s->off_stack), off_stack_order);
    s->off_stack_indexed = 0;
}

/* Whether an off-stack frame can join the piece that begins with `first` and ends at address `end`. One piece is read
 * quicker than two, so it more often shows one moment. */
static bool in_span(const struct off_stack *first, uint64_t end, const struct off_stack *off_stack)
{
    const uint64_t size = off_stack->frame + off_stack->size - first->frame;
    return off_stack->frame - first->frame < SPAN_MOST && size <= SPAN_MOST && off_stack->frame <= end + SPAN_GAP &&
           off_stack->frame / PAGE <= (end - 1) / PAGE + 1;
}

static uint64_t lay_out_off_stack(struct snapshot *s, uint64_t at)
{
    struct off_stack *first = NULL;
    s->off_stack_pieces = 0;
    sort_off_stack(s);
    for (size_t i = 0; i < s->off_stack_count; i++) {
        struct off_stack *off_stack = &s->off_stack[i];
        off_stack->size = off_stack->next;
        off_stack->span = 0;
        if (!first || !in_span(first, first->frame + first->span, off_stack)) {
            at += first ? aligned(first->span) : 0;
            first = off_stack;
            s->off_stack_pieces++;
        }
        off_stack->piece = (uint32_t)s->off_stack_pieces - 1;
        const uint32_t offset = (uint32_t)(off_stack->frame - first->frame);
        first->span = offset + off_stack->size > first->span ? offset + off_stack->size : first->span;
        off_stack->at = (uint32_t)at + offset;
    }
    return at + (first ? aligned(first->span) : 0);
}

/* Gives the near copies their offsets. They exist because a call may be shorter than the time to read everything. */
static uint64_t lay_out_near(struct snapshot *s, uint64_t at)
{
    const bool near = s->twice && s->near && s->newest < s->chunks_count;
    const uint32_t used = near ? s->chunks[s->newest].used : 0;
    s->near_from = used < SNAPSHOT_NEAR ? 0 : used - SNAPSHOT_NEAR;
    s->near_step = aligned(used - s->near_from);
    s->near_at = near ? (uint32_t)at : 0;
    s->near_chunk = s->newest;
    at += NEAR_COPIES * (uint64_t)s->near_step;
    uint32_t step = 0;
    const struct off_stack *first = NULL;
    for (size_t i = 0; i < s->off_stack_count; i++) {
        struct off_stack *off_stack = &s->off_stack[i];
        if (off_stack->span) {
            at += NEAR_COPIES * (uint64_t)step;
            step = near ? aligned(off_stack->span) : 0;
            first = off_stack;
        }
        off_stack->near_at = near ? (uint32_t)(at + off_stack->frame - first->frame) : 0;
        off_stack->near_step = step;
    }
    return at + NEAR_COPIES * (uint64_t)step;
}

/* Gives each piece its offset in the copy. Returns the size of the copy. */
static uint64_t lay_out_pieces(struct snapshot *s, const struct layout *l)
{
    s->cframe_at = aligned(l->thread_size);
    uint64_t at = s->cframe_at + CFRAMES * CFRAME_BYTES;
    for (size_t i = 0; i < s->chunks_count; i++) {
        s->chunks[i].at = (uint32_t)at;
        s->chunks[i].used = s->chunks[i].next;
        at += aligned(s->chunks[i].used);
    }
    return lay_out_again(s, lay_out_near(s, lay_out_off_stack(s, at)));
}

static void add_chunks(const struct snapshot *s, size_t from, size_t end, struct batch *batch)
{
    for (size_t i = from; i < end; i++)
        batch_add(batch, s->chunks[i].address, s->chunks[i].used, s->copy + s->chunks[i].at);
}

static void add_off_stack(const struct snapshot *s, struct batch *batch)
{
    for (size_t i = 0; i < s->off_stack_count; i++) {
        const struct off_stack *off_stack = &s->off_stack[i];
        if (off_stack->piece >= s->off_stack_late)
            break;
        if (off_stack->span)
            batch_add(batch, off_stack->frame, off_stack->span, s->copy + off_stack->at);
        for (size_t near = 0; near < NEAR_COPIES && off_stack->span && off_stack->near_at; near++)
            batch_add(batch, off_stack->frame, off_stack->span,
                      s->copy + off_stack->near_at + near * off_stack->near_step);
    }
}

static void add_again(const struct snapshot *s, struct batch *batch)
{
    for (size_t i = 0; i < s->chunks_count; i++) {
        const struct chunk *chunk = &s->chunks[i];
        if (chunk->again_at)
            batch_add(batch, chunk->address + chunk->again_from, chunk->used - chunk->again_from,
                      s->copy + chunk->again_at);
    }
    for (size_t i = 0; s->off_stack_again && i < s->off_stack_count; i++)
        if (s->off_stack[i].span)
            batch_add(batch, s->off_stack[i].frame, s->off_stack[i].span, s->copy + s->off_stack[i].again_at);
}

/* Adds the pieces that are read behind the chunks. */
static void add_others(const struct snapshot *s, struct batch *batch)
{
    for (size_t i = 0; i < NEAR_COPIES && s->near_at; i++)
        batch_add(batch, s->chunks[s->newest].address + s->near_from, s->chunks[s->newest].used - s->near_from,
                  s->copy + s->near_at + i * s->near_step);
    add_off_stack(s, batch);
    add_again(s, batch);
}

/* The most pieces that the thread may need in a batch, as it is laid out. Those of off-stack frames may be late if the
 * thread stands still. */
static size_t most_pieces(const struct snapshot *s, bool off_stack)
{
    const size_t near = s->twice && s->near ? NEAR_COPIES : 0;
    const size_t again = s->twice && !s->near ? s->chunks_count + TWICE_LIMIT : 1;
    return 3 + CFRAMES + near + s->chunks_count + (off_stack ? s->off_stack_pieces * (1 + near) : 0) + again;
}

/* Lays out as many copies as there is room for. If there is room for none, only the off-stack frames that are in use
 * are laid out. Returns the size of the copy; 0: there is no room for these. */
static uint64_t lay_out_within(struct snapshot *s, const struct layout *l, size_t room)
{
    for (;;) {
        const uint64_t size = lay_out_pieces(s, l);
        const bool few = s->still || s->off_stack_count <= SNAPSHOT_LIVE;
        if (few && size <= COPY_LIMIT && most_pieces(s, !s->still) <= room)
            return size;
        if (few && s->twice) {
            s->twice = s->near;
            s->near = false;
        } else if (!snapshot_forget_idle(s)) {
            return 0;
        }
    }
}

bool snapshot_plan(struct snapshot *s, const struct layout *l, uint64_t thread, struct batch *batch, bool alone)
{
    if (s->newest >= s->chunks_count)
        s->newest = s->chunks_count ? s->chunks_count - 1 : 0;
    const size_t room = batch->count < PIECES_LIMIT ? PIECES_LIMIT - batch->count : 0;
    const uint64_t size = lay_out_within(s, l, room);
    if (size == 0 || !snapshot_make_room(s, size))
        return false;
    const size_t left = room - most_pieces(s, false);
    const size_t at_once = s->still ? (left < STILL_LIMIT ? left : STILL_LIMIT) : s->off_stack_pieces;
    s->off_stack_late = s->off_stack_pieces < at_once ? s->off_stack_pieces : at_once;
    const size_t wanted = s->still ? most_pieces(s, false) + s->off_stack_late : most_pieces(s, true);
    s->copy_size = size;
    s->fetched = false;
    s->thread = thread;
    s->first = batch->count;
    s->off_stack_read = s->off_stack_count;
    s->chunks_came = s->chunks_count ? s->newest + 1 : 0;
    const bool whole = !alone || s->firm >= s->chunks_came || wanted > ALONE_LIMIT;
    batch_add(batch, thread, l->thread_size, s->copy);
    for (size_t i = 0; i < s->cframes_count; i++)
        batch_add(batch, s->cframes[i] + l->cframe_current_frame, CFRAME_BYTES,
                  s->copy + s->cframe_at + i * CFRAME_BYTES);
    s->chunks_came = whole ? s->chunks_came : 0;
    add_chunks(s, 0, s->chunks_came, batch);
    if (whole)
        add_others(s, batch);
    s->pieces = batch->count - s->first;
    s->rest_first = s->rest = s->spare_first = 0;
    return true;
}

bool snapshot_plan_rest(struct snapshot *s, struct batch *batch)
{
    const size_t end = s->newest + 1;
    if (s->chunks_count == 0 || s->chunks_came >= end)
        return false;
    s->rest_first = batch->count;
    add_chunks(s, s->chunks_came, end, batch);
    add_others(s, batch);
    s->chunks_came = end;
    s->rest = batch->count - s->rest_first;
    return true;
}

bool snapshot_plan_spare(struct snapshot *s, struct batch *batch)
{
    if (s->chunks_came >= s->chunks_count || batch->count + s->chunks_count > PIECES_LIMIT)
        return false;
    s->spare_first = batch->count;
    add_chunks(s, s->chunks_came, s->chunks_count, batch);
    return true;
}

/* The order of the pieces:
 *     state │ C frames │ chunks │ near copies of the newest chunk │ off-stack pieces, each with its near copies │
 *     second copies */
enum piece_is snapshot_plan_piece(const struct snapshot *s, size_t k, size_t *index)
{
    *index = 0;
    if (k == 0)
        return PIECE_STATE;
    const size_t copies = s->near_at ? 1 + NEAR_COPIES : 1;
    const size_t first_chunk = 1 + s->cframes_count, first_off_stack = first_chunk + s->chunks_came + copies - 1;
    if (k < first_chunk)
        return PIECE_CFRAME;
    if (k < first_off_stack) {
        *index = k - first_chunk < s->chunks_came ? k - first_chunk : s->chunks_came;
        return PIECE_CHUNK;
    }
    *index = (k - first_off_stack) / copies;
    return *index < s->off_stack_late ? PIECE_OFF_STACK : PIECE_AGAIN;
}
