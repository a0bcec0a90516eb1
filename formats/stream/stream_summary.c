/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_summary.h"

#include "formats/base/alloc.h"
#include "formats/codec/stream_format.h"
#include "formats/stream/stream_notes.h"
#include "formats/stream/stream_records.h"

#define SUM_MOST ((uint64_t)1 << 53) /* sums of times in doubles are exact below this: 104 days of a thread */

/* The states in a THREAD-TOTALS note, in this order. */
static const enum attribute states[] = { ATTRIBUTE_CPU, ATTRIBUTE_GIL, ATTRIBUTE_GIL_WAIT, ATTRIBUTE_EXCEPTION };

/* The number of rows of a table; entry 0 of its array is no row. */
static size_t rows(size_t count)
{
    return count ? count - 1 : 0;
}

bool stream_summary_fits(const struct tables *tables)
{
    return rows(tables->processes_count) + rows(tables->threads_count) + rows(tables->tasks_count) <=
           STREAM_SUMMARY_ROWS;
}

/* ---- writing ---- */

static void put_event(struct bytes *to, const struct stream_summary *summary, const struct event *event)
{
    struct bytes fields = { 0 };
    stream_notes_put_fields(&fields, event, summary->unit_ns);
    stream_records_put_tag(to, RECORD_NOTE, stream_notes_of(event->kind));
    put_number(to, fields.size);
    put_bytes(to, fields.at, fields.size);
    bytes_free(&fields);
}

static void put_thread_end(struct bytes *to, const struct stream_summary *summary, uint32_t number, uint64_t end_ns)
{
    const struct event event = { .kind = EVENT_THREAD_END, .change = { .number = number, .time_ns = end_ns } };
    if (end_ns)
        put_event(to, summary, &event);
}

static void put_totals(struct bytes *to, const struct stream_summary *summary, const struct tables *tables)
{
    uint64_t numbers[13 + FAILURE_KINDS] = {
        SUMMARY_RULES,
        summary->headers,
        tables->samples,
        tables->ticks,
        tables->missed,
        tables->missed_ns,
        tables->left_out,
        tables->last_ns / summary->unit_ns,
        tables_stacks(tables),
        tables_functions(tables),
        tables_have_instructions(tables),
        tables->states_known,
        FAILURE_KINDS,
    };
    for (size_t i = 0; i < FAILURE_KINDS; i++)
        numbers[13 + i] = tables->failures[i];
    stream_records_put_numbers_note(to, NOTE_TOTALS, numbers, countof(numbers));
}

static void put_thread(struct bytes *to, const struct stream_summary *summary, const struct thread_row *row)
{
    const uint32_t number = row->thread.number;
    uint64_t numbers[7 + 2 * countof(states)] = {
        number, row->samples, row->left_out, row->wall_ns, row->cpu_ns, row->cpu_known, countof(states),
    };
    for (size_t i = 0; i < countof(states); i++) {
        numbers[7 + 2 * i] = (uint64_t)row->states[states[i]].known_ns;
        numbers[8 + 2 * i] = (uint64_t)row->states[states[i]].was_ns;
    }
    put_event(to, summary, &(struct event){ .kind = EVENT_THREAD, .thread = row->thread });
    put_thread_end(to, summary, number, row->end_ns);
    stream_records_put_numbers_note(to, NOTE_THREAD_TOTALS, numbers, countof(numbers));
}

/* Amounts are MEASURE_UNKNOWN, or multiples of the unit. Unknown is 0. */
static uint64_t plus_1(uint64_t amount, uint64_t unit)
{
    return amount == MEASURE_UNKNOWN ? 0 : amount / unit + 1;
}

static void put_measures(struct bytes *to, const struct stream_summary *summary, const struct process_row *row)
{
    const struct measures *sums = &row->measures;
    const uint64_t numbers[] = {
        row->process.number,
        sums->count,
        sums->latest.time_ns / summary->unit_ns,
        plus_1(sums->latest.resident_bytes, MEASURE_PAGE),
        plus_1(sums->most_resident_bytes, MEASURE_PAGE),
        plus_1(sums->first_cpu_ns, summary->unit_ns),
        plus_1(sums->latest.cpu_ns, summary->unit_ns),
        plus_1(sums->first_recorder_cpu_ns, summary->unit_ns),
        plus_1(sums->latest.recorder_cpu_ns, summary->unit_ns),
    };
    if (sums->count)
        stream_records_put_numbers_note(to, NOTE_PROCESS_TOTALS, numbers, countof(numbers));
}

static void put_ticks(struct bytes *to, const struct process_row *row)
{
    const struct process_ticks *own = &row->own;
    const uint64_t numbers[] = { row->process.number, own->ticks, own->missed, own->missed_ns, own->rates_mhz };
    if (own->ticks || own->missed)
        stream_records_put_numbers_note(to, NOTE_PROCESS_TICKS, numbers, countof(numbers));
}

