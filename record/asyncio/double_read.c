/* SPDX-License-Identifier: MIT */
#include "record/asyncio/double_read.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define GAP        1536        /* most bytes between two ranges of one part */
#define PART_LIMIT (64u << 10) /* most bytes of a part with several ranges */
#define SIZE_LIMIT (64u << 20) /* most bytes of a copy; further ranges are not read */

void double_read_free(struct double_read *t)
{
    free(t->ranges);
    free(t->order);
    free(t->parts);
    free(t->old_parts);
    free(t->first);
    free(t->second);
    *t = (struct double_read){ 0 };
}

void double_read_clear(struct double_read *t)
{
    t->count = 0;
    t->planned = false;
}

void double_read_add(struct double_read *t, uint64_t address, uint32_t size)
{
    t->ranges = alloc_grow(t->ranges, &t->ranges_room, t->count + 1, sizeof(*t->ranges));
    t->ranges[t->count++] = (struct range){ .address = address, .size = size };
    t->planned = false;
}

/* ---- the plan ---- */

static int compare_ranges(const void *a, const void *b, void *ranges)
{
    const struct range *all = ranges;
    const uint64_t first = all[*(const uint32_t *)a].address, second = all[*(const uint32_t *)b].address;
    return first < second ? -1 : first > second;
}

static void sort_ranges(struct double_read *t)
{
    t->order = alloc_grow(t->order, &t->order_room, t->count, sizeof(*t->order));
    for (size_t i = 0; i < t->count; i++)
        t->order[i] = (uint32_t)i;
    if (t->count > 0)
        qsort_r(t->order, t->count, sizeof(*t->order), compare_ranges, t->ranges);
}

/* Adds a range to the last part if the range lies near, else starts a new part. */
static void put_range(struct double_read *t, struct range *range)
{
    struct part *last = t->parts_count > 0 ? &t->parts[t->parts_count - 1] : NULL;
    const uint64_t end = range->address + range->size;
    const bool near = last && range->address >= last->address && end >= range->address &&
                      range->address - last->address <= (uint64_t)last->size + GAP && end - last->address <= PART_LIMIT;
    if (!near) {
        t->parts = alloc_grow(t->parts, &t->parts_room, t->parts_count + 1, sizeof(*t->parts));
        last = &t->parts[t->parts_count++];
        *last = (struct part){ .address = range->address, .at = (uint32_t)t->size, .wanted = true };
    }
    const uint32_t size = (uint32_t)(end - last->address);
    if (size > last->size) {
        t->size += size - last->size;
        last->size = size;
    }
    range->part = (uint32_t)(t->parts_count - 1);
    range->at = last->at + (uint32_t)(range->address - last->address);
}

/* Copies a range from the first copy of the old plan. The calls come in the order of addresses; *from is the old part
 * that the last call used. False when the old copy does not have the range. */
static bool carry_range(const struct double_read *t, const struct range *range, size_t *from, unsigned char *into)
{
    while (*from + 1 < t->old_count && t->old_parts[*from + 1].address <= range->address)
        ++*from;
    if (*from >= t->old_count)
        return false;
    const struct part *old = &t->old_parts[*from];
    const uint64_t offset = range->address - old->address;
    if (!old->before || !old->turned || offset > old->size || old->size - offset < range->size)
        return false;
    memcpy(into + range->at, t->first + old->at + offset, range->size);
    return true;
}

/* Takes over all parts whose ranges are in the first copy of the old plan: these parts need not be read again. */
static void carry(struct double_read *t)
{
    size_t from = 0;
    memset(t->second, 0, t->size);
    for (size_t i = 0; i < t->parts_count; i++)
        t->parts[i].before = t->parts[i].turned = true;
    for (size_t i = 0; i < t->count; i++) {
        const struct range *range = &t->ranges[t->order[i]];
        if (range->part != UINT32_MAX && !carry_range(t, range, &from, t->second))
            t->parts[range->part].before = t->parts[range->part].turned = false;
    }
}

static void swap_copies(struct double_read *t)
{
    unsigned char *const first = t->first;
    const size_t room = t->first_room;
    t->first = t->second;
    t->first_room = t->second_room;
    t->second = first;
    t->second_room = room;
}

static void swap_parts(struct double_read *t)
{
    struct part *const parts = t->parts;
    const size_t room = t->parts_room;
    t->parts = t->old_parts;
    t->parts_room = t->old_room;
    t->old_parts = parts;
    t->old_room = room;
    t->old_count = t->parts_count;
    t->parts_count = 0;
}

