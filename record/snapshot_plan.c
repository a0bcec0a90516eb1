/* SPDX-License-Identifier: MIT */
#include "record/snapshot.h"

#include "formats/alloc.h"

#define AGAIN        2048        /* bytes at the end of the newest chunk that are read again after strays */
#define COPY_LIMIT   (64u << 20) /* bytes of all pieces */
#define PIECES_LIMIT 900         /* of a call; the interpreters' come besides */
#define ALONE_LIMIT  700         /* the same of a thread whose pieces come after the target's own */
#define TWICE_LIMIT  100         /* strays that are read twice in one call; if there are more, only chunks are */

static uint32_t aligned(uint32_t size)
{
    return (size + 7u) & ~7u;
}

/* The end of the newest chunk is read again when strays were read after it; or all is. */
static uint64_t place_again(struct snapshot *s, uint64_t at)
{
    const size_t first = s->twice ? 0 : s->newest;
    for (size_t i = 0; i < s->chunks_count; i++) {
        struct chunk *chunk = &s->chunks[i];
        chunk->again_at = 0;
        if (i < first || i > s->newest || (!s->twice && s->strays_count == 0))
            continue;
        chunk->again_from = s->twice || chunk->used < AGAIN ? 0 : chunk->used - AGAIN;
        chunk->again_at = (uint32_t)at;
        at += aligned(chunk->used - chunk->again_from);
    }
    s->strays_again = s->twice && s->strays_count <= TWICE_LIMIT;
    for (size_t i = 0; s->strays_again && i < s->strays_count; i++) {
        s->strays[i].again_at = (uint32_t)at;
        at += aligned(s->strays[i].size);
    }
    return at;
}

/* Gives each piece its place in the copy. Returns the size of all. */
static uint64_t place_pieces(struct snapshot *s, const struct layout *l)
{
    s->cframe_at = aligned(l->thread_size);
    uint64_t at = s->cframe_at + sizeof(s->cframes);
    for (size_t i = 0; i < s->chunks_count; i++) {
        s->chunks[i].at = (uint32_t)at;
        s->chunks[i].used = s->chunks[i].next;
        at += aligned(s->chunks[i].used);
    }
    for (size_t i = 0; i < s->strays_count; i++) {
        s->strays[i].at = (uint32_t)at;
        s->strays[i].size = s->strays[i].next;
        at += aligned(s->strays[i].size);
    }
    return place_again(s, at);
}

static void add_chunks(const struct snapshot *s, size_t from, size_t end, struct call *call)
{
    for (size_t i = from; i < end; i++)
        call_add(call, s->chunks[i].address, s->chunks[i].used, s->copy + s->chunks[i].at);
}

/* What is read after the chunks. */
static void add_others(const struct snapshot *s, struct call *call)
{
    for (size_t i = 0; i < s->strays_count; i++)
        call_add(call, s->strays[i].frame, s->strays[i].size, s->copy + s->strays[i].at);
    for (size_t i = 0; i < s->chunks_count; i++) {
        const struct chunk *chunk = &s->chunks[i];
        if (chunk->again_at)
            call_add(call, chunk->address + chunk->again_from, chunk->used - chunk->again_from,
                     s->copy + chunk->again_at);
    }
    for (size_t i = 0; s->strays_again && i < s->strays_count; i++)
        call_add(call, s->strays[i].frame, s->strays[i].size, s->copy + s->strays[i].again_at);
}

bool snapshot_plan(struct snapshot *s, const struct layout *l, uint64_t thread, struct call *call, bool alone)
{
    const size_t wanted = 3 + CFRAMES + 2 * s->chunks_count + s->strays_count + TWICE_LIMIT;
    if (call->count + wanted > PIECES_LIMIT) {
        s->twice = false;
        return false;
    }
    if (s->newest >= s->chunks_count)
        s->newest = s->chunks_count ? s->chunks_count - 1 : 0;
    const uint64_t size = place_pieces(s, l);
    if (size > COPY_LIMIT) {
        snapshot_free(s);
        return false;
    }
    if (size > s->copy_room || size > s->last_room) {
        s->copy = alloc_grow(s->copy, &s->copy_room, size, 1);
        s->last = alloc_grow(s->last, &s->last_room, size, 1);
    }
    s->thread = thread;
    s->first = call->count;
    s->strays_read = s->strays_count;
    call_add(call, thread, l->thread_size, s->copy);
    for (size_t i = 0; i < s->cframes_count; i++)
        call_add(call, s->cframes[i] + l->cframe_current_frame, 8, s->copy + s->cframe_at + i * 8);
    s->chunks_came = s->chunks_count ? s->newest + 1 : 0;
    const bool whole = !alone || s->firm >= s->chunks_came || wanted > ALONE_LIMIT;
    s->chunks_came = whole ? s->chunks_came : 0;
    add_chunks(s, 0, s->chunks_came, call);
    if (whole)
        add_others(s, call);
    s->pieces = call->count - s->first;
    s->rest_first = s->rest = s->spare_first = 0;
    return true;
}

bool snapshot_plan_rest(struct snapshot *s, struct call *call)
{
    const size_t end = s->newest + 1;
    if (s->chunks_count == 0 || s->chunks_came >= end)
        return false;
    s->rest_first = call->count;
    add_chunks(s, s->chunks_came, end, call);
    add_others(s, call);
    s->chunks_came = end;
    s->rest = call->count - s->rest_first;
    return true;
}

bool snapshot_plan_spare(struct snapshot *s, struct call *call)
{
    if (s->chunks_came >= s->chunks_count || call->count + s->chunks_count > PIECES_LIMIT)
        return false;
    s->spare_first = call->count;
    add_chunks(s, s->chunks_came, s->chunks_count, call);
    return true;
}
