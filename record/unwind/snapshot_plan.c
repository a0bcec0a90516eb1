/* SPDX-License-Identifier: MIT */
#include "record/unwind/snapshot.h"

#include <stdlib.h>

#define COPY_LIMIT   (64u << 20) /* bytes of all pieces */
#define PIECES_LIMIT 900         /* of a batch, without the interpreters' pieces */
#define AT_ONCE      256         /* off-stack pieces in a batch; further calls read the others */

#define PAGE      4096u /* bytes; a page of memory is readable as a whole or not at all */
#define SPAN_GAP  1024  /* the largest gap, in bytes, between two off-stack frames that are read as one piece, ... */
#define SPAN_MOST 8192  /* ... and the largest such piece */

static uint32_t aligned(uint32_t size)
{
    return (size + 7u) & ~7u;
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
 * quicker than two. */
static bool in_span(const struct layout *l, const struct off_stack *first, uint64_t end,
                    const struct off_stack *off_stack)
{
    const uint64_t size = off_stack->frame + l->frame_size - first->frame;
    return off_stack->frame - first->frame < SPAN_MOST && size <= SPAN_MOST && off_stack->frame <= end + SPAN_GAP &&
           off_stack->frame / PAGE <= (end - 1) / PAGE + 1;
}

/* Gives the off-stack pieces their offsets in the copy, from `at` on. Returns the offset behind the last one. */
static uint64_t lay_out_off_stack(struct snapshot *s, const struct layout *l, uint64_t at)
{
    struct off_stack *first = NULL;
    s->off_stack_pieces = 0;
    sort_off_stack(s);
    for (size_t i = 0; i < s->off_stack_count; i++) {
        struct off_stack *off_stack = &s->off_stack[i];
        off_stack->span = 0;
        if (!first || !in_span(l, first, first->frame + first->span, off_stack)) {
            at += first ? aligned(first->span) : 0;
            first = off_stack;
            s->off_stack_pieces++;
        }
        off_stack->piece = (uint32_t)s->off_stack_pieces - 1;
        const uint32_t offset = (uint32_t)(off_stack->frame - first->frame);
        first->span = offset + l->frame_size > first->span ? offset + l->frame_size : first->span;
        off_stack->at = (uint32_t)at + offset;
    }
    return at + (first ? aligned(first->span) : 0);
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
    return lay_out_off_stack(s, l, at);
}

/* The most pieces that the thread needs in a batch. Those of off-stack frames may be late. */
static size_t most_pieces(const struct snapshot *s)
{
    return 1 + CFRAMES + s->chunks_count;
}

/* Lays out the copy. If there is no room, only the off-stack frames that are in use are laid out. Returns the size of
 * the copy; 0: there is no room for these. */
static uint64_t lay_out_within(struct snapshot *s, const struct layout *l, size_t room)
{
    for (;;) {
        const uint64_t size = lay_out_pieces(s, l);
        if (size <= COPY_LIMIT && most_pieces(s) <= room)
            return size;
        if (!snapshot_forget_idle(s))
            return 0;
    }
}

static void add_off_stack(const struct snapshot *s, struct batch *batch)
{
    for (size_t i = 0; i < s->off_stack_count && s->off_stack[i].piece < s->off_stack_late; i++)
        if (s->off_stack[i].span)
            batch_add(batch, s->off_stack[i].frame, s->off_stack[i].span, s->copy + s->off_stack[i].at);
}

bool snapshot_plan(struct snapshot *s, const struct layout *l, uint64_t thread, struct batch *batch)
{
    const size_t room = batch->count < PIECES_LIMIT ? PIECES_LIMIT - batch->count : 0;
    const uint64_t size = lay_out_within(s, l, room);
    if (size == 0 || !snapshot_make_room(s, size))
        return false;
    const size_t left = room - most_pieces(s), at_once = left < AT_ONCE ? left : AT_ONCE;
    s->off_stack_late = s->off_stack_pieces < at_once ? s->off_stack_pieces : at_once;
    s->copy_size = size;
    s->fetched = s->changed = false;
    s->thread = thread;
    s->first = batch->count;
    s->off_stack_read = s->off_stack_count;
    s->chunks_came = s->chunks_count;
    batch_add(batch, thread, l->thread_size, s->copy);
    for (size_t i = 0; i < s->cframes_count; i++)
        batch_add(batch, s->cframes[i] + l->cframe_current_frame, CFRAME_BYTES,
                  s->copy + s->cframe_at + i * CFRAME_BYTES);
    for (size_t i = 0; i < s->chunks_count; i++)
        batch_add(batch, s->chunks[i].address, s->chunks[i].used, s->copy + s->chunks[i].at);
    add_off_stack(s, batch);
    s->pieces = batch->count - s->first;
    return true;
}

/* The order of the pieces: state │ C frames │ chunks │ off-stack pieces */
enum piece_is snapshot_plan_piece(const struct snapshot *s, size_t k, size_t *index)
{
    const size_t first_chunk = 1 + s->cframes_count, first_off_stack = first_chunk + s->chunks_came;
    *index = 0;
    if (k == 0)
        return PIECE_STATE;
    if (k < first_chunk)
        return PIECE_CFRAME;
    *index = k < first_off_stack ? k - first_chunk : k - first_off_stack;
    return k < first_off_stack ? PIECE_CHUNK : PIECE_OFF_STACK;
}