static void double_read_plan(struct double_read *t)
{
    if (t->planned)
        return;
    swap_parts(t);
    t->size = 0;
    sort_ranges(t);
    for (size_t i = 0; i < t->count; i++) {
        struct range *range = &t->ranges[t->order[i]];
        range->part = UINT32_MAX;
        if (t->size + range->size <= SIZE_LIMIT)
            put_range(t, range);
    }
    t->second = alloc_grow(t->second, &t->second_room, t->size + 1, 1);
    carry(t);
    swap_copies(t);
    t->second = alloc_grow(t->second, &t->second_room, t->size + 1, 1);
    t->planned = true;
}

/* ---- copies ---- */

void double_read_want(struct double_read *t, size_t index)
{
    double_read_plan(t);
    const uint32_t part = t->ranges[index].part;
    if (part != UINT32_MAX)
        t->parts[part].wanted = true;
}

void double_read_want_all(struct double_read *t, bool wanted)
{
    double_read_plan(t);
    for (size_t i = 0; i < t->parts_count; i++)
        t->parts[i].wanted = wanted;
}

static bool part_is_due(const struct part *part, bool second)
{
    return part->wanted && !part->lost && (second || !part->before);
}

/* Collects the due parts, from part `at` on, that fit into one system call. *next: the part after them. Returns the
 * number of pieces. */
static size_t fill_call(const struct double_read *t, bool second, size_t at, struct piece *pieces, size_t *which,
                        size_t *next)
{
    unsigned char *const copy = second ? t->second : t->first;
    size_t count = 0;
    for (; at < t->parts_count && count < REMOTE_PIECES; at++) {
        const struct part *part = &t->parts[at];
        if (!part_is_due(part, second))
            continue;
        which[count] = at;
        pieces[count++] = (struct piece){ part->address, part->size, copy + part->at };
    }
    *next = at;
    return count;
}

static void note_good(struct double_read *t, bool second, const size_t *which, size_t good)
{
    for (size_t i = 0; i < good; i++) {
        if (second)
            t->parts[which[i]].after = true;
        else
            t->parts[which[i]].before = true;
    }
}

enum remote_state double_read_copy(struct double_read *t, struct remote *remote, bool second)
{
    struct piece pieces[REMOTE_PIECES];
    size_t which[REMOTE_PIECES], next;
    double_read_plan(t);
    for (size_t i = 0; i < t->parts_count; i++) {
        struct part *part = &t->parts[i];
        part->lost &= second;
        part->after = false;
        part->same = COMPARISON_NONE;
    }
    for (size_t at = 0; at < t->parts_count; at = next) {
        size_t good = 0;
        const size_t count = fill_call(t, second, at, pieces, which, &next);
        if (count == 0)
            continue;
        const enum remote_state state = remote_read_pieces(remote, pieces, count, &good);
        if (state == REMOTE_GONE || state == REMOTE_DENIED)
            return state;
        note_good(t, second, which, good);
        if (good < count) {
            t->parts[which[good]].lost = true;
            next = which[good] + 1;
        }
    }
    return REMOTE_READ;
}

void double_read_turn(struct double_read *t)
{
    if (!t->planned)
        return;
    swap_copies(t);
    for (size_t i = 0; i < t->parts_count; i++) {
        struct part *part = &t->parts[i];
        part->before = part->turned = part->after;
        part->after = false;
        part->same = COMPARISON_NONE;
    }
}

void double_read_drop(struct double_read *t)
{
    for (size_t i = 0; i < t->parts_count; i++)
        t->parts[i].before = t->parts[i].turned = false;
}

const unsigned char *double_read_at(const struct double_read *t, size_t index)
{
    const struct range *p = &t->ranges[index];
    return t->planned && p->part != UINT32_MAX && t->parts[p->part].after ? t->second + p->at : NULL;
}

const unsigned char *double_read_first(const struct double_read *t, size_t index)
{
    const struct range *p = &t->ranges[index];
    return t->planned && p->part != UINT32_MAX && t->parts[p->part].before ? t->first + p->at : NULL;
}

/* Whether a range is equal in both copies. Most parts do not change, so a part is compared once for all its ranges. */
static bool range_is_same(struct double_read *t, const struct range *range)
{
    struct part *part = &t->parts[range->part];
    if (part->same == COMPARISON_NONE)
        part->same = memcmp(t->first + part->at, t->second + part->at, part->size) == 0 ? COMPARISON_EQUAL
                                                                                        : COMPARISON_DIFFERENT;
    return part->same == COMPARISON_EQUAL || memcmp(t->first + range->at, t->second + range->at, range->size) == 0;
}

bool double_read_same(struct double_read *t, size_t i)
{
    return double_read_first(t, i) && double_read_at(t, i) && range_is_same(t, &t->ranges[i]);
}

bool double_read_still(struct double_read *t, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        const uint32_t part = t->ranges[i].part;
        const bool known = part != UINT32_MAX && t->parts[part].turned && t->parts[part].same == COMPARISON_EQUAL;
        if (!known && !(double_read_same(t, i) && t->parts[part].turned))
            return false;
    }
    return true;
}