/* Puts the end of a process, if it has ended. */
static void put_process_end(struct bytes *to, const struct stream_summary *summary, const struct process_row *row)
{
    const struct process_end end = { row->process.number, row->end_ns, row->fate, row->wait_status };
    if (row->end_ns)
        put_event(to, summary, &(struct event){ .kind = EVENT_PROCESS_END, .process_end = end });
}

void stream_summary_put(struct bytes *to, const struct stream_summary *summary, const struct tables *tables)
{
    stream_records_put_numbers_note(to, NOTE_RECORDING_ID, (const uint64_t[]){ summary->recording_id }, 1);
    put_totals(to, summary, tables);
    for (size_t i = 1; i < tables->processes_count; i++) {
        const struct process_row *row = &tables->processes[i];
        put_event(to, summary, &(struct event){ .kind = EVENT_PROCESS, .process = row->process });
        put_process_end(to, summary, row);
        put_measures(to, summary, row);
        put_ticks(to, row);
    }
    for (size_t i = 1; i < tables->tasks_count; i++)
        put_event(to, summary, &(struct event){ .kind = EVENT_TASK, .task = tables->tasks[i].task });
    for (size_t i = 1; i < tables->tasks_count; i++)
        if (tables->tasks[i].waiter)
            put_event(to, summary,
                      &(struct event){ .kind = EVENT_TASK_WAITER,
                                       .task_waiter = { .task = tables->tasks[i].task.number,
                                                        .waiter = tables->tasks[i].waiter,
                                                        .waiters = tables->tasks[i].waiters } });
    for (size_t i = 1; i < tables->threads_count; i++)
        put_thread(to, summary, &tables->threads[i]);
    for (size_t i = 1; i < tables->tasks_count; i++) {
        const struct task_row *row = &tables->tasks[i];
        const uint64_t numbers[] = { row->task.number, row->samples, row->thread };
        stream_records_put_numbers_note(to, NOTE_TASK_TOTALS, numbers, countof(numbers));
    }
    for (size_t i = 0; i < tables->counters.count; i++)
        put_event(to, summary, &(struct event){ .kind = EVENT_COUNTER, .counter = tables->counters.rows[i] });
}

/* ---- reading ---- */

struct taking {
    struct stream_summary *summary;
    struct tables *tables;
    bool has_totals;
};

static bool take_totals(struct taking *t, struct cursor fields)
{
    struct tables *tables = t->tables;
    const uint64_t rules = take_number(&fields);
    t->summary->headers = take_number32(&fields);
    tables->samples = tables->defined = take_number(&fields);
    tables->ticks = take_number(&fields);
    tables->missed = take_number(&fields);
    tables->missed_ns = take_number(&fields);
    tables->left_out = take_number(&fields);
    const uint64_t last_units = take_number(&fields);
    tables->summed.stacks = take_number(&fields);
    tables->summed.functions = take_number(&fields);
    tables->summed.instructions = take_number(&fields) != 0;
    tables->states_known = take_number(&fields) != 0;
    const uint64_t causes = take_number(&fields);
    for (uint64_t i = 0; i < causes && i < FAILURE_KINDS; i++) {
        tables->failures[i] = take_number(&fields);
        tables->failed += tables->failures[i];
    }
    if (fields.bad || t->has_totals || causes > FAILURE_KINDS || last_units > UINT64_MAX / t->summary->unit_ns)
        return false;
    tables->last_ns = last_units * t->summary->unit_ns;
    t->has_totals = true;
    return rules == SUMMARY_RULES;
}

static bool take_state(struct cursor *fields, struct state_times *times)
{
    const uint64_t known_ns = take_number(fields), was_ns = take_number(fields);
    times->known_ns = (double)known_ns;
    times->was_ns = (double)was_ns;
    return known_ns < SUM_MOST && was_ns <= known_ns;
}

static bool take_thread_totals(const struct taking *t, struct cursor fields)
{
    const uint32_t number = take_number32(&fields);
    if (number == 0 || number >= t->tables->threads_count)
        return false;
    struct thread_row *row = &t->tables->threads[number];
    row->samples = take_number(&fields);
    row->left_out = take_number(&fields);
    row->wall_ns = take_number(&fields);
    row->cpu_ns = take_number(&fields);
    row->cpu_known = take_number(&fields) != 0;
    const uint64_t count = take_number(&fields);
    bool good = count == countof(states);
    for (size_t i = 0; i < countof(states) && good; i++)
        good = take_state(&fields, &row->states[states[i]]);
    return good && !fields.bad;
}

