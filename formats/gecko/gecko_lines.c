/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_lines.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/frames/plain_name.h"
#include "formats/gecko/gecko_cpu.h"
#include "formats/gecko/gecko_internal.h"
#include "formats/gecko/gecko_lanes.h"
#include "formats/model/paths.h"
#include "formats/model/program_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE_LINES 15 /* the viewer's own default */

/* ---- processes ---- */

const struct thread *gecko_lines_thread(const struct gecko *gecko, uint32_t thread)
{
    static const struct thread none;
    return thread ? &gecko->tables->threads[thread].thread : &none;
}

const struct process_row *gecko_lines_process(const struct gecko *gecko, uint32_t process)
{
    static const struct process_row none;
    return process ? &gecko->tables->processes[process] : &none;
}

/* The title of a process. Without a command line it is the name of the executable. What tells the processes of several
 * recordings apart comes first, because the viewer cuts long titles. */
static char *title_of(const struct gecko *gecko, uint32_t number)
{
    const struct process_row *row = gecko_lines_process(gecko, number);
    const struct process *process = &row->process;
    char *title = program_name_title(process->command.size ? process->command : process->executable), *full;
    if (row->process.recording.size == 0 ||
        asprintf(&full, "%.*s: %s", (int)row->process.recording.size, row->process.recording.bytes, title) < 0)
        return title;
    free(title);
    return full;
}

/* Gives the children of a tree that have the title of another process their pid. The pid comes first, because the
 * viewer cuts long titles. The process with which the tree begins keeps its title. */
static void tell_children_apart(struct gecko *gecko)
{
    struct gecko_lines *lines = &gecko->lines;
    struct gecko_again titles = { 0 };
    uint32_t *before = alloc_zeroed(lines->processes_count, sizeof(*before));
    for (uint32_t i = 1; i < lines->processes_count; i++)
        before[i] = gecko_again_count(&titles, lines->processes[i].title, strlen(lines->processes[i].title));
    for (uint32_t i = 1; i < lines->processes_count; i++) {
        char *title = lines->processes[i].title, *longer;
        const bool shared = gecko_again_count(&titles, title, strlen(title)) - before[i] > 1;
        const struct process *process = &gecko_lines_process(gecko, i)->process;
        if (!shared || !process->parent || asprintf(&longer, "%" PRIu32 ": %s", process->pid, title) < 0)
            continue;
        free(title);
        lines->processes[i].title = longer;
    }
    free(before);
    gecko_again_free(&titles);
}

/* Writes a pid as the viewer has it. The viewer treats threads with the same pid as one process, so a pid that was used
 * again gets a suffix. */
static char *name_pid(const struct process *process, uint32_t before)
{
    char text[32];
    const int size = before ? snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32, process->pid, before)
                            : snprintf(text, sizeof(text), "%" PRIu32, process->pid);
    return alloc_copy(text, (size_t)size);
}

static void name_processes(struct gecko *gecko)
{
    struct gecko_lines *lines = &gecko->lines;
    lines->processes_count = gecko->tables->processes_count ? gecko->tables->processes_count : 1;
    lines->processes = alloc_zeroed(lines->processes_count, sizeof(*lines->processes));
    struct gecko_again pids = { 0 };
    for (uint32_t i = 0; i < lines->processes_count; i++) {
        const struct process_row *row = gecko_lines_process(gecko, i);
        const uint32_t before = i ? gecko_again_count(&pids, &row->process.pid, sizeof(row->process.pid)) : 0;
        lines->processes[i].title = title_of(gecko, i);
        lines->processes[i].pid = name_pid(&row->process, before);
        lines->processes[i].line = SIZE_MAX;
    }
    tell_children_apart(gecko);
    gecko_again_free(&pids);
}

/* ---- which threads ---- */

/* A thread that is shown. */
struct gecko_lines_entry {
    uint32_t thread, process;
    bool main, task;
};

/* Whether the thread is the main thread of its process. Only the main interpreter has one, although other interpreters
 * may run in the same thread of the system. */
static bool gecko_lines_is_main(const struct thread *thread)
{
    return thread->main && thread->interpreter == 0;
}

/* Whether a thread is shown. A thread without samples is hidden, but a main thread names the process and is always
 * shown. */
static bool gecko_lines_is_shown(const struct gecko *gecko, uint32_t number)
{
    const struct thread *thread = gecko_lines_thread(gecko, number);
    return thread->number && (gecko_samples(gecko, number)->count > 0 || gecko_lines_is_main(thread));
}

