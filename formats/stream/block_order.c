/* SPDX-License-Identifier: MIT */
#include "formats/stream/block_order.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the search for a missing block: the number of held blocks, and the bytes of their payloads; one more block
 * may exceed the bytes. */
#define HELD_MOST  64
#define HELD_BYTES ((size_t)32 << 20)

/* ---- recording ids ---- */

/* The id is in a note behind the base. A later format version may have other notes before it. */
static uint32_t recording_id_of_events(struct cursor payload)
{
    take_number(&payload);
    while (cursor_left(&payload) > 0 && !payload.bad) {
        const uint64_t tag = take_number(&payload);
        if ((tag & 7) != RECORD_NOTE)
            return 0;
        struct cursor fields = take_part(&payload, take_number(&payload));
        if (tag >> 3 == NOTE_RECORDING_ID)
            return payload.bad ? 0 : take_number32(&fields);
    }
    return 0;
}

uint32_t block_order_recording_id(enum stream_block kind, struct cursor payload)
{
    switch (kind) {
    case BLOCK_HEADER:
        return block_read_field(payload, HEADER_RECORDING_ID);
    case BLOCK_EVENTS:
        return recording_id_of_events(payload);
    case BLOCK_END:
        return block_read_field(payload, END_RECORDING_ID);
    }
    return 0;
}

/* Whether the block belongs to this recording. A block of an unknown kind counts as one of this recording. */
static bool is_ours(const struct block_order *order, const struct block *block)
{
    return (block->kind != BLOCK_EVENTS && block->kind != BLOCK_END) ||
           block_order_recording_id(block->kind, block->payload) == order->recording_id;
}

/* ---- order ---- */

/* Skips a block of another recording. The bytes that were skipped before it may still be the lost end of this
 * recording, so they stay in `tail`. */
static void pass_over_strange(struct block_reader *blocks, const struct block *block)
{
    blocks->damage.bytes += block->size;
    blocks->damage.tail = block->tail + block->size;
    block_read_note_damage(blocks, "a block of another recording", block->at);
}

static void pass_over_late(struct block_reader *blocks, const struct block *block)
{
    blocks->damage.duplicates++;
    blocks->damage.tail = block->tail;
    block_read_note_damage(blocks, "a repeated or late block", block->at);
}

static bool is_held(const struct block_order *order, uint32_t sequence)
{
    for (size_t i = 0; i < order->held_count; i++)
        if (order->held[i].block.sequence == sequence)
            return true;
    return false;
}

/* Reads the next block of this recording that was not given before. */
static enum block_found read_newer(struct block_order *order, struct block_reader *blocks, struct block *block)
{
    for (;;) {
        const enum block_found found = block_read(blocks, block, &order->failure);
        if (found != BLOCK_FOUND)
            return found;
        if (!is_ours(order, block))
            pass_over_strange(blocks, block);
        else if (block->sequence < order->next || is_held(order, block->sequence))
            pass_over_late(blocks, block);
        else
            return BLOCK_FOUND;
    }
}

/* Marks held blocks as early when a block of a lower sequence follows them in the file. Then no block was missing
 * before the first of them, contrary to the damage noted. */
static void note_early(struct block_order *order, struct block_reader *blocks, uint32_t sequence)
{
    for (size_t i = 0; i < order->held_count; i++) {
        struct held_block *held = &order->held[i];
        if (held->early || held->block.sequence < sequence)
            continue;
        held->early = true;
        blocks->damage.duplicates++;
        if (held->block.at == order->missing_at)
            blocks->damage.first.text[0] = '\0';
        block_read_note_damage(blocks, "an early block", held->block.at);
    }
}

static void note_missing(struct block_order *order, struct block_reader *blocks, const struct block *block)
{
    if (blocks->damage.first.text[0])
        return;
    order->missing_at = block->at;
    block_read_note_damage(blocks, "missing blocks ahead of the one", block->at);
}

/* Inserts a copy of a block into the held blocks, by sequence. */
static void hold(struct block_order *order, const struct block *block)
{
    const size_t size = cursor_left(&block->payload);
    order->held = alloc_grow(order->held, &order->held_room, order->held_count + 1, sizeof(*order->held));
    size_t index = order->held_count++;
    for (; index > 0 && order->held[index - 1].block.sequence > block->sequence; index--)
        order->held[index] = order->held[index - 1];
    order->held[index] = (struct held_block){ .block = *block };
    put_bytes(&order->held[index].payload, block->payload.at, size);
    order->held_bytes += size;
}

/* Takes the first held block: the next block in sequence, or the next one that exists. False when no block is held. */
static bool take_held(struct block_order *order, struct block *block)
{
    if (order->held_count == 0)
        return false;
    *block = order->held[0].block;
    order->given = order->held[0].payload;
    block->payload = cursor_of(order->given.at, order->given.size);
    order->held_bytes -= order->given.size;
    order->held_count--;
    memmove(order->held, order->held + 1, order->held_count * sizeof(*order->held));
    return true;
}

static bool can_hold_more(const struct block_order *order)
{
    return order->held_count < HELD_MOST && order->held_bytes < HELD_BYTES;
}

/* Reads until the next block in sequence comes. False when that block is held already, or when no more can be read or
 * held. */
static bool read_due(struct block_order *order, struct block_reader *blocks, struct block *block)
{
    while (order->ending == BLOCK_FOUND && can_hold_more(order)) {
        if (order->held_count > 0 && order->held[0].block.sequence == order->next)
            return false;
        order->ending = read_newer(order, blocks, block);
        if (order->ending != BLOCK_FOUND)
            return false;
        note_early(order, blocks, block->sequence);
        if (block->sequence == order->next)
            return true;
        note_missing(order, blocks, block);
        hold(order, block);
    }
    return false;
}

enum block_found block_order_next(struct block_order *order, struct block_reader *blocks, struct block *block,
                                  bool *skipped, struct fault *why)
{
    bytes_free(&order->given);
    if (!read_due(order, blocks, block) && !take_held(order, block)) {
        if (order->ending == BLOCK_UNREADABLE)
            fault(why, "%s", order->failure.text);
        return order->ending;
    }
    *skipped = block->sequence > order->next;
    blocks->damage.blocks += block->sequence - order->next;
    order->next = (uint64_t)block->sequence + 1;
    return BLOCK_FOUND;
}

void block_order_free(struct block_order *order)
{
    for (size_t i = 0; i < order->held_count; i++)
        bytes_free(&order->held[i].payload);
    free(order->held);
    bytes_free(&order->given);
    *order = (struct block_order){ 0 };
}
