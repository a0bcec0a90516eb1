/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/marker_store.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- heaps ---- */

/* Whether `a` is left out before `b`. Of equal ones the earliest stays, and of these that of the first thread, in
 * whatever order they come. */
static bool lighter(const struct marker *a, const struct marker *b)
{
    if (a->weight != b->weight)
        return a->weight < b->weight;
    return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->thread > b->thread;
}

static void exchange(struct marker *a, struct marker *b)
{
    const struct marker kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_up(struct marker *markers, size_t at)
{
    for (; at > 0 && lighter(&markers[at], &markers[(at - 1) / 2]); at = (at - 1) / 2)
        exchange(&markers[at], &markers[(at - 1) / 2]);
}

static void sift_down(struct marker *markers, size_t count)
{
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (lighter(&markers[child], &markers[least]))
                least = child;
        if (least == at)
            return;
        exchange(&markers[at], &markers[least]);
        at = least;
    }
}

void marker_store_leave_out(struct marker_store *store, enum marker_kind kind, uint64_t ns)
{
    struct markers_left_out *left_out = &store->heaps[kind].left_out;
    left_out->count++;
    left_out->longest_ns = ns > left_out->longest_ns ? ns : left_out->longest_ns;
}

static void marker_store_leave_out_one(struct marker_store *store, const struct marker *marker)
{
    marker_store_leave_out(store, marker->kind, marker->end_ns - marker->start_ns);
}

void marker_store_add(struct marker_store *store, const struct marker *marker)
{
    struct marker_heap *heap = &store->heaps[marker->kind];
    if (heap->count < MARKERS_LIMIT) {
        heap->markers = alloc_grow(heap->markers, &heap->room, heap->count + 1, sizeof(*heap->markers));
        heap->markers[heap->count] = *marker;
        sift_up(heap->markers, heap->count++);
        return;
    }
    if (!lighter(&heap->markers[0], marker)) {
        marker_store_leave_out_one(store, marker);
        return;
    }
    marker_store_leave_out_one(store, &heap->markers[0]);
    heap->markers[0] = *marker;
    sift_down(heap->markers, heap->count);
}

/* ---- what is written ---- */

/* Divides `total` among the kinds: each gets at most what it needs, and who needs more than an equal part of the rest
 * gets that part. */
static void divide(uint64_t total, const uint64_t needs[MARKER_KINDS], uint64_t shares[MARKER_KINDS])
{
    bool served[MARKER_KINDS] = { false };
    for (uint64_t left = MARKER_KINDS; left > 0; left--) {
        size_t least = MARKER_KINDS;
        for (size_t kind = 0; kind < MARKER_KINDS; kind++)
            if (!served[kind] && (least == MARKER_KINDS || needs[kind] < needs[least]))
                least = kind;
        const uint64_t part = total / left;
        shares[least] = needs[least] < part ? needs[least] : part;
        total -= shares[least];
        served[least] = true;
    }
}

/* Heaviest first. */
static int by_weight(const void *left, const void *right)
{
    const struct marker *a = left, *b = right;
    return lighter(b, a) ? -1 : lighter(a, b);
}

static int by_place(const void *left, const void *right)
{
    const struct marker *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static void marker_store_keep(struct marker_store *store, enum marker_kind kind, uint64_t count)
{
    struct marker_heap *heap = &store->heaps[kind];
    if (count >= heap->count)
        return;
    qsort(heap->markers, heap->count, sizeof(*heap->markers), by_weight);
    for (size_t i = count; i < heap->count; i++)
        marker_store_leave_out_one(store, &heap->markers[i]);
    heap->count = count;
}

static void keep_what_fits(struct marker_store *store, const struct marker_budget *budget)
{
    uint64_t needs[MARKER_KINDS], shares[MARKER_KINDS];
    for (size_t kind = 0; kind < MARKER_KINDS; kind++)
        needs[kind] = store->heaps[kind].count * (uint64_t)budget->each_bytes[kind];
    divide(budget->bytes, needs, shares);
    for (size_t kind = 0; kind < MARKER_KINDS; kind++) {
        const uint64_t bytes = shares[kind] > budget->least_bytes[kind] ? shares[kind] : budget->least_bytes[kind];
        marker_store_keep(store, kind, bytes / budget->each_bytes[kind]);
    }
    for (size_t kind = 0; kind < MARKER_KINDS; kind++)
        needs[kind] = store->heaps[kind].count;
    divide(MARKERS_LIMIT, needs, shares);
    for (size_t kind = 0; kind < MARKER_KINDS; kind++)
        marker_store_keep(store, kind, shares[kind]);
}

void marker_store_settle(struct marker_store *store, const struct marker_budget *budget)
{
    keep_what_fits(store, budget);
    store->settled = alloc_zeroed(MARKERS_LIMIT, sizeof(*store->settled));
    for (size_t kind = 0; kind < MARKER_KINDS; kind++) {
        const struct marker_heap *heap = &store->heaps[kind];
        for (size_t i = 0; i < heap->count; i++)
            store->settled[store->settled_count++] = heap->markers[i];
    }
    qsort(store->settled, store->settled_count, sizeof(*store->settled), by_place);
}

/* The index of the first settled marker of this thread or of a later one. */
static size_t marker_store_first_of(const struct marker_store *store, uint64_t thread)
{
    size_t from = 0, to = store->settled_count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (store->settled[middle].thread < thread)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const struct marker *marker_store_of(const struct marker_store *store, uint32_t thread, size_t *count)
{
    const size_t from = marker_store_first_of(store, thread);
    *count = marker_store_first_of(store, (uint64_t)thread + 1) - from;
    return *count ? &store->settled[from] : NULL;
}

size_t marker_store_count(const struct marker_store *store, enum marker_kind kind)
{
    return store->heaps[kind].count;
}

void marker_store_free(struct marker_store *store)
{
    for (size_t kind = 0; kind < MARKER_KINDS; kind++)
        free(store->heaps[kind].markers);
    free(store->settled);
    *store = (struct marker_store){ 0 };
}