/* Compares entries: by process, the main thread first, entries of tasks last, then by number. */
static int gecko_lines_by_order(const void *left, const void *right)
{
    const struct gecko_lines_entry *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->main != b->main)
        return a->main ? -1 : 1;
    if (a->task != b->task)
        return b->task ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Keeps only one main thread per process: with two, the viewer loses threads. */
static void keep_one_main(struct gecko_lines_entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (entries[i].process == entries[i - 1].process)
            entries[i].main = false;
}

/* Collects the threads that are shown, in their order. The caller frees the array. */
static struct gecko_lines_entry *collect(const struct gecko *gecko, size_t *count)
{
    const struct tables *tables = gecko->tables;
    struct gecko_lines_entry *entries = alloc_zeroed(tables->threads_count + 1, sizeof(*entries));
    *count = 0;
    for (uint32_t i = 1; i < tables->threads_count; i++) {
        const struct thread *thread = gecko_lines_thread(gecko, i);
        if (gecko_lines_is_shown(gecko, i))
            entries[(*count)++] = (struct gecko_lines_entry){ i, thread->process, gecko_lines_is_main(thread),
                                                              thread->task != 0 };
    }
    qsort(entries, *count, sizeof(*entries), gecko_lines_by_order);
    keep_one_main(entries, *count);
    return entries;
}

/* ---- names ---- */

/* The function with which the work of a thread begins: nearest the root, and not of the standard library, which starts
 * each thread. Empty when the latest stack of Python has no such function. */
static struct text first_function(const struct gecko *gecko, uint32_t thread)
{
    const struct tables *tables = gecko->tables;
    struct text name = { 0 }, rest;
    for (uint32_t stack = gecko_thread(gecko, thread)->stack; stack; stack = tables->stacks[stack].caller) {
        const uint32_t function = tables->frames[tables->stacks[stack].frame].function;
        const struct text file = tables_python_file(tables, function);
        if (file.size && paths_origin(file, &rest) != ORIGIN_LIBRARY)
            name = tables_function_name(tables, function);
    }
    return name;
}

/* The kernel's names of the main threads, which threads without a name of their own have, too. By process; the caller
 * frees the array. */
static struct text *inherited_names(const struct gecko *gecko)
{
    struct text *names = alloc_zeroed(gecko->lines.processes_count, sizeof(*names));
    for (uint32_t i = 1; i < gecko->tables->threads_count; i++) {
        const struct thread *thread = gecko_lines_thread(gecko, i);
        if (thread->number && gecko_lines_is_main(thread) && names[thread->process].size == 0)
            names[thread->process] = thread->name;
    }
    return names;
}

/* The name of a thread. Before CPython 3.14, the kernel's name of a thread is the program's: then the function with
 * which the thread begins says more. */
static struct text name_of_thread(const struct gecko *gecko, uint32_t number, struct text inherited)
{
    const struct thread *thread = gecko_lines_thread(gecko, number);
    if (gecko_tasks_shared(gecko, number))
        return TEXT("other tasks");
    if (thread->main || thread->task || (thread->name.size && !text_equal(thread->name, inherited)))
        return tables_thread_name(gecko->tables, number);
    const struct text function = first_function(gecko, number);
    return function.size ? function : TEXT("Thread");
}

/* Appends what tells a line from the lines of the same threads: the viewer cuts long names, so this part comes first.
 */
static void put_distinction(struct bytes *name, const struct lane_thread *lane, bool shared)
{
    char text[64];
    if (shared && lane->lanes > 1)
        put_bytes(name, text, (size_t)snprintf(text, sizeof(text), "#%" PRIu32 " ", lane->place));
    if (lane->interpreter)
        put_bytes(name, text, (size_t)snprintf(text, sizeof(text), "interpreter %" PRIu64 ": ", lane->interpreter));
}

/* Names a line. The viewer labels a process with the name of its main thread. */
static char *name_line(const struct gecko *gecko, const struct gecko_line *line, const struct lane_thread *lane)
{
    char text[64];
    struct bytes name = { 0 };
    if (line->main) {
        const char *title = gecko->lines.processes[line->process].title;
        return alloc_copy(title, strlen(title));
    }
    put_distinction(&name, lane, gecko_line_is_shared(line));
    if (gecko_line_is_shared(line)) {
        put_plain_name(&name, lane->name);
        put_bytes(&name, text, (size_t)snprintf(text, sizeof(text), ": %zu threads", line->count));
    } else {
        put_bytes(&name, lane->name.bytes, lane->name.size);
    }
    char *result = alloc_copy(name.at, name.size);
    bytes_free(&name);
    return result;
}

