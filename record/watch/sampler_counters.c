/* SPDX-License-Identifier: MIT */
#include "record/watch/sampler_counters.h"

#include "formats/base/alloc.h"
#include "formats/model/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values of all counters. */
struct counted {
    uint64_t samples, failures[FAILURE_KINDS], blocked, definitions_kb, definitions_left_out;
    struct limits limits;
    struct watched_counters watched;
};

/* The label of each counter, and the offset of its value. A rare counter is left out when it is 0. An early counter is
 * for who watches the recording while it grows. */
static const struct row {
    const char *name;
    size_t offset; /* in struct counted */
    bool rare, early;
} rows[] = {
    { "samples", offsetof(struct counted, samples), false, true },
    { "samples_exact", offsetof(struct counted, watched.exact), false, true },
    { "samples_live", offsetof(struct counted, watched.unproved), false, false },
    { "looks_again", offsetof(struct counted, watched.hops), true, false },
    { "samples_outside", offsetof(struct counted, watched.outside), true, true },
    { "states_joined", offsetof(struct counted, watched.joined), true, false },
    { "states_without_thread", offsetof(struct counted, watched.ownerless), true, false },
    { "interpreters_cut", offsetof(struct counted, watched.interpreters_cut), true, false },
    { "before_looks_ns", offsetof(struct counted, watched.before_looks_ns), true, false },
    { "command_cpu_ns", offsetof(struct counted, limits.command_cpu_ns), true, false },
    { "c_samples", offsetof(struct counted, watched.native.samples), true, true },
    { "c_stacks", offsetof(struct counted, watched.native.merged), true, false },
    { "c_stacks_holes", offsetof(struct counted, watched.native.holes), true, false },
    { "c_stacks_unmerged", offsetof(struct counted, watched.native.unmerged), true, false },
    { "c_stacks_late", offsetof(struct counted, watched.native.late), true, false },
    { "c_stacks_moved", offsetof(struct counted, watched.native.moved), true, false },
    { "c_stacks_spared", offsetof(struct counted, watched.native.spared), true, false },
    { "c_stacks_refused", offsetof(struct counted, watched.native.refused), true, false },
    { "c_frames", offsetof(struct counted, watched.native.frames), true, false },
    { "c_places_named", offsetof(struct counted, watched.native.named), true, false },
    { "c_places_nameless", offsetof(struct counted, watched.native.nameless), true, false },
    { "samples_blocked", offsetof(struct counted, blocked), true, false },
    { "ticks_left_out", offsetof(struct counted, limits.ticks_left_out), false, true },
    { "taken_ns", offsetof(struct counted, watched.taken_ns), false, true },
    { "disturb_limit_ppm", offsetof(struct counted, limits.limit_ppm), false, true },
    { "definitions_kb", offsetof(struct counted, definitions_kb), false, false },
    { "definitions_left_out", offsetof(struct counted, definitions_left_out), true, false },
    { "codes_gone", offsetof(struct counted, watched.codes_gone), true, false },
    { "cache_full", offsetof(struct counted, watched.unwind.full), false, false },
    { "cache_unmoved", offsetof(struct counted, watched.unwind.unmoved), false, false },
    { "cache_partial", offsetof(struct counted, watched.unwind.partial), false, false },
    { "cache_missed", offsetof(struct counted, watched.unwind.missed), false, false },
    { "idle_ticks", offsetof(struct counted, watched.idle_ticks), false, false },
    { "partial_ticks", offsetof(struct counted, watched.partial_ticks), true, false },
    { "stopped_ticks", offsetof(struct counted, watched.stopped_ticks), true, false },
    { "stopped_ns", offsetof(struct counted, watched.stopped_ns), true, false },
    { "stopped_signal_ns", offsetof(struct counted, watched.signalled_ns), true, false },
    { "stopped_tracer_ns", offsetof(struct counted, watched.traced_ns), true, false },
    { "frozen_ns", offsetof(struct counted, watched.cgroup_frozen_ns), true, false },
    { "quota_periods", offsetof(struct counted, limits.quota_periods), true, false },
    { "quota_used_up", offsetof(struct counted, limits.quota_used_up), true, false },
    { "suspended_ns", offsetof(struct counted, limits.suspended_ns), true, false },
    { "processes_passed", offsetof(struct counted, limits.processes_passed), true, false },
    { "frames_cached", offsetof(struct counted, watched.unwind.frames_known), false, false },
    { "frames_read", offsetof(struct counted, watched.unwind.frames_new), false, false },
    { "code_hits", offsetof(struct counted, watched.unwind.code_known), false, false },
    { "code_reads", offsetof(struct counted, watched.code_reads), false, false },
    { "codes_stale", offsetof(struct counted, watched.unwind.stale), false, false },
    { "reads", offsetof(struct counted, watched.reads), false, false },
    { "pieces", offsetof(struct counted, watched.pieces), false, false },
    { "bytes_read", offsetof(struct counted, watched.bytes), false, false },
    { "batched_tried", offsetof(struct counted, watched.unwind.reads), false, false },
    { "batched_right", offsetof(struct counted, watched.unwind.right), false, false },
    { "instructions", offsetof(struct counted, watched.unwind.instructions), true, false },
    { "instructions_unknown", offsetof(struct counted, watched.unwind.instructions_unknown), true, false },
    { "retries_learned", offsetof(struct counted, watched.unwind.learned), true, false },
    { "failed_changed", offsetof(struct counted, failures[FAILURE_CHANGED]), true, false },
    { "failed_memory", offsetof(struct counted, failures[FAILURE_MEMORY]), true, false },
    { "failed_code", offsetof(struct counted, failures[FAILURE_CODE]), true, false },
    { "failed_depth", offsetof(struct counted, failures[FAILURE_DEPTH]), true, false },
    { "failed_threads", offsetof(struct counted, failures[FAILURE_THREADS]), true, false },
};

