/* SPDX-License-Identifier: MIT */
#include "record/asyncio/task_memory.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define GAP        512         /* most bytes between two ranges of one part */
#define PART_LIMIT (64u << 10) /* most bytes of a part with several ranges */
#define SIZE_LIMIT (64u << 20) /* most bytes of all parts; further ranges are not read */

void task_memory_free(struct task_memory *m)
{
    free(m->ranges);
    free(m->order);
    free(m->parts);
    free(m->bytes);
    *m = (struct task_memory){ 0 };
}

void task_memory_clear(struct task_memory *m)
{
    m->count = m->parts_count = 0;
    m->planned = false;
}

void task_memory_add(struct task_memory *m, uint64_t address, uint32_t size)
{
    m->ranges = alloc_grow(m->ranges, &m->ranges_room, m->count + 1, sizeof(*m->ranges));
    m->ranges[m->count++] = (struct memory_range){ .address = address, .size = size };
    m->planned = false;
}

/* ---- the plan ---- */

static int compare_addresses(const void *one, const void *another)
{
    const struct memory_key *a = one, *b = another;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void sort_ranges(struct task_memory *m)
{
    m->order = alloc_grow(m->order, &m->order_room, m->count + 1, sizeof(*m->order));
    for (size_t i = 0; i < m->count; i++)
        m->order[i] = (struct memory_key){ m->ranges[i].address, (uint32_t)i };
    qsort(m->order, m->count, sizeof(*m->order), compare_addresses);
}

/* Adds a range to the last part if the range lies near, else starts a new part. */
static void put_range(struct task_memory *m, struct memory_range *range)
{
    struct memory_part *last = m->parts_count > 0 ? &m->parts[m->parts_count - 1] : NULL;
    const uint64_t end = range->address + range->size;
    const bool near = last && end >= range->address && range->address - last->address <= (uint64_t)last->size + GAP &&
                      end - last->address <= PART_LIMIT;
    if (!near) {
        m->parts = alloc_grow(m->parts, &m->parts_room, m->parts_count + 1, sizeof(*m->parts));
        last = &m->parts[m->parts_count++];
        *last = (struct memory_part){ .address = range->address, .at = (uint32_t)m->size };
    }
    const uint32_t size = (uint32_t)(end - last->address);
    if (size > last->size) {
        m->size += size - last->size;
        last->size = size;
    }
    range->part = (uint32_t)(m->parts_count - 1);
    range->at = last->at + (uint32_t)(range->address - last->address);
}

void task_memory_plan(struct task_memory *m)
{
    if (m->planned)
        return;
    sort_ranges(m);
    m->parts_count = m->size = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct memory_range *range = &m->ranges[m->order[i].index];
        range->part = UINT32_MAX;
        if (m->size + GAP + range->size <= SIZE_LIMIT)
            put_range(m, range);
    }
    m->bytes = alloc_grow(m->bytes, &m->bytes_room, m->size + 1, 1);
    m->planned = true;
}

/* ---- reading ---- */

enum remote_state task_memory_read(struct task_memory *m, struct remote *remote)
{
    struct piece pieces[REMOTE_PIECES];
    bool there[REMOTE_PIECES];
    enum remote_state state = REMOTE_READ;
    task_memory_plan(m);
    m->lost = 0;
    for (size_t at = 0, count; at < m->parts_count && state != REMOTE_GONE && state != REMOTE_DENIED; at += count) {
        for (count = 0; count < REMOTE_PIECES && at + count < m->parts_count; count++) {
            const struct memory_part *part = &m->parts[at + count];
            pieces[count] = (struct piece){ part->address, part->size, m->bytes + part->at };
        }
        state = remote_read_readable(remote, pieces, count, there);
        for (size_t i = 0; i < count; i++) {
            m->parts[at + i].there = there[i];
            m->lost += !there[i];
        }
    }
    return state == REMOTE_UNREADABLE ? REMOTE_READ : state;
}

const unsigned char *task_memory_at(const struct task_memory *m, size_t index)
{
    const struct memory_range *range = &m->ranges[index];
    return m->planned && range->part != UINT32_MAX && m->parts[range->part].there ? m->bytes + range->at : NULL;
}
