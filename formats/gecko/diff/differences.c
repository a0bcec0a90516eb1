/* SPDX-License-Identifier: MIT */
#include "formats/gecko/diff/differences.h"

#include "formats/base/alloc.h"
#include "formats/gecko/tables/gecko_leaves.h"

#include <stdlib.h>

#define TIME_LIMIT ((uint64_t)1 << 61) /* a damaged recording may claim any time */

void differences_add(struct differences *differences, enum side side, uint32_t code, uint64_t ns)
{
    bool added;
    const uint32_t number = intern_pairs_number(&differences->numbers, code, 0, &added);
    if (added) {
        differences->rows = alloc_grow(differences->rows, &differences->room, differences->count + 1,
                                       sizeof(*differences->rows));
        differences->rows[differences->count++] = (struct difference){ .code = code };
    }
    uint64_t *sum = &differences->rows[number - 1].ns[side];
    *sum = ns < TIME_LIMIT - *sum ? *sum + ns : TIME_LIMIT;
}

/* The place of each stack when a stack comes right behind its caller and what the caller calls. A caller has a lower
 * number than its stacks. The caller frees the array. */
static uint32_t *places_of(const struct tables *tables)
{
    const size_t count = tables->stacks_count ? tables->stacks_count : 1;
    uint32_t *sizes = alloc_zeroed(count, sizeof(*sizes)); /* stacks in the subtree */
    uint32_t *places = alloc_zeroed(count, sizeof(*places));
    uint32_t *next = alloc_zeroed(count, sizeof(*next)); /* the place of the next stack that this one calls */
    for (size_t i = count - 1; i > 0; i--)
        sizes[tables->stacks[i].caller] += ++sizes[i];
    next[0] = 1;
    for (size_t i = 1; i < count; i++) {
        places[i] = next[tables->stacks[i].caller];
        next[tables->stacks[i].caller] += sizes[i];
        next[i] = places[i] + 1;
    }
    free(sizes);
    free(next);
    return places;
}

static int by_order(const void *left, const void *right)
{
    const struct difference *a = left, *b = right;
    if ((a->more_ns > 0) != (b->more_ns > 0))
        return a->more_ns > 0 ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->code > b->code) - (a->code < b->code);
}

static int64_t scale(uint64_t ns, double factor)
{
    const double scaled_ns = (double)ns * factor + 0.5;
    return scaled_ns < (double)TIME_LIMIT ? (int64_t)scaled_ns : (int64_t)TIME_LIMIT;
}

void differences_settle(struct differences *differences, const struct tables *tables, double factor)
{
    uint32_t *places = places_of(tables);
    size_t kept = 0;
    for (size_t i = 0; i < differences->count; i++) {
        struct difference row = differences->rows[i];
        row.more_ns = (int64_t)row.ns[SIDE_NEW] - scale(row.ns[SIDE_BASE], factor);
        row.place = places[gecko_leaves_stack(row.code)];
        if (row.more_ns)
            differences->rows[kept++] = row;
    }
    differences->count = kept;
    if (kept)
        qsort(differences->rows, kept, sizeof(*differences->rows), by_order);
    free(places);
}

void differences_free(struct differences *differences)
{
    intern_pairs_free(&differences->numbers);
    free(differences->rows);
    *differences = (struct differences){ 0 };
}
