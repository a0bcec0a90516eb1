/* SPDX-License-Identifier: MIT */
#include "formats/compare/slices.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_WIDTH_NS 1000000

static void add_sums(struct slice_sum *sum, const float *sums)
{
    for (size_t i = 0; i < SLICE_SUMS; i++)
        sum->sums[i] += sums[i];
}

/* Makes one slice of each two. The sums of a row that are in one slice then become one sum. */
static void double_width(struct slices *slices)
{
    size_t kept = 0;
    memset(slices->latest, 0, slices->latest_room * sizeof(*slices->latest));
    for (size_t i = 0; i < slices->count; i++) {
        struct slice_sum sum = slices->rows[i];
        uint32_t *latest = &slices->latest[sum.row];
        sum.slice /= 2;
        if (*latest && slices->rows[*latest - 1].slice == sum.slice) {
            add_sums(&slices->rows[*latest - 1], sum.sums);
            continue;
        }
        slices->rows[kept++] = sum;
        *latest = (uint32_t)kept;
    }
    slices->count = kept;
    slices->width_ns *= 2;
    slices->used = (slices->used + 1) / 2;
}

static bool is_crowd(const struct slices *slices)
{
    return slices->count >= SLICES_CROWD && slices->used >= SLICES_LEAST;
}

/* The slice of a time. A damaged recording may claim any time: the loop ends after 64 rounds. */
static uint32_t slice_of(struct slices *slices, uint64_t time_ns)
{
    while (time_ns / slices->width_ns >= SLICES_MOST || is_crowd(slices))
        double_width(slices);
    return (uint32_t)(time_ns / slices->width_ns);
}

static struct slice_sum *sum_of(struct slices *slices, uint32_t row, uint32_t slice)
{
    slices->latest = alloc_grow(slices->latest, &slices->latest_room, (size_t)row + 1, sizeof(*slices->latest));
    uint32_t *latest = &slices->latest[row];
    if (*latest && slices->rows[*latest - 1].slice >= slice)
        return &slices->rows[*latest - 1];
    slices->rows = alloc_grow(slices->rows, &slices->room, slices->count + 1, sizeof(*slices->rows));
    slices->rows[slices->count++] = (struct slice_sum){ .row = row, .slice = slice };
    slices->used = slice >= slices->used ? slice + 1 : slices->used;
    *latest = (uint32_t)slices->count;
    return &slices->rows[*latest - 1];
}

void slices_add(struct slices *slices, uint32_t row, uint64_t time_ns, const uint64_t *sums)
{
    float added[SLICE_SUMS];
    for (size_t i = 0; i < SLICE_SUMS; i++)
        added[i] = (float)sums[i];
    if (!slices->width_ns)
        slices->width_ns = FIRST_WIDTH_NS;
    add_sums(sum_of(slices, row, slice_of(slices, time_ns)), added);
}

/* Sorts by counting, because there are few slices. */
void slices_sort(struct slices *slices)
{
    size_t ends[SLICES_MOST + 1] = { 0 };
    if (slices->count == 0)
        return;
    struct slice_sum *sorted = alloc_resize(NULL, slices->count, sizeof(*sorted));
    for (size_t i = 0; i < slices->count; i++)
        ends[slices->rows[i].slice + 1]++;
    for (size_t slice = 1; slice <= SLICES_MOST; slice++)
        ends[slice] += ends[slice - 1];
    for (size_t i = 0; i < slices->count; i++)
        sorted[ends[slices->rows[i].slice]++] = slices->rows[i];
    free(slices->rows);
    free(slices->latest);
    slices->rows = sorted;
    slices->room = slices->count;
    slices->latest = NULL;
    slices->latest_room = 0;
}

void slices_free(struct slices *slices)
{
    free(slices->rows);
    free(slices->latest);
    *slices = (struct slices){ 0 };
}
