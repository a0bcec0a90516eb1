/* SPDX-License-Identifier: MIT */
#include "record/file/triggers.h"

#include "formats/base/alloc.h"
#include "formats/base/arguments.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_NS 2000000000u

/* ---- the grammar: NAME>VALUE ---- */

static bool parse_percent(const char *text, double *limit)
{
    char *end;
    *limit = strtod(text, &end) / 100;
    return end != text && strcmp(end, "%") == 0 && *limit > 0 && *limit <= 1000;
}

static bool parse_bytes(const char *text, double *limit)
{
    uint64_t bytes = 0;
    const bool good = strpbrk(text, "kKmMgGtT") && arguments_parse_size(text, &bytes);
    *limit = (double)bytes;
    return good;
}

static bool parse_time(const char *text, double *limit)
{
    uint64_t time_ns;
    const bool good = strpbrk(text, "hms") && arguments_parse_time(text, &time_ns) && time_ns > 0;
    *limit = good ? (double)time_ns : 0;
    return good;
}

static const struct {
    const char *name;
    bool (*parse)(const char *text, double *limit);
} kinds[TRIGGER_KINDS] = {
    [TRIGGER_CPU] = { "cpu>", parse_percent },
    [TRIGGER_MEMORY] = { "memory>", parse_bytes },
    [TRIGGER_GIL_WAIT] = { "gilwait>", parse_percent },
    [TRIGGER_STILL] = { "still>", parse_time },
};

bool triggers_add(struct triggers *triggers, const char *text)
{
    if (triggers->count == TRIGGERS_MOST)
        return false;
    struct trigger *row = &triggers->rows[triggers->count];
    for (size_t i = 0; i < TRIGGER_KINDS; i++) {
        const size_t size = strlen(kinds[i].name);
        if (strncmp(text, kinds[i].name, size) != 0 || !kinds[i].parse(text + size, &row->limit))
            continue;
        row->text = text;
        row->kind = (enum trigger_kind)i;
        triggers->count++;
        return true;
    }
    return false;
}

/* ---- values ---- */

/* Compares a new value with the conditions of this kind. */
static void triggers_compare(struct triggers *triggers, enum trigger_kind kind, double value)
{
    for (size_t i = 0; i < triggers->count; i++) {
        struct trigger *row = &triggers->rows[i];
        if (row->kind != kind)
            continue;
        const bool holds = value > row->limit;
        if (holds && !row->holds)
            triggers->fired = row;
        row->holds = holds;
    }
}

/* Another stream has other numbers; the serial says that the process is the same one. */
static void triggers_take_serial(struct triggers *triggers, const struct serial *serial)
{
    if (serial->kind != SERIAL_PROCESS)
        return;
    for (size_t i = 0; i < triggers->processes_count; i++)
        if (triggers->processes[i].serial == serial->serial) {
            triggers->processes[i].number = serial->number;
            return;
        }
    triggers->processes = alloc_grow(triggers->processes, &triggers->processes_room, triggers->processes_count + 1,
                                     sizeof(*triggers->processes));
    triggers->processes[triggers->processes_count++] = (struct trigger_process){ serial->number, serial->serial, 0, 0 };
}

static struct trigger_process *find_process(const struct triggers *triggers, uint32_t number)
{
    for (size_t i = triggers->processes_count; i > 0; i--)
        if (triggers->processes[i - 1].number == number)
            return &triggers->processes[i - 1];
    return NULL;
}

static void triggers_end_process(struct triggers *triggers, uint32_t number)
{
    struct trigger_process *process = find_process(triggers, number);
    if (process)
        *process = triggers->processes[--triggers->processes_count];
}

static void triggers_take_measure(struct triggers *triggers, const struct measure *measure)
{
    struct trigger_process *process = find_process(triggers, measure->process);
    if (measure->resident_bytes != MEASURE_UNKNOWN)
        triggers_compare(triggers, TRIGGER_MEMORY, (double)measure->resident_bytes);
    if (!process || measure->cpu_ns == MEASURE_UNKNOWN)
        return;
    if (process->since_ns && measure->time_ns < process->since_ns + WINDOW_NS)
        return;
    if (process->since_ns && measure->cpu_ns >= process->cpu_ns)
        triggers_compare(triggers, TRIGGER_CPU,
                         (double)(measure->cpu_ns - process->cpu_ns) / (double)(measure->time_ns - process->since_ns));
    process->since_ns = measure->time_ns;
    process->cpu_ns = measure->cpu_ns;
}

static void triggers_take_sample(struct triggers *triggers, const struct sample *sample)
{
    triggers->samples++;
    triggers->waits += (sample->status & STATUS_GIL_WAIT) != 0;
    if (sample->pushed > 0 && !triggers->anew)
        triggers->moved_ns = sample->time_ns;
}

static void triggers_take_tick(struct triggers *triggers, uint64_t time_ns)
{
    if (time_ns >= triggers->moved_ns)
        triggers_compare(triggers, TRIGGER_STILL, (double)(time_ns - triggers->moved_ns));
    triggers->anew = false;
    if (time_ns < triggers->window_ns + WINDOW_NS)
        return;
    if (triggers->samples > 0)
        triggers_compare(triggers, TRIGGER_GIL_WAIT, (double)triggers->waits / (double)triggers->samples);
    triggers->window_ns = time_ns;
    triggers->samples = triggers->waits = 0;
}

void triggers_take(struct triggers *triggers, const struct event *event)
{
    if (triggers->count == 0)
        return;
    switch (event->kind) {
    case EVENT_SERIAL:
        triggers_take_serial(triggers, &event->serial);
        break;
    case EVENT_PROCESS_END:
        triggers_end_process(triggers, event->process_end.number);
        break;
    case EVENT_MEASURE:
        triggers_take_measure(triggers, &event->measure);
        break;
    case EVENT_SAMPLE:
        triggers_take_sample(triggers, &event->sample);
        break;
    case EVENT_TICK:
        triggers_take_tick(triggers, event->tick_ns);
        break;
    default:
        break;
    }
}

void triggers_free(struct triggers *triggers)
{
    free(triggers->processes);
    *triggers = (struct triggers){ 0 };
}
