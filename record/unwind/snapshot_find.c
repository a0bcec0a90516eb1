/* SPDX-License-Identifier: MIT */
#include "record/unwind/snapshot.h"

#include <string.h>

#define BLOCK         256 /* bytes per memcmp() */
#define OFF_STACK_FEW 16  /* off-stack frames that are searched one by one; beyond, they have a hash table */

static bool chunk_has_frame(const struct chunk *chunk, const struct layout *l, uint64_t frame)
{
    const uint64_t offset = frame - chunk->address;
    return offset < chunk->used && chunk->used - offset >= l->frame_size;
}

/* The index + 1 of the chunk, among the first `count`, that has a frame; 0: none. A stack is walked from frame to
 * frame, so the chunk is mostly the one that was found last, or a neighbour. This matters because a deep stack has
 * hundreds of chunks. */
static size_t find_chunk(const struct snapshot *s, const struct layout *l, uint64_t frame, size_t count)
{
    const size_t first = s->near_chunk_hint > 0 ? s->near_chunk_hint - 1 : 0;
    for (size_t i = first; i < first + 3 && i < count; i++)
        if (chunk_has_frame(&s->chunks[i], l, frame))
            return i + 1;
    while (count > 0 && !chunk_has_frame(&s->chunks[count - 1], l, frame))
        count--;
    return count;
}

/* The slot of the off-stack frame at an address, or the free one where it belongs. */
static uint32_t *off_stack_slot(const struct snapshot *s, uint64_t frame)
{
    const size_t mask = s->off_stack_slots_mask;
    size_t i = hash_pair(&s->off_stack_spread, (uint32_t)(frame >> 32), (uint32_t)frame) >> 32 & mask;
    while (s->off_stack_slots[i] && s->off_stack[s->off_stack_slots[i] - 1].frame != frame)
        i = (i + 1) & mask;
    return &s->off_stack_slots[i];
}

/* Brings the hash table up to date. */
static void index_off_stack(struct snapshot *s)
{
    if (s->off_stack_indexed == 0 || 3 * s->off_stack_count > 2 * s->off_stack_slots_mask) {
        size_t slots = 4 * OFF_STACK_FEW;
        while (slots < 2 * s->off_stack_count)
            slots *= 2;
        s->off_stack_slots = snapshot_grow(s->off_stack_slots, &s->off_stack_slots_room, slots, sizeof(uint32_t));
        s->off_stack_slots_mask = slots - 1;
        if (s->off_stack_spread.a == 0)
            s->off_stack_spread = hash_anew(); /* the frames are those of the target, which may want them to collide */
        s->off_stack_indexed = 0;
        memset(s->off_stack_slots, 0, slots * sizeof(uint32_t));
    }
    for (; s->off_stack_indexed < s->off_stack_count; s->off_stack_indexed++)
        *off_stack_slot(s, s->off_stack[s->off_stack_indexed].frame) = (uint32_t)s->off_stack_indexed + 1;
}

size_t snapshot_find_off_stack(struct snapshot *s, uint64_t frame, size_t count)
{
    /* The walk goes towards the root: to higher addresses of the C stack, or on as the frames were fetched. */
    const size_t hint = s->off_stack_hint;
    size_t found = 0;
    if (hint < count && s->off_stack[hint].frame == frame) {
        found = hint + 1;
    } else if (s->off_stack_count <= OFF_STACK_FEW) {
        while (found < count && s->off_stack[found].frame != frame)
            found++;
        found = found < count ? found + 1 : 0;
    } else {
        if (s->off_stack_indexed < s->off_stack_count)
            index_off_stack(s);
        found = *off_stack_slot(s, frame);
        found = found <= count ? found : 0;
    }
    s->off_stack_hint = found ? found : hint;
    return found;
}

struct found_frame snapshot_locate(struct snapshot *s, const struct layout *l, uint64_t frame)
{
    const size_t position = find_chunk(s, l, frame, s->chunks_came);
    if (position) {
        const struct chunk *chunk = &s->chunks[position - 1];
        s->near_chunk_hint = position - 1;
        return (struct found_frame){ s->copy + chunk->at + (frame - chunk->address), 0, position - 1 };
    }
    const size_t found = snapshot_find_off_stack(s, frame, s->off_stack_read);
    if (!found)
        return (struct found_frame){ 0 };
    s->off_stack[found - 1].idle = 0;
    return (struct found_frame){ s->copy + s->off_stack[found - 1].at, found, 0 };
}

