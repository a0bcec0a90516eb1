/* SPDX-License-Identifier: MIT */
#include "formats/model/aggregate.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 64 /* rows */

/* ---- rows ---- */

static bool same_row(const void *rows, uint32_t number, const void *wanted)
{
    const struct aggregate_row *row = (const struct aggregate_row *)rows + number - 1, *other = wanted;
    return row->stack == other->stack && row->thread == other->thread && row->task == other->task &&
           row->group == other->group;
}

static uint64_t aggregate_hash_of(const struct hash_factors *spread, const struct aggregate_row *row)
{
    return hash_four(spread, row->thread, row->stack, row->task, row->group);
}

static uint64_t hash_of_row(const struct hash_factors *spread, const void *rows, uint32_t number)
{
    return aggregate_hash_of(spread, (const struct aggregate_row *)rows + number - 1);
}

static struct aggregate_row *aggregate_add_row(struct aggregate *aggregate, const struct aggregate_row *given)
{
    if (aggregate->count == aggregate->room) {
        aggregate->room = aggregate->room ? aggregate->room * 2 : ROOM_LEAST;
        aggregate->rows = alloc_resize(aggregate->rows, aggregate->room, sizeof(*aggregate->rows));
    }
    aggregate->rows[aggregate->count++] = (struct aggregate_row){ given->thread, given->task, given->stack,
                                                                  given->group,  { 0 },       0 };
    id_index_add(&aggregate->index, aggregate->rows, (uint32_t)aggregate->count, hash_of_row);
    return &aggregate->rows[aggregate->count - 1];
}

/* The row with the thread, task, stack and group of `given`; made if absent. */
static struct aggregate_row *row_for(struct aggregate *aggregate, const struct aggregate_row *given)
{
    const struct id_index *index = &aggregate->index;
    const uint64_t hash = aggregate_hash_of(&index->spread, given);
    const uint32_t number = index->room ? *id_index_slot(index, hash, same_row, aggregate->rows, given) : 0;
    return number ? &aggregate->rows[number - 1] : aggregate_add_row(aggregate, given);
}

/* Adds the first `sums` sums of `given`, a number known at compile time. */
static inline void aggregate_row_add(struct aggregate_row *row, const struct aggregate_row *given, size_t sums)
{
    for (size_t i = 0; i < sums; i++)
        row->sums[i] += given->sums[i];
    if (sums == SUMS)
        row->native_ns += given->native_ns;
}

void aggregate_add(struct aggregate *aggregate, const struct aggregate_row *given)
{
    aggregate_row_add(row_for(aggregate, given), given, SUMS);
}

/* ---- samples ---- */

/* Adds the waiting sums to their rows, in order. First all rows are prefetched ... */
static void count_in(struct aggregate *aggregate)
{
    for (size_t i = 0; i < aggregate->waiting_count; i++) {
        const uint64_t hash = aggregate_hash_of(&aggregate->index.spread, &aggregate->waiting[i]);
        const uint32_t number = id_index_guess(&aggregate->index, hash);
        if (number)
            __builtin_prefetch(&aggregate->rows[number - 1], 1);
    }
    for (size_t i = 0; i < aggregate->waiting_count; i++) { /* ... then the sums are added */
        const struct aggregate_row *given = &aggregate->waiting[i];
        if (aggregate->in_full)
            aggregate_row_add(row_for(aggregate, given), given, SUMS);
        else
            aggregate_row_add(row_for(aggregate, given), given, SUM_CPU_NS);
    }
    aggregate->waiting_count = 0;
}

/* The group of a status that has a span. */
static uint32_t span_group(struct aggregate *aggregate, struct span_ids span, uint32_t group)
{
    bool added;
    const struct aggregate_group key = { span, group };
    return AGGREGATE_GROUPS + intern_number(&aggregate->span_groups, &key, sizeof(key), &added);
}

/* The group of a run. Consecutive samples mostly have the same status and span, so group_of is asked when these change.
 */
static uint32_t group_of(struct aggregate *aggregate, const struct run *run)
{
    const bool asked = aggregate->samples > 0 && run->status == aggregate->grouped &&
                       (!aggregate->by_span || span_ids_equal(run->span, aggregate->grouped_by));
    if (asked || !(aggregate->group_of || aggregate->by_span))
        return aggregate->group;
    aggregate->grouped = run->status;
    aggregate->grouped_by = run->span;
    aggregate->group = aggregate->group_of ? aggregate->group_of(run->status) : 0;
    if (aggregate->by_span && span_ids_some(run->span))
        aggregate->group = span_group(aggregate, run->span, aggregate->group);
    return aggregate->group;
}

static struct aggregate_group group_numbered(const struct aggregate *aggregate, uint32_t number)
{
    struct aggregate_group group = { { 0 }, number };
    if (number > AGGREGATE_GROUPS)
        memcpy(&group, aggregate->span_groups.texts[number - AGGREGATE_GROUPS].bytes, sizeof(group));
    return group;
}

uint32_t aggregate_group(const struct aggregate *aggregate, const struct aggregate_row *row)
{
    return (uint32_t)group_numbered(aggregate, row->group).group;
}

struct span_ids aggregate_span(const struct aggregate *aggregate, const struct aggregate_row *row)
{
    return group_numbered(aggregate, row->group).span;
}

/* The waiting row for a sample. A thread mostly has the stack that it had in its sample before, and then its latest
 * waiting row is the right one. */
