/* SPDX-License-Identifier: MIT */
#include "formats/stream/block_prefetch.h"

#include "formats/base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

#define SLOTS      32
#define BYTES_MOST ((size_t)1 << 20) /* limit of waiting payloads: a few of the largest blocks that a writer makes */
#define ROOM_MOST  BYTES_MOST        /* limit of a payload's memory that is kept for reuse */

/* One result of block_read(). */
struct slot {
    enum block_found found;
    struct block block;
    struct bytes payload; /* owns the block's payload */
    struct fault why;
    struct block_progress progress;
};

struct block_prefetch {
    struct block_reader blocks; /* belongs to the thread */
    uint64_t lost;              /* lost blocks in the `progress` of the block given last */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot slots[SLOTS];
    uint64_t found, given;      /* numbers of slots filled and given; the slot given last is still in use */
    size_t bytes;               /* bytes of the waiting payloads */
    struct bytes spares[SLOTS]; /* memory for payloads; the memory used last is reused first */
    size_t spares_count;
    bool stopped;
};

/* ---- the thread ---- */

static void slot_fill(struct block_prefetch *ahead, struct slot *slot)
{
    slot->why.text[0] = '\0';
    slot->found = block_read(&ahead->blocks, &slot->block, &slot->why);
    slot->progress = block_read_progress(&ahead->blocks);
    slot->payload.size = 0;
    if (slot->found != BLOCK_FOUND)
        return;
    put_bytes(&slot->payload, slot->block.payload.at, cursor_left(&slot->block.payload));
    slot->block.payload = cursor_of(slot->payload.at, slot->payload.size);
}

/* Whether `slots` more slots with `bytes` more bytes may be filled. */
static bool prefetch_has_room(const struct block_prefetch *ahead, size_t slots, size_t bytes)
{
    const uint64_t waiting = ahead->found - ahead->given;
    return waiting == 0 || (waiting + slots < SLOTS && ahead->bytes + bytes <= BYTES_MOST);
}

/* Waits for a slot to fill. NULL: the thread has to stop. */
static struct slot *wait_for_room(struct block_prefetch *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stopped && !prefetch_has_room(ahead, 1, 1))
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    struct slot *slot = ahead->stopped ? NULL : &ahead->slots[ahead->found % SLOTS];
    if (slot)
        slot->payload = ahead->spares_count ? ahead->spares[--ahead->spares_count] : (struct bytes){ 0 };
    pthread_mutex_unlock(&ahead->lock);
    return slot;
}

static void count_found(struct block_prefetch *ahead, size_t bytes)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->found++;
    ahead->bytes += bytes;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

/* Frees a slot and wakes the thread when half of the slots are free. Waking a thread costs as much as decoding a small
 * block, so there must be work for a while. */
static void count_given(struct block_prefetch *ahead, size_t bytes)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->given++;
    ahead->bytes -= bytes;
    if (prefetch_has_room(ahead, SLOTS / 2, BYTES_MOST / 2))
        pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

static void *find_blocks(void *self)
{
    struct block_prefetch *ahead = self;
    for (struct slot *slot; (slot = wait_for_room(ahead));) {
        slot_fill(ahead, slot);
        const bool last = slot->found != BLOCK_FOUND;
        count_found(ahead, slot->payload.size);
        if (last)
            break;
    }
    return NULL;
}

/* ---- the caller's side ---- */

struct block_prefetch *block_prefetch_begin(struct block_reader *blocks)
{
    struct block_prefetch *ahead = alloc_zeroed(1, sizeof(*ahead));
    ahead->blocks = *blocks;
    ahead->lost = blocks->damage.blocks;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (pthread_create(&ahead->thread, NULL, find_blocks, ahead) != 0) {
        free(ahead);
        return NULL;
    }
    const struct block_progress progress = block_read_progress(blocks);
    block_reader_open(blocks, blocks->fd);
    block_read_show_progress(blocks, &progress);
    return ahead;
}

/* Shows the thread's progress in the caller's reader. The decoder counts lost blocks in the caller's reader, too, so
 * only the thread's new losses are added. The first damage of the file stays the first. */
static void prefetch_show_progress(struct block_prefetch *ahead, struct block_reader *blocks,
                                   struct block_progress progress)
{
    const uint64_t lost = progress.damage.blocks;
    progress.damage.blocks = blocks->damage.blocks + lost - ahead->lost;
    ahead->lost = lost;
    if (blocks->damage.first.text[0])
        progress.damage.first = blocks->damage.first;
    block_read_show_progress(blocks, &progress);
}

/* Frees the slot that was given last and waits for the next block. A payload's memory above ROOM_MOST is not kept,
 * because all blocks of a crafted file may be very large. */
static struct slot *wait_for_block(struct block_prefetch *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    struct bytes *used = ahead->given > 0 ? &ahead->slots[(ahead->given - 1) % SLOTS].payload : NULL;
    if (used && used->room > ROOM_MOST)
        bytes_free(used);
    if (used && used->at) {
        ahead->spares[ahead->spares_count++] = *used;
        *used = (struct bytes){ 0 };
    }
    while (ahead->found == ahead->given)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return &ahead->slots[ahead->given % SLOTS];
}

enum block_found block_prefetch_next(struct block_prefetch *ahead, struct block_reader *blocks, struct block *block,
                                     struct fault *why)
{
    struct slot *slot = wait_for_block(ahead);
    prefetch_show_progress(ahead, blocks, slot->progress);
    if (slot->found != BLOCK_FOUND) {
        if (slot->why.text[0])
            fault(why, "%s", slot->why.text);
        return slot->found;
    }
    *block = slot->block;
    count_given(ahead, slot->payload.size);
    return BLOCK_FOUND;
}

void block_prefetch_end(struct block_prefetch *ahead)
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
    for (size_t i = 0; i < ahead->spares_count; i++)
        bytes_free(&ahead->spares[i]);
    block_reader_close(&ahead->blocks);
    free(ahead);
}