size_t snapshot_words(const struct snapshot *s, const struct layout *l, const struct found_frame *found,
                      uint64_t address, uint64_t *words, size_t room)
{
    const struct off_stack *off_stack = found->off_stack ? &s->off_stack[found->off_stack - 1] : NULL;
    const uint64_t start = off_stack ? off_stack->frame : s->chunks[found->chunk].address;
    const uint32_t size = off_stack ? l->frame_size : s->chunks[found->chunk].used;
    const uint32_t at = off_stack ? off_stack->at : s->chunks[found->chunk].at;
    const uint64_t offset = address - start;
    if (offset >= size || offset % 8 != 0)
        return 0;
    const size_t there = (size - offset) / 8;
    const size_t count = there < room ? there : room;
    memcpy(words, s->copy + at + offset, count * 8);
    return count;
}

/* ---- comparison with the last accepted copy ---- */

static uint32_t same_bytes(const unsigned char *a, const unsigned char *b, uint32_t size)
{
    uint32_t at = 0;
    while (size - at >= BLOCK && memcmp(a + at, b + at, BLOCK) == 0)
        at += BLOCK;
    while (at < size && a[at] == b[at])
        at++;
    return at;
}

void snapshot_find_changes(struct snapshot *s, const struct layout *l)
{
    s->same_chunk = s->same_until = 0;
    if (!s->comparable)
        return;
    for (size_t i = 0; i < s->off_stack_count; i++)
        if (memcmp(s->copy + s->off_stack[i].at, s->last + s->off_stack[i].at, l->frame_size) != 0)
            return;
    for (; s->same_chunk < s->chunks_came; s->same_chunk++) {
        const struct chunk *chunk = &s->chunks[s->same_chunk];
        s->same_until = same_bytes(s->copy + chunk->at, s->last + chunk->at, chunk->used);
        if (s->same_until < chunk->used)
            return;
    }
}

bool snapshot_same(const struct snapshot *s, const struct layout *l, const struct found_frame *found, uint64_t frame)
{
    if (found->off_stack)
        return false;
    const uint64_t end = frame - s->chunks[found->chunk].address + l->frame_size;
    return found->chunk < s->same_chunk || (found->chunk == s->same_chunk && end <= s->same_until);
}

/* Whether the members of the thread's state that locate its frames are the same as in the last accepted copy. */
static bool same_state(const struct snapshot *s, const struct layout *l)
{
    const unsigned char *now = s->copy, *last = s->last;
    if (l->thread_cframe && memcmp(now + s->cframe_at, last + s->cframe_at, s->cframes_count * CFRAME_BYTES) != 0)
        return false;
    return word_at(now, l->thread_current_frame) == word_at(last, l->thread_current_frame) &&
           word_at(now, l->thread_cframe) == word_at(last, l->thread_cframe) &&
           word_at(now, l->thread_chunk) == word_at(last, l->thread_chunk) &&
           word_at(now, l->thread_chunk + 8) == word_at(last, l->thread_chunk + 8);
}

bool snapshot_unchanged(const struct snapshot *s, const struct layout *l)
{
    if (!s->comparable || !same_state(s, l))
        return false;
    for (size_t i = 0; i < s->off_stack_count; i++)
        if (memcmp(s->copy + s->off_stack[i].at, s->last + s->off_stack[i].at, l->frame_size) != 0)
            return false;
    for (size_t i = 0; i < s->chunks_came; i++) {
        const struct chunk *chunk = &s->chunks[i];
        const uint64_t top = i + 1 == s->chunks_came ? word_at(s->copy, l->thread_chunk + 8) - chunk->address
                                                     : chunk->used;
        if (memcmp(s->copy + chunk->at, s->last + chunk->at, top < chunk->used ? top : chunk->used) != 0)
            return false;
    }
    return true;
}
