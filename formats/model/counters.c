/* SPDX-License-Identifier: MIT */
#include "formats/model/counters.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT  64
#define WORDS_WIDTH 36 /* columns; longer words do not compile */

/* How a counter is shown: its wording, and the counters with which it is compared. */
static const struct wording {
    const char *name;
    char words[WORDS_WIDTH + 1];
    const char *part_of[3]; /* the value is shown in percent of the sum of these counters */
    const char *for_each;   /* the value is shown divided by this counter ... */
    const char *unit;       /* ... and followed by this unit */
} wordings[] = {
    { .name = "samples", .words = "samples" },
    { "samples_exact", "  one proven moment", .part_of = { "samples" } },
    { "samples_live", "  read while it may have run", .part_of = { "samples" } },
    { .name = "looks_again", .words = "looks that were taken again" },
    { .name = "samples_blocked", .words = "ticks that fell into a read" },
    { .name = "ticks_left_out", .words = "ticks left out for the budget" },
    { .name = "taken_ns", .words = "nanoseconds taken from the program" },
    { .name = "disturb_limit_ppm", .words = "budget, in millionths of a processor" },
    { .name = "codes_gone", .words = "frames of code that was gone" },
    { "cache_full", "  stack as it was last time", .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { "cache_unmoved", "    known without reading it", .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { "cache_partial", "  stack partly as it was", .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { "cache_missed", "  stack found anew", .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { .name = "idle_ticks", .words = "ticks in which the process slept" },
    { .name = "partial_ticks", .words = "ticks in which it was not stopped" },
    { .name = "stopped_ticks", .words = "ticks while a signal had stopped it" },
    { "frames_cached", "frames known from last time", .part_of = { "frames_cached", "frames_read" } },
    { "frames_read", "frames found in memory", .part_of = { "frames_cached", "frames_read" } },
    { "code_hits", "code objects known", .part_of = { "code_hits", "code_reads" } },
    { "code_reads", "code objects read", .part_of = { "code_hits", "code_reads" } },
    { .name = "codes_stale", .words = "stacks with a replaced code object" },
    { "reads", "system calls that read", .for_each = "samples", .unit = "a sample" },
    { "pieces", "  pieces of memory", .for_each = "reads", .unit = "a call" },
    { "bytes_read", "  bytes", .for_each = "samples", .unit = "a sample" },
    { "batched_tried", "threads read by prediction", .for_each = "reads", .unit = "a call" },
    { "batched_right", "  right at once", .part_of = { "batched_tried" } },
    { "instructions", "instructions named", .part_of = { "instructions", "instructions_unknown" } },
    { "instructions_unknown", "instructions not known", .part_of = { "instructions", "instructions_unknown" } },
    { "retries_torn", "  again: it moved meanwhile", .part_of = { "batched_tried" } },
    { "retries_learned", "  again: something was elsewhere", .part_of = { "batched_tried" } },
    { "retries_unsure", "  again: an unknown call, seen once", .part_of = { "batched_tried" } },
    { "retries_no_code", "  again: code object unreadable", .part_of = { "batched_tried" } },
    { "retries_no_memory", "  again: memory unreadable", .part_of = { "batched_tried" } },
    { "retries_slow", "  again: the call was slow", .part_of = { "batched_tried" } },
    { .name = "failed_changed", .words = "failed: changed while read" },
    { .name = "failed_memory", .words = "failed: memory unreadable" },
    { .name = "failed_code", .words = "failed: code object unreadable" },
    { .name = "failed_depth", .words = "failed: stack too deep" },
    { .name = "failed_threads", .words = "failed: list of threads unreadable" },
    { .name = "stream_blocks", .words = "blocks of the recording" },
    { "stream_plain_bytes", "  bytes before compression", .for_each = "samples", .unit = "a sample" },
    { "stream_bytes", "  bytes", .for_each = "samples", .unit = "a sample" },
};

static bool is_name(struct text name)
{
    for (size_t i = 0; i < name.size; i++) {
        const char c = name.bytes[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return name.size > 0 && name.size <= NAME_LIMIT;
}

static struct counter *find(const struct counters *list, const char *name, size_t size)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->rows[i].name.size == size && memcmp(list->rows[i].name.bytes, name, size) == 0)
            return &list->rows[i];
    return NULL;
}

bool counters_set(struct counters *list, struct text name, uint64_t value, struct fault *why)
{
    if (!is_name(name))
        return fault(why, "a figure has no proper name");
    struct counter *known = find(list, name.bytes, name.size);
    if (known) {
        known->value = value;
        return true;
    }
    if (list->count == COUNTERS_LIMIT)
        return fault(why, "more than %d figures", COUNTERS_LIMIT);
    list->rows = alloc_grow(list->rows, &list->room, list->count + 1, sizeof(*list->rows));
    list->rows[list->count++] = (struct counter){ text_copy(name), value };
    return true;
}

const struct counter *counters_find(const struct counters *list, const char *name)
{
    return find(list, name, strlen(name));
}

uint64_t counters_get(const struct counters *list, const char *name)
{
    const struct counter *counter = counters_find(list, name);
    return counter ? counter->value : 0;
}

static const struct wording *wording_of(const char *name)
{
    for (size_t i = 0; i < countof(wordings); i++)
        if (strcmp(wordings[i].name, name) == 0)
            return &wordings[i];
    return NULL;
}

/* Writes "98.0 %" or "2.13 a sample"; nothing when the wording compares with no counter. */
static void compare(char *room, size_t size, const struct counters *list, const struct wording *wording, uint64_t value)
{
    double whole = 0;
    for (size_t i = 0; i < countof(wording->part_of) && wording->part_of[i]; i++)
        whole += (double)counters_get(list, wording->part_of[i]);
    const uint64_t each = wording->for_each ? counters_get(list, wording->for_each) : 0;
    if (whole > 0)
        snprintf(room, size, "%9.1f %%", 100 * (double)value / whole);
    else if (each > 0)
        snprintf(room, size, "%10.2f %s", (double)value / (double)each, wording->unit);
}

char *counters_line(const struct counters *list, size_t row)
{
    const struct counter *counter = &list->rows[row];
    const struct wording *wording = wording_of(counter->name.bytes);
    char compared[64] = "";
    char *line;
    if (wording)
        compare(compared, sizeof(compared), list, wording, counter->value);
    const int size = asprintf(&line, "%-*s %14" PRIu64 "%s", WORDS_WIDTH,
                              wording ? wording->words : counter->name.bytes, counter->value, compared);
    return size < 0 ? alloc_copy("", 0) : line;
}

void counters_free(struct counters *list)
{
    for (size_t i = 0; i < list->count; i++)
        text_free(list->rows[i].name);
    free(list->rows);
    *list = (struct counters){ 0 };
}
