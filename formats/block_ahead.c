/* SPDX-License-Identifier: MIT */
#include "formats/block_ahead.h"

#include "formats/alloc.h"

#include <pthread.h>
#include <stdlib.h>

#define SLOTS 4

/* What block_in_order() brought. */
struct slot {
    enum block_found found;
    struct block block;
    struct bytes payload; /* of the block */
    bool skipped;
    struct fault why;
    struct block_progress progress;
};

struct block_ahead {
    struct block_reader blocks; /* these two are the thread's */
    struct block_order order;
    uint64_t lost; /* blocks that `progress` of the block given last has told of */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot slots[SLOTS];
    uint64_t found, given; /* how many; the one given last is still in use */
    bool stopped;
};

/* ---- the thread ---- */

static void fill(struct block_ahead *ahead, struct slot *slot)
{
    slot->why.text[0] = '\0';
    slot->found = block_in_order(&ahead->order, &ahead->blocks, &slot->block, &slot->skipped, &slot->why);
    slot->progress = block_progress(&ahead->blocks);
    if (slot->found != BLOCK_FOUND)
        return;
    slot->payload.size = 0;
    put_bytes(&slot->payload, slot->block.payload.at, cursor_left(&slot->block.payload));
    slot->block.payload = cursor_of(slot->payload.at, slot->payload.size);
}

/* A slot to be filled; NULL: no more are wanted. */
static struct slot *wait_for_room(struct block_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stopped && ahead->found >= ahead->given + SLOTS - (ahead->given > 0))
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    struct slot *slot = ahead->stopped ? NULL : &ahead->slots[ahead->found % SLOTS];
    pthread_mutex_unlock(&ahead->lock);
    return slot;
}

static void count(struct block_ahead *ahead, uint64_t *counter)
{
    pthread_mutex_lock(&ahead->lock);
    ++*counter;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

static void *find_blocks(void *self)
{
    struct block_ahead *ahead = self;
    for (struct slot *slot; (slot = wait_for_room(ahead));) {
        fill(ahead, slot);
        const bool last = slot->found != BLOCK_FOUND;
        count(ahead, &ahead->found);
        if (last)
            break;
    }
    return NULL;
}

/* ---- who decodes ---- */

struct block_ahead *block_ahead_begin(struct block_reader *blocks, struct block_order *order)
{
    struct block_ahead *ahead = alloc_zeroed(1, sizeof(*ahead));
    ahead->blocks = *blocks;
    ahead->order = *order;
    ahead->lost = blocks->damage.blocks;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (pthread_create(&ahead->thread, NULL, find_blocks, ahead) != 0) {
        free(ahead);
        return NULL;
    }
    const struct block_progress progress = block_progress(blocks);
    *order = (struct block_order){ .next = order->next, .mark = order->mark };
    block_reader_open(blocks, blocks->fd);
    block_show_progress(blocks, &progress);
    return ahead;
}

/* Who decodes counts blocks as lost, too, and the first thing that was wrong is the first in the file. */
static void show_progress(struct block_ahead *ahead, struct block_reader *blocks, struct block_progress progress)
{
    const uint64_t lost = progress.damage.blocks;
    progress.damage.blocks = blocks->damage.blocks + lost - ahead->lost;
    ahead->lost = lost;
    if (blocks->damage.first.text[0])
        progress.damage.first = blocks->damage.first;
    block_show_progress(blocks, &progress);
}

static struct slot *wait_for_block(struct block_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (ahead->found == ahead->given)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return &ahead->slots[ahead->given % SLOTS];
}

enum block_found block_ahead_next(struct block_ahead *ahead, struct block_order *order, struct block_reader *blocks,
                                  struct block *block, bool *skipped, struct fault *why)
{
    struct slot *slot = wait_for_block(ahead);
    show_progress(ahead, blocks, slot->progress);
    if (slot->found != BLOCK_FOUND) {
        if (slot->why.text[0])
            fault(why, "%s", slot->why.text);
        return slot->found;
    }
    *block = slot->block;
    *skipped = slot->skipped;
    order->next = (uint64_t)block->sequence + 1;
    count(ahead, &ahead->given);
    return BLOCK_FOUND;
}

void block_ahead_end(struct block_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stopped = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    for (size_t i = 0; i < SLOTS; i++)
        bytes_free(&ahead->slots[i].payload);
    block_order_free(&ahead->order);
    block_reader_close(&ahead->blocks);
    free(ahead);
}