/* Whether a counter says something. That a quota was never used up is worth saying, where there is one; and that no
 * sample has C functions, where they were sought. */
static bool counter_tells(const struct row *row, uint64_t value, const struct counted *counted)
{
    const struct native_counters *native = &counted->watched.native;
    const bool sought = native->unmerged + native->late + native->refused > 0;
    return value > 0 || !row->rare ||
           (row->offset == offsetof(struct counted, limits.quota_used_up) && counted->limits.quota_periods > 0) ||
           (row->offset == offsetof(struct counted, watched.native.samples) && sought);
}

/* Makes the list of counters, or of the early ones, which the caller frees. The list is empty when the sampler never
 * had a process. */
static struct counters list_of(const struct sampler *sampler, const struct limits *limits, bool early)
{
    struct counted counted = { .samples = sampler->emitter.samples,
                               .blocked = sampler->blocked,
                               .definitions_kb = sampler->emitter.definitions.bytes / 1000,
                               .definitions_left_out = sampler->emitter.definitions.left_out,
                               .limits = *limits,
                               .watched = sampler_counters(sampler) };
    memcpy(counted.failures, sampler->emitter.failures, sizeof(counted.failures));
    struct counters list = { 0 };
    for (size_t i = 0; i < countof(rows) && emitter_processes(&sampler->emitter) > 0; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&counted + rows[i].offset, sizeof(value));
        if (counter_tells(&rows[i], value, &counted) && (rows[i].early || !early))
            counters_set(&list, text_of(rows[i].name), value, NULL);
    }
    return list;
}

static bool limits_emit(const struct sampler *sampler, const struct limits *limits, bool early, const struct sink *to,
                        struct fault *why)
{
    struct counters list = list_of(sampler, limits, early);
    bool good = true;
    for (size_t i = 0; i < list.count && good; i++) {
        struct event event = { .kind = EVENT_COUNTER, .counter = list.rows[i] };
        good = sink_take(to, &event, why);
    }
    counters_free(&list);
    return good;
}

bool sampler_counters_emit(const struct sampler *sampler, const struct limits *limits, const struct sink *to,
                           struct fault *why)
{
    return limits_emit(sampler, limits, false, to, why);
}

bool sampler_counters_emit_early(const struct sampler *sampler, const struct limits *limits, const struct sink *to,
                                 struct fault *why)
{
    return limits_emit(sampler, limits, true, to, why);
}

void sampler_counters_print(const struct sampler *sampler, const struct limits *limits,
                            const struct block_writer *written)
{
    struct counters list = list_of(sampler, limits, false);
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
