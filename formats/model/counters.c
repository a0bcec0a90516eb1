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
    { "samples_exact", "  exact (proved to be one moment)", .part_of = { "samples" } },
    { "samples_live", "  unproved (it may have run)", .part_of = { "samples" } },
    { .name = "looks_again", .words = "looks thrown away" },
    { .name = "samples_outside", .words = "  of threads outside Python" },
    { .name = "states_joined", .words = "states with the sample of another one" },
    { .name = "states_without_thread", .words = "states of CPython that no thread had" },
    { .name = "states_unborn", .words = "states of threads not running yet" },
    { .name = "interpreters_cut", .words = "ticks without some interpreters" },
    { .name = "before_looks_ns", .words = "CPU time before first looks (ns)" },
    { .name = "command_cpu_ns", .words = "CPU time of the command's tree (ns)" },
    { .name = "processes_passed", .words = "processes that ended unseen" },
    { .name = "c_samples", .words = "samples with C functions", .part_of = { "samples" } },
    { .name = "c_stacks", .words = "C stacks that were unwound" },
    { .name = "c_stacks_holes", .words = "  with a part that is not known" },
    { .name = "c_stacks_unmerged", .words = "C stacks that could not be placed" },
    { .name = "c_stacks_late", .words = "threads that stopped too late" },
    { .name = "c_stacks_moved", .words = "threads gone on before they stopped" },
    { .name = "c_stacks_spared", .words = "threads spared in system calls" },
    { .name = "c_stacks_refused", .words = "threads that could not be stopped" },
    { .name = "c_frames", .words = "frames of C functions" },
    { .name = "c_places_named", .words = "  places in C code with a name" },
    { .name = "c_places_nameless", .words = "  places in C code without a name" },
    { .name = "samples_blocked", .words = "ticks due while a read was blocked" },
    { .name = "ticks_left_out", .words = "ticks left out to keep the budget" },
    { .name = "taken_ns", .words = "time taken from the program (ns)" },
    { .name = "disturb_limit_ppm", .words = "budget (millionths of a processor)" },
    { .name = "definitions_kb", .words = "names, functions and lines (kB)" },
    { .name = "definitions_left_out", .words = "  without room (<more functions>)" },
    { .name = "codes_gone", .words = "frames without readable code object" },
    { "cache_full", "stacks unchanged since last sample",
      .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { "cache_unmoved", "  without reading the thread", .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { "cache_partial", "stacks partly unchanged", .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { "cache_missed", "stacks read in full", .part_of = { "cache_full", "cache_partial", "cache_missed" } },
    { .name = "idle_ticks", .words = "ticks while the program slept" },
    { .name = "partial_ticks", .words = "ticks with a thread not stopped" },
    { .name = "stopped_ticks", .words = "ticks while stopped by a signal" },
    { .name = "stopped_ns", .words = "time the program was stopped (ns)" },
    { "stopped_signal_ns", "  by a signal", .part_of = { "stopped_ns" } },
    { "stopped_tracer_ns", "  by a debugger", .part_of = { "stopped_ns" } },
    { .name = "frozen_ns", .words = "time the program was frozen (ns)" },
    { .name = "quota_periods", .words = "periods of the program's quota" },
    { "quota_used_up", "  in which it was used up", .part_of = { "quota_periods" } },
    { .name = "suspended_ns", .words = "time the machine was suspended (ns)" },
    { "frames_cached", "frames reused from last sample", .part_of = { "frames_cached", "frames_read" } },
    { "frames_read", "frames read from memory", .part_of = { "frames_cached", "frames_read" } },
    { "code_hits", "frames with a known code object", .part_of = { "code_hits", "code_reads" } },
    { "code_reads", "code objects read", .part_of = { "code_hits", "code_reads" } },
    { .name = "codes_stale", .words = "stacks reread: code object replaced" },
    { "reads", "system calls that read memory", .for_each = "samples", .unit = "per sample" },
    { "pieces", "  memory ranges", .for_each = "reads", .unit = "per call" },
    { "bytes_read", "  bytes read", .for_each = "samples", .unit = "per sample" },
    { "batched_tried", "threads read in a planned batch", .for_each = "reads", .unit = "per call" },
    { "batched_right", "  accepted at once", .part_of = { "batched_tried" } },
    { "instructions", "frames with a known instruction", .part_of = { "instructions", "instructions_unknown" } },
    { "instructions_unknown", "frames with an unknown instruction",
      .part_of = { "instructions", "instructions_unknown" } },
    { "retries_learned", "  repeated: data not where expected", .part_of = { "batched_tried" } },
    { .name = "failed_changed", .words = "failed: changed during the read" },
    { .name = "failed_memory", .words = "failed: memory unreadable" },
    { .name = "failed_code", .words = "failed: code object unreadable" },
    { .name = "failed_depth", .words = "failed: stack too deep" },
    { .name = "failed_threads", .words = "failed: thread list unreadable" },
    { .name = "stream_blocks", .words = "blocks written" },
    { "stream_plain_bytes", "  bytes before compression", .for_each = "samples", .unit = "per sample" },
    { "stream_bytes", "  bytes after compression", .for_each = "samples", .unit = "per sample" },
};

static const struct wording *wording_of(const char *name)
{
    for (size_t i = 0; i < countof(wordings); i++)
        if (strcmp(wordings[i].name, name) == 0)
            return &wordings[i];
    return NULL;
}

static bool counters_is_name(struct text name)
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

/* The place of a counter in a list: that of its wording. One without a wording follows all others. */
static size_t rank_of(const char *name)
{
    const struct wording *wording = wording_of(name);
    return wording ? (size_t)(wording - wordings) : countof(wordings);
}

/* Adds a counter behind those that are shown before it. */
static void insert(struct counters *list, struct counter counter)
{
    const size_t rank = rank_of(counter.name.bytes);
    list->rows = alloc_grow(list->rows, &list->room, list->count + 1, sizeof(*list->rows));
    size_t at = list->count++;
    for (; at > 0 && rank_of(list->rows[at - 1].name.bytes) > rank; at--)
        list->rows[at] = list->rows[at - 1];
    list->rows[at] = counter;
}

bool counters_set(struct counters *list, struct text name, uint64_t value, struct fault *why)
{
    if (!counters_is_name(name))
        return fault(why, "a counter has an invalid name");
    struct counter *known = find(list, name.bytes, name.size);
    if (known) {
        known->value = value;
        return true;
    }
    if (list->count == COUNTERS_LIMIT)
        return fault(why, "more than %d counters", COUNTERS_LIMIT);
    insert(list, (struct counter){ text_copy(name), value });
    return true;
}

bool counters_add_up(struct text name)
{
    return !text_equal(name, TEXT("disturb_limit_ppm"));
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

/* Writes "98.0 %" or "2.13 per sample"; nothing when the wording compares with no counter. */
static void counters_compare(char *room, size_t size, const struct counters *list, const struct wording *wording,
                             uint64_t value)
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
        counters_compare(compared, sizeof(compared), list, wording, counter->value);
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