static struct aggregate_row *waiting_row(struct aggregate *aggregate, const struct run *run)
{
    uint32_t *const latest = &aggregate->latest[run->thread % AGGREGATE_THREADS];
    const uint32_t group = group_of(aggregate, run);
    const struct aggregate_row wanted = { run->thread, run->task, run->stack, group, { 0 }, 0 };
    if (*latest < aggregate->waiting_count && same_row(aggregate->waiting, *latest + 1, &wanted))
        return &aggregate->waiting[*latest];
    if (aggregate->waiting_count == AGGREGATE_WAITING)
        count_in(aggregate);
    *latest = aggregate->waiting_count++;
    aggregate->waiting[*latest] = wanted;
    id_index_expect(&aggregate->index, aggregate_hash_of(&aggregate->index.spread, &wanted));
    return &aggregate->waiting[*latest];
}

void aggregate_add_run(struct aggregate *aggregate, const struct run *run)
{
    struct aggregate_row *row = waiting_row(aggregate, run);
    row->sums[SUM_SAMPLES] += run->count;
    row->sums[SUM_WALL_NS] += run->wall_ns;
    aggregate->samples += run->count;
    if (!(run->status & STATUS_RECORDED) && run->cpu_ns == 0)
        return;
    aggregate->in_full = true;
    row->native_ns += run->native_ns;
    for (size_t i = SUM_CPU_NS; i < SUMS; i++) {
        row->sums[i] += attribute_sum_ns(run, sum_rows[i].attribute);
        aggregate->known[i] += attribute_known(run->status, sum_rows[i].attribute) ? run->count : 0;
    }
}

uint64_t aggregate_known(const struct aggregate *aggregate, enum aggregate_sum sum)
{
    return sum == SUM_SAMPLES || sum == SUM_WALL_NS ? aggregate->samples : aggregate->known[sum];
}

bool aggregate_knows(const struct aggregate *aggregate, enum aggregate_sum sum)
{
    return aggregate_known(aggregate, sum) > 0;
}

/* ---- order ---- */

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

/* The sort keys of a row, the most significant last, and the row's index. */
enum sort_key { KEY_STACK, KEY_TASK, KEY_THREAD, SORT_KEYS };

struct aggregate_sorted {
    uint32_t keys[SORT_KEYS];
    uint32_t row;
};

static uint32_t digit_of(const struct aggregate_sorted *sorted, enum sort_key key, uint32_t shift)
{
    return sorted->keys[key] >> shift & (DIGITS - 1);
}

/* Sorts by one digit. Stable: items with the same digit keep their order. */
static void sort_by_digit(const struct aggregate_sorted *from, struct aggregate_sorted *to, size_t count,
                          enum sort_key key, uint32_t shift)
{
    size_t ends[DIGITS] = { 0 };
    for (size_t i = 0; i < count; i++)
        ends[digit_of(&from[i], key, shift)]++;
    for (size_t digit = 1; digit < DIGITS; digit++)
        ends[digit] += ends[digit - 1];
    for (size_t i = count; i-- > 0;)
        to[--ends[digit_of(&from[i], key, shift)]] = from[i];
}

static uint32_t most_of(const struct aggregate_sorted *sorted, size_t count, enum sort_key key)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = sorted[i].keys[key] > most ? sorted[i].keys[key] : most;
    return most;
}

/* Radix sort, the least significant digit first. Numbers of a file are small, so most keys have one or two digits.
 * Returns the array that holds the result: `sorted` or `spare`. */
static struct aggregate_sorted *sort_by_digits(struct aggregate_sorted *sorted, struct aggregate_sorted *spare,
                                               size_t count)
{
    for (enum sort_key key = 0; key < SORT_KEYS; key++) {
        const uint64_t most = most_of(sorted, count, key);
        for (uint32_t shift = 0; most >> shift; shift += DIGIT_BITS) {
            sort_by_digit(sorted, spare, count, key, shift);
            struct aggregate_sorted *const made = spare;
            spare = sorted;
            sorted = made;
        }
    }
    return sorted;
}

/* Puts the rows into the order of `sorted`, in place: a cycle of the permutation at a time. */
static void move_rows(struct aggregate_row *rows, struct aggregate_sorted *sorted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct aggregate_row first = rows[i];
        size_t at = i;
        while (sorted[at].row != i) {
            const size_t from = sorted[at].row;
            rows[at] = rows[from];
            sorted[at].row = (uint32_t)at; /* marks the row as moved */
            at = from;
        }
        rows[at] = first;
        sorted[at].row = (uint32_t)at;
    }
}

static void sort_rows(struct aggregate *aggregate)
{
    struct aggregate_sorted *const room = alloc_resize(NULL, 2 * aggregate->count, sizeof(*room));
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        room[i] = (struct aggregate_sorted){ { row->stack, row->task, row->thread }, (uint32_t)i };
    }
    move_rows(aggregate->rows, sort_by_digits(room, room + aggregate->count, aggregate->count), aggregate->count);
    free(room);
}

void aggregate_end_adding(struct aggregate *aggregate)
{
    count_in(aggregate);
    id_index_free(&aggregate->index);
}

void aggregate_sort(struct aggregate *aggregate)
{
    aggregate_end_adding(aggregate);
    if (aggregate->count > 0)
        sort_rows(aggregate);
}

void aggregate_free(struct aggregate *aggregate)
{
    id_index_free(&aggregate->index);
    intern_free(&aggregate->span_groups);
    free(aggregate->rows);
    *aggregate = (struct aggregate){ 0 };
}
