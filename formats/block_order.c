/* SPDX-License-Identifier: MIT */
#include "formats/block_order.h"

/* ---- marks ---- */

static uint32_t number_of(struct cursor part)
{
    return take_number32(&part);
}

/* Behind the base; a later version may put other notes in front. */
static uint32_t mark_of_events(struct cursor payload)
{
    take_number(&payload);
    while (cursor_left(&payload) > 0 && !payload.bad) {
        const uint64_t tag = take_number(&payload);
        if ((tag & 7) != RECORD_NOTE)
            return 0;
        const struct cursor fields = take_part(&payload, take_number(&payload));
        if (tag >> 3 == NOTE_MARK)
            return payload.bad ? 0 : number_of(fields);
    }
    return 0;
}

static uint32_t mark_of_fields(struct cursor payload, uint32_t field)
{
    while (cursor_left(&payload) > 0 && !payload.bad) {
        const uint64_t number = take_number(&payload);
        const struct cursor part = take_part(&payload, take_number(&payload));
        if (number == field)
            return payload.bad ? 0 : number_of(part);
    }
    return 0;
}

uint32_t block_mark(enum stream_block kind, struct cursor payload)
{
    switch (kind) {
    case BLOCK_HEADER:
        return mark_of_fields(payload, HEADER_MARK);
    case BLOCK_EVENTS:
        return mark_of_events(payload);
    case BLOCK_END:
        return mark_of_fields(payload, END_MARK);
    }
    return 0;
}

/* What is in a block of a kind that is not known can't be wrong. */
static bool is_ours(const struct block_order *order, const struct block *block)
{
    return (block->kind != BLOCK_EVENTS && block->kind != BLOCK_END) ||
           block_mark(block->kind, block->payload) == order->mark;
}

/* ---- order ---- */

/* What was passed over before a block that is not wanted may still be the lost end of the recording. */
static void pass_over_strange(struct block_reader *blocks, const struct block *block)
{
    blocks->damage.bytes += block->size;
    blocks->damage.tail = block->tail + block->size;
    block_note_damage_at(blocks, "a block of another recording", block->at);
}

static void pass_over_late(struct block_reader *blocks, const struct block *block)
{
    blocks->damage.duplicates++;
    blocks->damage.tail = block->tail;
    block_note_damage_at(blocks, "a block that is no longer due", block->at);
}

/* The next block that is ours and did not come before. */
static enum block_found read_newer(struct block_order *order, struct block_reader *blocks, struct block *block,
                                   struct fault *why)
{
    for (;;) {
        enum block_found found = BLOCK_FOUND;
        if (order->waits)
            *block = order->behind;
        else
            found = block_read(blocks, block, why);
        order->waits = false;
        if (found != BLOCK_FOUND)
            return found;
        if (!is_ours(order, block))
            pass_over_strange(blocks, block);
        else if (block->sequence < order->next)
            pass_over_late(blocks, block);
        else
            return BLOCK_FOUND;
    }
}

/* Either blocks are missing ahead of this one, or it came too early: then the one behind it is an earlier one, and it
 * is passed over, so that what stands between is not lost. */
static enum block_found settle(struct block_order *order, struct block_reader *blocks, struct block *block,
                               struct fault *why)
{
    enum block_found behind = BLOCK_FOUND;
    while (block->sequence > order->next && behind == BLOCK_FOUND) {
        order->held.size = 0;
        put_bytes(&order->held, block->payload.at, cursor_left(&block->payload));
        block->payload = cursor_of(order->held.at, order->held.size);
        block_note_damage(blocks, "missing blocks ahead of the one before");
        behind = read_newer(order, blocks, &order->behind, why);
        order->waits = behind == BLOCK_FOUND;
        if (!order->waits || order->behind.sequence >= block->sequence)
            break;
        blocks->damage.duplicates++;
        read_newer(order, blocks, block, why);
    }
    return behind == BLOCK_UNREADABLE ? BLOCK_UNREADABLE : BLOCK_FOUND;
}

enum block_found block_in_order(struct block_order *order, struct block_reader *blocks, struct block *block,
                                bool *skipped, struct fault *why)
{
    enum block_found found = read_newer(order, blocks, block, why);
    if (found == BLOCK_FOUND)
        found = settle(order, blocks, block, why);
    if (found != BLOCK_FOUND)
        return found;
    *skipped = block->sequence > order->next;
    blocks->damage.blocks += block->sequence - order->next;
    order->next = block->sequence + 1;
    return BLOCK_FOUND;
}

void block_order_free(struct block_order *order)
{
    bytes_free(&order->held);
    *order = (struct block_order){ 0 };
}
