/* SPDX-License-Identifier: MIT */
#include "tests/tools/damage_kinds.h"

#include "formats/base/alloc.h"
#include "formats/codec/stream_format.h"

#include <stdlib.h>
#include <string.h>

#define RUN_MOST 4 /* blocks in a row */

uint64_t below(struct randomness *random, uint64_t limit)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t value = random->state ^ random->state >> 33;
    value = value * 0xFF51AFD7ED558CCDu;
    return (value ^ value >> 33) % limit;
}

bool original_look(struct original *original)
{
    size_t at = STREAM_MAGIC_SIZE;
    original->blocks = 0;
    while (at + STREAM_BLOCK_HEADER <= original->file.size) {
        struct cursor size = cursor_of(original->file.at + at + STREAM_STORED_SIZE_AT, 4);
        original->at = alloc_grow(original->at, &original->room, original->blocks + 2, sizeof(*original->at));
        original->at[original->blocks++] = at;
        at += STREAM_BLOCK_HEADER + take_u32(&size);
        original->at[original->blocks] = at;
    }
    return original->blocks > 2 && at == original->file.size;
}

size_t original_block_size(const struct original *original, uint32_t block)
{
    return block < original->blocks ? original->at[block + 1] - original->at[block] : 0;
}

/* ---- pieces of the file ---- */

/* Seldom in the header, without which there is nothing to look at. */
static size_t any_place(struct damaging *d)
{
    const size_t header_end = d->original->at[1];
    const size_t from = header_end < d->file.size && below(d->random, 16) ? header_end : 0;
    return from + below(d->random, d->file.size - from + 1);
}

/* Most pieces are small, some are large. */
static size_t any_size(struct damaging *d, size_t at)
{
    const uint64_t limit = (uint64_t)1 << below(d->random, 18);
    const size_t size = 1 + below(d->random, limit), left = d->file.size - at;
    return size < left ? size : left;
}

static void insert(struct bytes *file, size_t at, const void *bytes, size_t size)
{
    struct bytes tail = { 0 };
    put_bytes(&tail, file->at + at, file->size - at);
    file->size = at;
    put_bytes(file, bytes, size);
    put_bytes(file, tail.at, tail.size);
    bytes_free(&tail);
}

/* A block of the recording other than its header. */
static uint32_t any_block(struct damaging *d, const struct original *of)
{
    return 1 + (uint32_t)below(d->random, of->blocks - 1);
}

/* Where a block ends, or any place behind the header. */
static size_t place_for_block(struct damaging *d)
{
    const size_t header_end = d->original->at[1] < d->file.size ? d->original->at[1] : d->file.size;
    const size_t place = d->original->at[any_block(d, d->original)];
    if (place <= d->file.size && below(d->random, 2))
        return place;
    return header_end + below(d->random, d->file.size - header_end + 1);
}

/* ---- the kinds ---- */

static void flip_bits(struct damaging *d)
{
    const uint64_t count = 1 + below(d->random, (uint64_t)1 << below(d->random, 6));
    for (uint64_t i = 0; i < count; i++) {
        const size_t at = any_place(d);
        if (at < d->file.size)
            d->file.at[at] ^= (unsigned char)(1 << below(d->random, 8));
    }
}

static void cut_the_end(struct damaging *d)
{
    d->file.size = any_place(d);
}

static void cut_a_piece_out(struct damaging *d)
{
    const size_t at = any_place(d), size = any_size(d, at);
    memmove(d->file.at + at, d->file.at + at + size, d->file.size - at - size);
    d->file.size -= size;
}

static void zero_a_range(struct damaging *d)
{
    const size_t at = any_place(d);
    memset(d->file.at + at, 0, any_size(d, at));
}

static void put_noise_into_a_range(struct damaging *d)
{
    const size_t at = any_place(d);
    for (size_t left = any_size(d, at); left > 0; left--)
        d->file.at[at + left - 1] = (unsigned char)below(d->random, 256);
}

static void repeat_a_piece(struct damaging *d)
{
    const size_t at = any_place(d), size = any_size(d, at);
    char *piece = alloc_copy(d->file.at + at, size);
    insert(&d->file, at + size, piece, size);
    free(piece);
}

static void put_a_block_in_again(struct damaging *d)
{
    const uint32_t block = any_block(d, d->original);
    insert(&d->file, place_for_block(d), d->original->file.at + d->original->at[block],
           original_block_size(d->original, block));
}

/* Only in a file that has its first length still: where the blocks stand is known. */
static void swap_two_blocks(struct damaging *d)
{
    const struct original *o = d->original;
    const uint32_t one = any_block(d, o), two = any_block(d, o);
    const uint32_t first = one < two ? one : two, second = one < two ? two : one;
    if (first == second || d->file.size != o->file.size)
        return;
    struct bytes swapped = { 0 };
    put_bytes(&swapped, d->file.at, o->at[first]);
    put_bytes(&swapped, d->file.at + o->at[second], original_block_size(o, second));
    put_bytes(&swapped, d->file.at + o->at[first + 1], o->at[second] - o->at[first + 1]);
    put_bytes(&swapped, d->file.at + o->at[first], original_block_size(o, first));
    put_bytes(&swapped, d->file.at + o->at[second + 1], o->file.size - o->at[second + 1]);
    bytes_free(&d->file);
    d->file = swapped;
}

/* Some that follow each other, to where another begins. */
static void move_blocks(struct damaging *d)
{
    const struct original *o = d->original;
    const uint32_t first = any_block(d, o), left = o->blocks - first, to = any_block(d, o);
    const uint32_t count = 1 + (uint32_t)below(d->random, left < RUN_MOST ? left : RUN_MOST);
    const size_t size = o->at[first + count] - o->at[first];
    if ((to >= first && to < first + count) || d->file.size != o->file.size)
        return;
    char *run = alloc_copy(d->file.at + o->at[first], size);
    memmove(d->file.at + o->at[first], d->file.at + o->at[first + count], d->file.size - o->at[first + count]);
    d->file.size -= size;
    insert(&d->file, o->at[to] - (to > first ? size : 0), run, size);
    free(run);
}

/* One or more blocks that follow each other, put in or in the place of ours. */
static void splice_in_blocks_of_another(struct damaging *d)
{
    const uint32_t first = any_block(d, d->other), left = d->other->blocks - first;
    const uint32_t count = 1 + (uint32_t)below(d->random, left < RUN_MOST ? left : RUN_MOST);
    const size_t at = place_for_block(d), size = d->other->at[first + count] - d->other->at[first];
    if (below(d->random, 2)) {
        const size_t place_end = d->file.size - at < size ? d->file.size : at + size;
        memmove(d->file.at + at, d->file.at + place_end, d->file.size - place_end);
        d->file.size -= place_end - at;
    }
    insert(&d->file, at, d->other->file.at + d->other->at[first], size);
}

const struct damage_kind damage_kinds[] = {
    { "bits flipped", flip_bits, false },
    { "the end cut off", cut_the_end, false },
    { "a piece cut out", cut_a_piece_out, false },
    { "a range of zeros", zero_a_range, false },
    { "a range of noise", put_noise_into_a_range, false },
    { "a piece repeated", repeat_a_piece, false },
    { "a block put in again", put_a_block_in_again, true },
    { "two blocks swapped", swap_two_blocks, true },
    { "blocks moved", move_blocks, true },
    { "blocks of another recording", splice_in_blocks_of_another, false },
};
const size_t damage_kinds_count = countof(damage_kinds);
