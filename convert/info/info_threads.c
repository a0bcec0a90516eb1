/* SPDX-License-Identifier: MIT */
#include "convert/info/info_threads.h"

#include "convert/info/info_json.h"
#include "convert/info/info_table.h"
#include "formats/base/alloc.h"
#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- JSON ---- */

/* A share in percent, rounded to 1/100; null when nothing is known. */
static json_t *json_percent(double part, double whole)
{
    return whole > 0 ? json_real((double)(uint64_t)(part * 10000 / whole + 0.5) / 100) : json_null();
}

static json_t *thread_json(const struct tables *tables, size_t number)
{
    const struct thread_row *row = &tables->threads[number];
    const struct thread *thread = &row->thread;
    json_t *all = json_pack(
        "{s:i, s:i, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "pid", (int)tables->processes[thread->process].process.pid,
        "tid", (int)thread->tid, "name", info_json_text(tables_thread_name(tables, (uint32_t)number)), "kernel_name",
        info_json_text(thread->name), "main", (int)thread->main, "interpreter", info_json_count(thread->interpreter),
        "samples", info_json_count(row->samples), "start_s", info_json_seconds(thread->start_ns), "end_s",
        row->end_ns ? info_json_seconds(row->end_ns) : json_null());
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        { "left_out", info_json_count(row->left_out) },
        { "wall_s", info_json_seconds(row->wall_ns) },
        { "cpu_s", row->cpu_known ? info_json_seconds(row->cpu_ns) : json_null() },
    };
    for (size_t i = 0; i < countof(members); i++)
        json_object_set_new(all, members[i].key, members[i].value);
    char key[32];
    for (enum attribute state = 0; state < ATTRIBUTE_STATES; state++) {
        const struct state_times *times = &row->states[state];
        snprintf(key, sizeof(key), "%s_percent", attributes[state].name);
        if (attributes[state].column)
            json_object_set_new(all, key, json_percent(times->was_ns, times->known_ns));
    }
    return all;
}

/* Whether the number belongs to a thread, not to an entry that stands for a task or for CPU time. */
static bool is_thread(const struct tables *tables, size_t number)
{
    const struct thread *thread = &tables->threads[number].thread;
    return thread->number && !thread->task && !thread_is_rest(thread);
}

uint64_t info_threads_count(const struct tables *tables)
{
    uint64_t threads = 0;
    for (size_t i = 1; i < tables->threads_count; i++)
        threads += is_thread(tables, i);
    return threads;
}

json_t *info_threads_json(const struct tables *tables)
{
    json_t *list = json_array();
    for (size_t i = 1; i < tables->threads_count; i++)
        if (is_thread(tables, i))
            json_array_append_new(list, thread_json(tables, i));
    return list;
}

/* ---- text ---- */

static void print_percent(struct output *to, double part, double whole)
{
    if (whole > 0)
        output_format(to, " %6.1f", part * 100 / whole);
    else
        output_format(to, " %6s", "-");
}

static void print_states(struct output *to, const struct thread_row *row)
{
    if (row->cpu_known)
        output_format(to, " %9.3f", info_seconds(row->cpu_ns));
    else
        output_format(to, " %9s", "-");
    for (enum attribute state = 0; state < ATTRIBUTE_STATES; state++)
        if (attributes[state].column)
            print_percent(to, row->states[state].was_ns, row->states[state].known_ns);
}

static void print_thread(struct output *to, const struct tables *tables, size_t number)
{
    const struct thread_row *row = &tables->threads[number];
    output_format(to, "%8" PRIu32 " %8" PRIu32 " %10" PRIu64, tables->processes[row->thread.process].process.pid,
                  row->thread.tid, row->samples);
    if (tables->left_out)
        output_format(to, " %10" PRIu64, row->left_out);
    if (tables->states_known)
        print_states(to, row);
    output_format(to, "  %9.3f ", info_seconds(row->thread.start_ns));
    if (row->end_ns)
        output_format(to, "%9.3f  ", info_seconds(row->end_ns));
    else
        output_format(to, "%9s  ", "");
    printable_write(to, tables_thread_name(tables, (uint32_t)number));
    if (row->thread.interpreter)
        output_format(to, " (interpreter %" PRIu64 ")", row->thread.interpreter);
    output_string(to, "\n");
}

/* A thread that waits has as many samples as one that works: CPU time tells them apart, where it is known. */
static uint64_t thread_weight(const struct thread_row *row)
{
    return row->cpu_ns + row->samples;
}

/* Chooses the threads that the table has, of *count threads. */
static struct info_choice info_threads_choose(const struct tables *tables, bool all, size_t *count)
{
    uint64_t *weights = alloc_zeroed(tables->threads_count + 1, sizeof(*weights));
    *count = 0;
    for (size_t i = 1; i < tables->threads_count; i++)
        if (is_thread(tables, i))
            weights[(*count)++] = thread_weight(&tables->threads[i]);
    const struct info_choice choice = info_choose(weights, *count, all ? SIZE_MAX : INFO_THREADS);
    free(weights);
    return choice;
}

static void print_titles(struct output *to)
{
    output_format(to, " %9s", "CPU s");
    for (enum attribute state = 0; state < ATTRIBUTE_STATES; state++)
        if (attributes[state].column)
            output_format(to, " %6s", attributes[state].column);
}

/* Columns of states are left out when no sample has a status. A recording with --async all has tasks only. */
void info_threads_print(struct output *to, const struct tables *tables, bool all)
{
    size_t count, printed = 0;
    struct info_choice choice = info_threads_choose(tables, all, &count);
    if (count == 0 && tables->tasks_count > 1)
        return;
    output_format(to, "\n%8s %8s %10s", "pid", "tid", "samples");
    if (tables->left_out)
        output_format(to, " %10s", "left out");
    if (tables->states_known)
        print_titles(to);
    output_format(to, "  %9s %9s  %s\n", "from s", "to s", "thread");
    for (size_t i = 1; i < tables->threads_count; i++) {
        if (!is_thread(tables, i) || !info_is_chosen(&choice, thread_weight(&tables->threads[i])))
            continue;
        print_thread(to, tables, i);
        printed++;
    }
    if (printed < count)
        output_format(to, "%29s and %zu more threads (--all shows them)\n", "", count - printed);
}
