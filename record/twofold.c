/* SPDX-License-Identifier: MIT */
#include "record/twofold.h"

#include "formats/alloc.h"

#include <stdlib.h>

#define GAP        768         /* bytes between two places that are read along */
#define PART_LIMIT (64u << 10) /* bytes of a piece that more places are added to */
#define SIZE_LIMIT (64u << 20) /* bytes of a copy; places beyond are lost */

void twofold_free(struct twofold *t)
{
    free(t->places);
    free(t->order);
    free(t->parts);
    free(t->first);
    free(t->second);
    free(t->kept);
    *t = (struct twofold){ 0 };
}

void twofold_clear(struct twofold *t)
{
    t->count = t->parts_count = 0;
    t->planned = t->has_kept = false;
}

void twofold_add(struct twofold *t, uint64_t address, uint32_t size)
{
    t->places = alloc_grow(t->places, &t->places_room, t->count + 1, sizeof(*t->places));
    t->places[t->count++] = (struct place){ .address = address, .size = size };
    t->planned = t->has_kept = false;
}

/* ---- the plan ---- */

static int compare_places(const void *a, const void *b, void *places)
{
    const struct place *all = places;
    const uint64_t first = all[*(const uint32_t *)a].address, second = all[*(const uint32_t *)b].address;
    return first < second ? -1 : first > second;
}

static void sort_places(struct twofold *t)
{
    t->order = alloc_grow(t->order, &t->order_room, t->count, sizeof(*t->order));
    for (size_t i = 0; i < t->count; i++)
        t->order[i] = (uint32_t)i;
    if (t->count > 0)
        qsort_r(t->order, t->count, sizeof(*t->order), compare_places, t->places);
}

/* Puts a place into the last piece if it lies near, else begins another. */
static void put_place(struct twofold *t, struct place *place)
{
    struct part *last = t->parts_count > 0 ? &t->parts[t->parts_count - 1] : NULL;
    const uint64_t end = place->address + place->size;
    const bool near = last && place->address >= last->address && end >= place->address &&
                      place->address - last->address <= (uint64_t)last->size + GAP && end - last->address <= PART_LIMIT;
    if (!near) {
        t->parts = alloc_grow(t->parts, &t->parts_room, t->parts_count + 1, sizeof(*t->parts));
        last = &t->parts[t->parts_count++];
        *last = (struct part){ .address = place->address, .at = (uint32_t)t->size };
    }
    const uint32_t size = (uint32_t)(end - last->address);
    if (size > last->size) {
        t->size += size - last->size;
        last->size = size;
    }
    place->part = (uint32_t)(t->parts_count - 1);
    place->at = last->at + (uint32_t)(place->address - last->address);
}

static void plan(struct twofold *t)
{
    if (t->planned)
        return;
    t->parts_count = 0;
    t->size = 0;
    sort_places(t);
    for (size_t i = 0; i < t->count; i++) {
        struct place *place = &t->places[t->order[i]];
        place->part = UINT32_MAX;
        if (t->size + place->size <= SIZE_LIMIT)
            put_place(t, place);
    }
    if (t->size > t->room) {
        t->room = t->size + t->size / 2;
        t->first = alloc_resize(t->first, t->room, 1);
        t->second = alloc_resize(t->second, t->room, 1);
        t->kept = alloc_resize(t->kept, t->room, 1);
    }
    t->planned = true;
    t->has_kept = false;
}

/* ---- copies ---- */

void twofold_again(struct twofold *t, size_t place)
{
    const uint32_t part = t->places[place].part;
    if (t->planned && part != UINT32_MAX)
        t->parts[part].again = true;
}

/* The parts of a copy, from one on, that fit in a call; *next is the first one behind them. */
static size_t fill_call(struct twofold *t, bool second, size_t at, struct piece *pieces, size_t *which, size_t *next)
{
    unsigned char *const copy = second ? t->second : t->first;
    size_t count = 0;
    for (; at < t->parts_count && count < REMOTE_PIECES; at++) {
        const struct part *part = &t->parts[at];
        if (second && !part->again) {
            memcpy(copy + part->at, t->first + part->at, part->size);
            continue;
        }
        which[count] = at;
        pieces[count++] = (struct piece){ part->address, part->size, copy + part->at };
    }
    *next = at;
    return count;
}

enum remote_state twofold_copy(struct twofold *t, struct remote *remote, bool second)
{
    struct piece pieces[REMOTE_PIECES];
    size_t which[REMOTE_PIECES], next;
    plan(t);
    for (size_t i = 0; !second && i < t->parts_count; i++)
        t->parts[i].lost = t->parts[i].again = false;
    for (size_t at = 0; at < t->parts_count; at = next) {
        size_t good = 0;
        const size_t count = fill_call(t, second, at, pieces, which, &next);
        if (count == 0)
            continue;
        const enum remote_state state = remote_read_pieces(remote, pieces, count, &good);
        if (state == REMOTE_GONE || state == REMOTE_DENIED)
            return state;
        if (good < count) {
            t->parts[which[good]].lost = true;
            next = which[good] + 1;
        }
    }
    return REMOTE_READ;
}

void twofold_keep(struct twofold *t)
{
    unsigned char *const kept = t->kept;
    t->kept = t->second;
    t->second = kept;
    t->has_kept = t->planned;
}

static bool is_lost(const struct twofold *t, const struct place *place)
{
    return place->part == UINT32_MAX || t->parts[place->part].lost;
}

const unsigned char *twofold_at(const struct twofold *t, size_t place)
{
    return is_lost(t, &t->places[place]) ? NULL : t->second + t->places[place].at;
}

const unsigned char *twofold_first(const struct twofold *t, size_t place)
{
    return is_lost(t, &t->places[place]) ? NULL : t->first + t->places[place].at;
}

bool twofold_same(const struct twofold *t, size_t i)
{
    const struct place *place = &t->places[i];
    return !is_lost(t, place) && memcmp(t->first + place->at, t->second + place->at, place->size) == 0;
}

bool twofold_kept(const struct twofold *t, size_t i)
{
    const struct place *place = &t->places[i];
    return t->has_kept && !is_lost(t, place) && memcmp(t->kept + place->at, t->first + place->at, place->size) == 0;
}

bool twofold_still(const struct twofold *t, size_t i)
{
    const struct place *place = &t->places[i];
    return t->has_kept && twofold_same(t, i) && memcmp(t->kept + place->at, t->second + place->at, place->size) == 0;
}
