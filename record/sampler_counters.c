/* SPDX-License-Identifier: MIT */
#include "record/sampler_counters.h"

#include "formats/base/alloc.h"
#include "formats/model/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where each figure is kept. A rare one is told only when it is not 0. */
static const struct row {
    const char *name;
    size_t offset; /* in struct sampler_figures */
    bool rare;
} rows[] = {
    { "samples", offsetof(struct sampler_figures, samples), false },
    { "samples_exact", offsetof(struct sampler_figures, exact), false },
    { "samples_live", offsetof(struct sampler_figures, live), false },
    { "looks_again", offsetof(struct sampler_figures, hops), true },
    { "samples_blocked", offsetof(struct sampler_figures, blocked), true },
    { "ticks_left_out", offsetof(struct sampler_figures, ticks_left_out), false },
    { "taken_ns", offsetof(struct sampler_figures, taken_ns), false },
    { "disturb_limit_ppm", offsetof(struct sampler_figures, limit_ppm), false },
    { "codes_gone", offsetof(struct sampler_figures, codes_gone), true },
    { "cache_full", offsetof(struct sampler_figures, unwind.full), false },
    { "cache_unmoved", offsetof(struct sampler_figures, unwind.unmoved), false },
    { "cache_partial", offsetof(struct sampler_figures, unwind.partial), false },
    { "cache_missed", offsetof(struct sampler_figures, unwind.missed), false },
    { "idle_ticks", offsetof(struct sampler_figures, idle_ticks), false },
    { "partial_ticks", offsetof(struct sampler_figures, partial_ticks), true },
    { "stopped_ticks", offsetof(struct sampler_figures, stopped_ticks), true },
    { "frames_cached", offsetof(struct sampler_figures, unwind.frames_known), false },
    { "frames_read", offsetof(struct sampler_figures, unwind.frames_new), false },
    { "code_hits", offsetof(struct sampler_figures, unwind.code_known), false },
    { "code_reads", offsetof(struct sampler_figures, code_reads), false },
    { "codes_stale", offsetof(struct sampler_figures, unwind.stale), false },
    { "reads", offsetof(struct sampler_figures, reads), false },
    { "pieces", offsetof(struct sampler_figures, pieces), false },
    { "bytes_read", offsetof(struct sampler_figures, bytes), false },
    { "batched_tried", offsetof(struct sampler_figures, unwind.reads), false },
    { "batched_right", offsetof(struct sampler_figures, unwind.right), false },
    { "instructions", offsetof(struct sampler_figures, unwind.instructions), true },
    { "instructions_unknown", offsetof(struct sampler_figures, unwind.instructions_unknown), true },
    { "retries_torn", offsetof(struct sampler_figures, unwind.torn), true },
    { "retries_learned", offsetof(struct sampler_figures, unwind.learned), true },
    { "retries_unsure", offsetof(struct sampler_figures, unwind.unsure), true },
    { "retries_no_code", offsetof(struct sampler_figures, unwind.no_code), true },
    { "retries_no_memory", offsetof(struct sampler_figures, unwind.no_memory), true },
    { "retries_slow", offsetof(struct sampler_figures, unwind.slow), true },
    { "failed_changed", offsetof(struct sampler_figures, failures[FAILURE_CHANGED]), true },
    { "failed_memory", offsetof(struct sampler_figures, failures[FAILURE_MEMORY]), true },
    { "failed_code", offsetof(struct sampler_figures, failures[FAILURE_CODE]), true },
    { "failed_depth", offsetof(struct sampler_figures, failures[FAILURE_DEPTH]), true },
    { "failed_threads", offsetof(struct sampler_figures, failures[FAILURE_THREADS]), true },
};

/* The caller frees the list. It is empty when there never was a process. */
static struct counters list_of(const struct sampler *sampler)
{
    const struct sampler_figures figures = sampler_figures(sampler);
    struct counters list = { 0 };
    for (size_t i = 0; i < countof(rows) && sampler->last_process > 0; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&figures + rows[i].offset, sizeof(value));
        if (value > 0 || !rows[i].rare)
            counters_set(&list, (struct text){ rows[i].name, strlen(rows[i].name) }, value, NULL);
    }
    return list;
}

bool sampler_counters_emit(const struct sampler *sampler, const struct sink *to, struct fault *why)
{
    struct counters list = list_of(sampler);
    bool good = true;
    for (size_t i = 0; i < list.count && good; i++) {
        struct event event = { .kind = EVENT_COUNTER, .counter = list.rows[i] };
        good = sink_take(to, &event, why);
    }
    counters_free(&list);
    return good;
}

void sampler_counters_print(const struct sampler *sampler, const struct block_writer *written)
{
    struct counters list = list_of(sampler);
    counters_set(&list, TEXT("stream_blocks"), written->sequence, NULL);
    counters_set(&list, TEXT("stream_plain_bytes"), written->plain, NULL);
    counters_set(&list, TEXT("stream_bytes"), written->written, NULL);
    for (size_t i = 0; i < list.count; i++) {
        char *line = counters_line(&list, i);
        fprintf(stderr, "  %s\n", line);
        free(line);
    }
    counters_free(&list);
}