/* Takes an amount that may be unknown. An amount above the largest one turns the cursor bad. */
static uint64_t take_plus_1(struct cursor *fields, uint64_t unit)
{
    const uint64_t plus_1 = take_number(fields);
    if (plus_1 == 0)
        return MEASURE_UNKNOWN;
    fields->bad |= plus_1 > UINT64_MAX / unit;
    return fields->bad ? MEASURE_UNKNOWN : (plus_1 - 1) * unit;
}

/* Whether an amount that grows can be the first and the latest one. */
static bool has_grown(uint64_t first, uint64_t latest)
{
    return first <= latest && (first == MEASURE_UNKNOWN) == (latest == MEASURE_UNKNOWN);
}

static bool take_process_totals(const struct taking *t, struct cursor fields)
{
    const uint64_t unit_ns = t->summary->unit_ns;
    const uint32_t number = take_number32(&fields);
    if (number == 0 || number >= t->tables->processes_count)
        return false;
    struct measures *sums = &t->tables->processes[number].measures;
    sums->latest.process = number;
    sums->count = take_number(&fields);
    const uint64_t time_units = take_number(&fields);
    sums->latest.resident_bytes = take_plus_1(&fields, MEASURE_PAGE);
    sums->most_resident_bytes = take_plus_1(&fields, MEASURE_PAGE);
    sums->first_cpu_ns = take_plus_1(&fields, unit_ns);
    sums->latest.cpu_ns = take_plus_1(&fields, unit_ns);
    sums->first_recorder_cpu_ns = take_plus_1(&fields, unit_ns);
    sums->latest.recorder_cpu_ns = take_plus_1(&fields, unit_ns);
    if (fields.bad || sums->count == 0 || time_units > UINT64_MAX / unit_ns ||
        !has_grown(sums->first_cpu_ns, sums->latest.cpu_ns) ||
        !has_grown(sums->first_recorder_cpu_ns, sums->latest.recorder_cpu_ns))
        return false;
    sums->latest.time_ns = time_units * unit_ns;
    return true;
}

static bool take_process_ticks(const struct taking *t, struct cursor fields)
{
    const uint32_t number = take_number32(&fields);
    if (number == 0 || number >= t->tables->processes_count)
        return false;
    struct process_ticks *own = &t->tables->processes[number].own;
    own->ticks = take_number(&fields);
    own->missed = take_number(&fields);
    own->missed_ns = take_number(&fields);
    own->rates_mhz = take_number(&fields);
    return !fields.bad;
}

static bool take_task_totals(const struct taking *t, struct cursor fields)
{
    const uint32_t number = take_number32(&fields);
    const uint64_t samples = take_number(&fields);
    const uint32_t thread = take_number32(&fields);
    if (fields.bad || number == 0 || number >= t->tables->tasks_count ||
        (thread != 0 && thread >= t->tables->threads_count))
        return false;
    t->tables->tasks[number].samples = samples;
    t->tables->tasks[number].thread = thread;
    return true;
}

static bool take_event(const struct taking *t, uint64_t note, struct cursor fields)
{
    struct event event = { 0 };
    struct stream_cut cut;
    switch (stream_notes_take(fields, note, t->summary->unit_ns, &event)) {
    case NOTE_UNKNOWN:
        return true; /* a note of a later version of pyreel */
    case NOTE_BROKEN:
        return false;
    case NOTE_TAKEN:
        break;
    }
    stream_notes_cut(&event, &cut);
    return tables_take(t->tables, &event, NULL) && stream_summary_fits(t->tables);
}

static bool take_note(struct taking *t, uint64_t note, struct cursor fields)
{
    switch (note) {
    case NOTE_RECORDING_ID:
        t->summary->recording_id = take_number32(&fields);
        return !fields.bad;
    case NOTE_TOTALS:
        return take_totals(t, fields);
    case NOTE_THREAD_TOTALS:
        return take_thread_totals(t, fields);
    case NOTE_TASK_TOTALS:
        return take_task_totals(t, fields);
    case NOTE_PROCESS_TOTALS:
        return take_process_totals(t, fields);
    case NOTE_PROCESS_TICKS:
        return take_process_ticks(t, fields);
    case NOTE_PROCESS:
    case NOTE_PROCESS_END:
    case NOTE_TASK:
    case NOTE_TASK_WAITER:
    case NOTE_THREAD:
    case NOTE_THREAD_END:
    case NOTE_COUNTER:
        return take_event(t, note, fields);
    default:
        return true; /* a note of a later version of pyreel */
    }
}

bool stream_summary_take(struct cursor payload, struct stream_summary *summary, struct tables *tables)
{
    struct taking taking = { summary, tables, false };
    while (cursor_left(&payload) > 0) {
        const uint64_t tag = take_number(&payload);
        const struct cursor fields = take_part(&payload, take_number(&payload));
        if (payload.bad || (tag & 7) != RECORD_NOTE || !take_note(&taking, tag >> 3, fields))
            return false;
    }
    return taking.has_totals;
}