/* ---- lines ---- */

/* Assigns lanes. The caller frees the array. */
static struct lane_thread *assign(const struct gecko *gecko, const struct gecko_lines_entry *entries, size_t count)
{
    struct lane_thread *lanes = alloc_zeroed(count + 1, sizeof(*lanes));
    struct text *inherited = inherited_names(gecko);
    for (size_t i = 0; i < count; i++) {
        const struct thread *thread = gecko_lines_thread(gecko, entries[i].thread);
        lanes[i] = (struct lane_thread){ .process = entries[i].process,
                                         .interpreter = thread->interpreter,
                                         .name = name_of_thread(gecko, entries[i].thread,
                                                                inherited[entries[i].process]),
                                         .first = gecko_thread(gecko, entries[i].thread)->first,
                                         .last = gecko_samples(gecko, entries[i].thread)->last.time,
                                         .alone = entries[i].main || entries[i].task };
    }
    free(inherited);
    const uint64_t duration_ns = tables_duration_ns(gecko->tables);
    lanes_assign(lanes, count, gecko->unit_ns ? duration_ns / gecko->unit_ns : 0);
    return lanes;
}

/* Makes a line for each lane, with the threads of the lane. */
static void gecko_lines_make_rows(struct gecko *gecko, const struct gecko_lines_entry *entries,
                                  const struct lane_thread *lanes, size_t count)
{
    struct gecko_lines *lines = &gecko->lines;
    size_t *line_of = alloc_zeroed(count + 1, sizeof(*line_of)); /* by the first entry of a lane */
    lines->rows = alloc_zeroed(count + 1, sizeof(*lines->rows));
    lines->threads = alloc_zeroed(count + 1, sizeof(*lines->threads));
    for (size_t i = 0; i < count; i++) {
        if (lanes[i].lane == i) {
            line_of[i] = lines->count;
            lines->rows[lines->count++] = (struct gecko_line){ .process = entries[i].process,
                                                               .main = entries[i].main,
                                                               .task = entries[i].task };
        }
        lines->rows[line_of[lanes[i].lane]].count++;
    }
    uint32_t **next = alloc_zeroed(lines->count + 1, sizeof(*next)); /* by line: where its next thread goes */
    size_t at = 0;
    for (size_t i = 0; i < lines->count; at += lines->rows[i++].count)
        lines->rows[i].threads = next[i] = lines->threads + at;
    for (size_t i = 0; i < count; i++)
        *next[line_of[lanes[i].lane]]++ = entries[i].thread;
    for (size_t i = 0; i < count; i++)
        if (lanes[i].lane == i)
            lines->rows[line_of[i]].name = name_line(gecko, &lines->rows[line_of[i]], &lanes[i]);
    free(next);
    free(line_of);
}

/* Writes the key of a line: equal keys are lines that a reader cannot tell apart, of one name and one process. */
static void line_key(struct bytes *key, const struct gecko_line *line)
{
    key->size = 0;
    put_number(key, line->process);
    put_string(key, line->name);
}

/* Gives threads of a process that have one name their numbers. The number comes first, as the pid of a process does. */
static void tell_threads_apart(struct gecko *gecko)
{
    struct gecko_lines *lines = &gecko->lines;
    struct gecko_again names = { 0 };
    struct bytes key = { 0 };
    uint32_t *before = alloc_zeroed(lines->count + 1, sizeof(*before));
    for (size_t i = 0; i < lines->count; i++) {
        line_key(&key, &lines->rows[i]);
        before[i] = gecko_again_count(&names, key.at, key.size);
    }
    for (size_t i = 0; i < lines->count; i++) {
        struct gecko_line *line = &lines->rows[i];
        const uint32_t tid = gecko_lines_thread(gecko, gecko_line_first(line))->tid;
        char *longer;
        line_key(&key, line);
        const bool same = gecko_again_count(&names, key.at, key.size) - before[i] > 1;
        if (!same || line->main || line->task || gecko_line_is_shared(line) || !tid ||
            asprintf(&longer, "%" PRIu32 ": %s", tid, line->name) < 0)
            continue;
        free(line->name);
        line->name = longer;
    }
    free(before);
    bytes_free(&key);
    gecko_again_free(&names);
}

