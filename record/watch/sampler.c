/* SPDX-License-Identifier: MIT */
#include "record/watch/sampler.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <stdlib.h>
#include <string.h>

/* ---- processes ---- */

void sampler_open(struct sampler *sampler, struct sink sink)
{
    const struct synthetic_frames *wanted = &sampler->synthetic;
    sampler->synthetic = (struct synthetic_frames){ .native = wanted->native,
                                                    .gc = wanted->gc,
                                                    .depth = wanted->depth ? wanted->depth : DEPTH_LIMIT,
                                                    .definitions = &sampler->emitter.definitions };
    emitter_open(&sampler->emitter, sink);
}

struct watched *sampler_watch(struct sampler *sampler, pid_t pid, struct command *command)
{
    struct watched *watched = alloc_zeroed(1, sizeof(*watched));
    watched_open(watched, pid, command, &sampler->options, &sampler->emitter, &sampler->synthetic);
    watched->shared = &sampler->shared;
    sampler->watched = alloc_grow(sampler->watched, &sampler->room, sampler->count + 1, sizeof(*sampler->watched));
    sampler->watched[sampler->count++] = watched;
    return watched;
}

/* The next attached process, from index *from on, and moves *from behind it. NULL: there is none. */
static struct watched *next_attached(const struct sampler *sampler, size_t *from)
{
    while (*from < sampler->count) {
        struct watched *watched = sampler->watched[(*from)++];
        if (watched->attached)
            return watched;
    }
    return NULL;
}

void sampler_forget(struct sampler *sampler, struct watched *watched)
{
    size_t at = 0;
    while (sampler->watched[at] != watched)
        at++;
    watched_detach(watched);
    const struct watched_counters counters = watched_counters(watched); /* those of the posts end with the posts */
    watched_close(watched);
    watched_counters_add(&sampler->forgotten, &counters);
    free(watched);
    sampler->count--;
    memmove(&sampler->watched[at], &sampler->watched[at + 1], (sampler->count - at) * sizeof(*sampler->watched));
}

void sampler_close(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->count; i++) {
        watched_close(sampler->watched[i]);
        free(sampler->watched[i]);
    }
    free(sampler->watched);
    elf_files_free(&sampler->shared.files);
    code_bodies_free(&sampler->shared.bodies);
    emitter_close(&sampler->emitter);
    sampler->watched = NULL;
    sampler->count = sampler->room = 0;
}

/* ---- ticks ---- */

/* The other processes are appointed when the first one has been looked at: definitions and the sink are for one look at
 * a time. */
bool sampler_appoint(struct sampler *sampler, const struct moments *moments)
{
    size_t at = 0;
    struct watched *first = next_attached(sampler, &at);
    return first && watched_appoint(first, moments);
}

void sampler_cancel(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->count; i++)
        if (sampler->watched[i]->attached)
            watched_cancel(sampler->watched[i]);
}

/* Makes the looks of a tick, one after the other. Emits no samples yet; looks themselves emit the definitions of tasks.
 */
static void look_at_all(struct sampler *sampler, uint64_t now_ns)
{
    size_t at = 0;
    struct watched *watched = next_attached(sampler, &at);
    if (!watched)
        return;
    watched_look(watched, now_ns);
    sampler->moment_ns = watched->moment_ns;
    while ((watched = next_attached(sampler, &at))) {
        const struct moments now = { .due_ns = clock_now_ns() };
        watched_appoint(watched, &now);
        watched_look(watched, now.due_ns);
    }
}

enum sampler_state sampler_tick(struct sampler *sampler, uint64_t now_ns, uint64_t missed, struct fault *why)
{
    struct emitter *emitter = &sampler->emitter;
    bool any = false, lost = false;
    look_at_all(sampler, now_ns);
    if (sampler->measure_due_ns == 0)
        sampler->measure_due_ns = now_ns;
    if (missed > 0)
        emitter_note(emitter, (struct event){ .kind = EVENT_MISSED, .missed = missed });
    sampler->missed += missed;
    const uint64_t time_ns = sampler->moment_ns - sampler->options.start_ns;
    size_t at = 0;
    for (struct watched *watched; (watched = next_attached(sampler, &at));) {
        const bool same = watched_same_program(watched, time_ns);
        if (same && !watched_emit(watched, time_ns, why))
            return SAMPLER_STUCK;
        any |= same;
        lost |= watched->lost;
    }
    if (any && !emitter_tick(emitter, time_ns, why))
        return SAMPLER_STUCK;
    return lost ? SAMPLER_LOST : SAMPLER_GOING;
}

bool sampler_waited(const struct sampler *sampler)
{
    size_t at = 0;
    struct watched *watched = next_attached(sampler, &at);
    bool waited = watched != NULL;
    for (; watched; watched = next_attached(sampler, &at))
        waited &= watched->waited;
    return waited;
}

static bool tick_again(struct sampler *sampler, uint64_t time_ns, struct fault *why)
{
    sampler->blocked++;
    size_t at = 0;
    for (struct watched *watched; (watched = next_attached(sampler, &at));)
        if (!watched_emit_again(watched, time_ns, why))
            return false;
    return emitter_tick(&sampler->emitter, time_ns, why);
}

bool sampler_ticks_again(struct sampler *sampler, uint64_t count, struct fault *why)
{
    const uint64_t start_ns = sampler->options.start_ns;
    const uint64_t last_ns = sampler->moment_ns - start_ns, end_ns = clock_now_ns() - start_ns;
    const uint64_t step_ns = count > 0 && end_ns > last_ns ? (end_ns - last_ns) / count : 0;
    for (uint64_t i = 1; i <= count; i++)
        if (!tick_again(sampler, last_ns + i * step_ns, why))
            return false;
    return true;
}

uint64_t sampler_measure_due_ns(const struct sampler *sampler)
{
    return sampler->measure_due_ns ? sampler->measure_due_ns : UINT64_MAX;
}

void sampler_measure(struct sampler *sampler, uint64_t now_ns)
{
    const uint64_t recorder_cpu_ns = meter_own_cpu_ns();
    size_t at = 0;
    for (struct watched *watched; (watched = next_attached(sampler, &at));)
        watched_measure(watched, recorder_cpu_ns);
    /* Measures that are late do not move later ones. */
    const uint64_t late_ns = now_ns > sampler->measure_due_ns ? now_ns - sampler->measure_due_ns : 0;
    sampler->measure_due_ns += (late_ns / SAMPLER_MEASURE_NS + 1) * SAMPLER_MEASURE_NS;
}

bool sampler_settle(struct sampler *sampler)
{
    bool left = false;
    for (size_t i = 0; i < sampler->count; i++)
        left |= freeze_settle(&sampler->watched[i]->freeze);
    return left;
}

/* ---- counters ---- */

uint64_t sampler_taken_ns(const struct sampler *sampler)
{
    uint64_t taken_ns = sampler->forgotten.taken_ns;
    for (size_t i = 0; i < sampler->count; i++)
        taken_ns += watched_taken_ns(sampler->watched[i]);
    return taken_ns;
}

struct watched_counters sampler_counters(const struct sampler *sampler)
{
    struct watched_counters sum = sampler->forgotten;
    for (size_t i = 0; i < sampler->count; i++) {
        const struct watched_counters counters = watched_counters(sampler->watched[i]);
        watched_counters_add(&sum, &counters);
    }
    return sum;
}
