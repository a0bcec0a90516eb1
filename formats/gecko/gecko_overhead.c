/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_overhead.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_internal.h"

#include <stdlib.h>

static void spread_add(struct gecko_spread *spread, double value, uint64_t weight)
{
    if (spread->count == 0 || value < spread->least)
        spread->least = value;
    if (spread->count == 0 || value > spread->most)
        spread->most = value;
    spread->sum += value * (double)weight;
    spread->count += weight;
}

static double spread_mean(const struct gecko_spread *spread)
{
    return spread->count ? spread->sum / (double)spread->count : 0;
}

/* A tick that is earlier than the one before belongs to the next of several merged recordings. */
void gecko_overhead_take_tick(struct gecko_overhead *overhead, uint32_t process, uint64_t time_ns)
{
    overhead->ticks_ns = alloc_grow(overhead->ticks_ns, &overhead->ticks_room, (size_t)process + 1,
                                    sizeof(*overhead->ticks_ns));
    uint64_t *latest_ns = &overhead->ticks_ns[process];
    if (*latest_ns && time_ns > *latest_ns)
        spread_add(&overhead->interval_us, (double)(time_ns - *latest_ns) / 1000, 1);
    *latest_ns = time_ns;
    overhead->ticks++;
}

void gecko_overhead_take_measure(struct gecko_overhead *overhead, const struct measure *measure)
{
    if (measure->process == 0 || measure->recorder_cpu_ns == MEASURE_UNKNOWN)
        return;
    overhead->recorders = alloc_grow(overhead->recorders, &overhead->room, (size_t)measure->process + 1,
                                     sizeof(*overhead->recorders));
    struct gecko_recorder *recorder = &overhead->recorders[measure->process];
    const uint64_t ticks = overhead->ticks - recorder->ticks;
    if (!recorder->measured || measure->recorder_cpu_ns < recorder->cpu_ns) {
        *recorder = (struct gecko_recorder){ .measured = true, .first_ns = measure->time_ns };
    } else if (ticks > 0) {
        const double used_us = (double)(measure->recorder_cpu_ns - recorder->cpu_ns) / 1000;
        spread_add(&recorder->tick_us, used_us / (double)ticks, ticks);
        recorder->used_us += used_us;
    } else {
        return; /* the next measure counts what was used meanwhile */
    }
    recorder->cpu_ns = measure->recorder_cpu_ns;
    recorder->ticks = overhead->ticks;
    recorder->latest_ns = measure->time_ns;
}

static void gecko_overhead_emit_real(struct json_emitter *json, const char *key, double value)
{
    emit_value(json, key, json_real(value));
}

/* Writes the three rows of a kind of work. */
static void emit_spread(struct json_emitter *json, const char *const keys[3], const struct gecko_spread *spread)
{
    gecko_overhead_emit_real(json, keys[0], spread->least);
    gecko_overhead_emit_real(json, keys[1], spread_mean(spread));
    gecko_overhead_emit_real(json, keys[2], spread->most);
}

static void emit_statistics(struct json_emitter *json, const struct gecko_recorder *recorder,
                            const struct gecko_spread *interval_us)
{
    static const struct gecko_spread none;
    const struct {
        const char *keys[3];
        const struct gecko_spread *spread;
    } rows[] = {
        { { "minOverhead", "meanOverhead", "maxOverhead" }, &recorder->tick_us },
        { { "minThread", "meanThread", "maxThread" }, &recorder->tick_us },
        { { "minInterval", "meanInterval", "maxInterval" }, interval_us },
        { { "minCleaning", "meanCleaning", "maxCleaning" }, &none },
        { { "minCounter", "meanCounter", "maxCounter" }, &none },
        { { "minLockings", "meanLockings", "maxLockings" }, &none },
    };
    const double profiled_us = (double)(recorder->latest_ns - recorder->first_ns) / 1000;
    emit_open(json, "statistics", '{');
    for (size_t i = 0; i < countof(rows); i++)
        emit_spread(json, rows[i].keys, rows[i].spread);
    gecko_overhead_emit_real(json, "overheadDurations", recorder->used_us);
    gecko_overhead_emit_real(json, "overheadPercentage", profiled_us > 0 ? recorder->used_us / profiled_us : 0);
    gecko_overhead_emit_real(json, "profiledDuration", profiled_us);
    emit_integer(json, "samplingCount", (int64_t)recorder->tick_us.count);
    emit_close(json, '}');
}

static void emit_recorder(struct gecko *gecko, uint32_t process, const struct gecko_recorder *recorder)
{
    struct json_emitter *json = &gecko->json;
    const size_t line = gecko->lines.processes[process].line;
    if (recorder->tick_us.count == 0 || line == SIZE_MAX)
        return;
    emit_open(json, NULL, '{');
    emit_literal(
        json, "samples",
        "{\"counters\":[],\"expiredMarkerCleaning\":[],\"locking\":[],\"threads\":[],\"time\":[],\"length\":0}");
    emit_statistics(json, recorder, &gecko->overhead.interval_us);
    emit_text(json, "pid", text_of(gecko->lines.processes[process].pid));
    emit_integer(json, "mainThreadIndex", (int64_t)line);
    emit_close(json, '}');
}

void gecko_overhead_emit(struct gecko *gecko)
{
    emit_open(&gecko->json, "profilerOverhead", '[');
    for (uint32_t i = 1; i < gecko->overhead.room && i < gecko->tables->processes_count; i++)
        emit_recorder(gecko, i, &gecko->overhead.recorders[i]);
    emit_close(&gecko->json, ']');
}

void gecko_overhead_free(struct gecko_overhead *overhead)
{
    free(overhead->recorders);
    free(overhead->ticks_ns);
}