/* Adds an empty line. A profile without threads is an error in the viewer, so a recording without samples needs one. */
static void make_empty_line(struct gecko *gecko)
{
    struct gecko_lines *lines = &gecko->lines;
    struct gecko_line *line = &lines->rows[lines->count++];
    *line = (struct gecko_line){ .process = gecko->tables->processes_count > 1 ? 1 : 0, .main = true };
    line->name = name_line(gecko, line, NULL);
}

/* Notes where threads and processes are. The main thread of a process is on the first of its lines. */
static void note_places(struct gecko *gecko)
{
    struct gecko_lines *lines = &gecko->lines;
    lines->by_thread_count = gecko->tables->threads_count;
    lines->by_thread = alloc_zeroed(lines->by_thread_count + 1, sizeof(*lines->by_thread));
    for (size_t i = lines->count; i-- > 0;) {
        lines->processes[lines->rows[i].process].line = i;
        for (size_t at = 0; at < lines->rows[i].count; at++)
            lines->by_thread[lines->rows[i].threads[at]] = (uint32_t)i + 1;
    }
}

void gecko_lines_make(struct gecko *gecko)
{
    size_t count;
    name_processes(gecko);
    struct gecko_lines_entry *entries = collect(gecko, &count);
    struct lane_thread *lanes = assign(gecko, entries, count);
    gecko_lines_make_rows(gecko, entries, lanes, count);
    tell_threads_apart(gecko);
    free(lanes);
    free(entries);
    if (gecko->lines.count == 0)
        make_empty_line(gecko);
    note_places(gecko);
}

void gecko_lines_free(struct gecko_lines *lines)
{
    for (size_t i = 0; i < lines->processes_count; i++) {
        free(lines->processes[i].title);
        free(lines->processes[i].pid);
    }
    for (size_t i = 0; i < lines->count; i++)
        free(lines->rows[i].name);
    free(lines->processes);
    free(lines->rows);
    free(lines->threads);
    free(lines->by_thread);
    *lines = (struct gecko_lines){ 0 };
}

size_t gecko_line_of(const struct gecko *gecko, uint32_t thread)
{
    const struct gecko_lines *lines = &gecko->lines;
    return thread < lines->by_thread_count && lines->by_thread[thread] ? lines->by_thread[thread] - 1 : SIZE_MAX;
}

/* ---- which lines are seen first ---- */

struct ranked {
    unsigned behind; /* rank of the kind: threads, then tasks, then shared lines */
    uint64_t cpu_ns, samples;
    size_t index;
};

static int by_work(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->behind != b->behind)
        return a->behind < b->behind ? -1 : 1;
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns > b->cpu_ns ? -1 : 1;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static struct ranked rank_line(const struct gecko *gecko, size_t index)
{
    const struct gecko_line *line = &gecko->lines.rows[index];
    struct ranked ranked = { .index = index };
    for (size_t i = 0; i < line->count; i++) {
        ranked.samples += gecko_samples(gecko, line->threads[i])->count;
        ranked.cpu_ns += gecko_cpu_of(gecko, line->threads[i]);
    }
    ranked.behind = (line->task || ranked.samples == 0) + gecko_tasks_shared(gecko, gecko_line_first(line));
    return ranked;
}

/* Ranks the lines: most CPU time first, then most samples; threads before tasks unless they have no samples. The caller
 * frees the array. */
static struct ranked *rank_lines(const struct gecko *gecko)
{
    struct ranked *ranked = alloc_zeroed(gecko->lines.count, sizeof(*ranked));
    for (size_t i = 0; i < gecko->lines.count; i++)
        ranked[i] = rank_line(gecko, i);
    qsort(ranked, gecko->lines.count, sizeof(*ranked), by_work);
    return ranked;
}

json_t *gecko_lines_visible(const struct gecko *gecko)
{
    struct ranked *ranked = rank_lines(gecko);
    json_t *visible = json_array();
    for (size_t i = 0; i < gecko->lines.count && i < VISIBLE_LINES; i++)
        json_array_append_new(visible, json_integer((json_int_t)ranked[i].index));
    free(ranked);
    return visible;
}

/* Only one line is selected: the viewer would merge the samples of several. */
size_t gecko_selected_line(const struct gecko *gecko)
{
    struct ranked *ranked = rank_lines(gecko);
    const size_t selected = ranked[0].index;
    free(ranked);
    return selected;
}
