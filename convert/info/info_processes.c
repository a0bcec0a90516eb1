/* SPDX-License-Identifier: MIT */
#include "convert/info/info_processes.h"

#include "convert/info/info_json.h"
#include "convert/info/info_table.h"
#include "formats/base/alloc.h"
#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>

#define MEBIBYTE    1048576.0
#define INDENT_MOST 20 /* generations that the table shows as such */

/* The samples of each process, by its number. The caller frees the array. */
static uint64_t *info_processes_count_samples(const struct tables *tables)
{
    uint64_t *samples = alloc_zeroed(tables->processes_count + 1, sizeof(*samples));
    for (size_t i = 1; i < tables->threads_count; i++)
        samples[tables->threads[i].thread.process] += tables->threads[i].samples;
    return samples;
}

/* Whether a number is that of a process, and not that of OTHER_PROCESSES. */
static bool is_listed(const struct tables *tables, size_t number)
{
    const struct process *process = &tables->processes[number].process;
    return process->number && !process_is_others(process);
}

/* ---- JSON ---- */

/* An amount of a measure; null when it is not known. */
static json_t *json_amount(const struct measures *measures, uint64_t amount)
{
    return measures->count && amount != MEASURE_UNKNOWN ? info_json_count(amount) : json_null();
}

void info_json_put_account(json_t *object, const struct account *account)
{
    struct account_part parts[ACCOUNT_PARTS];
    account_parts(account, parts);
    for (size_t i = 0; i < ACCOUNT_PARTS; i++)
        json_object_set_new(object, parts[i].key, account->known ? info_json_seconds(parts[i].ns) : json_null());
}

/* Whether the CPython is of such a build; null when it is not known. */
static json_t *json_build(const struct process *process, enum build bit)
{
    return process->build & BUILD_KNOWN ? json_boolean(process->build & bit) : json_null();
}

/* How the process ended; null when it is not known. */
static json_t *json_fate(const struct process_row *row)
{
    static const char *const words[FATES] = { [FATE_EXECED] = "execed", [FATE_LEFT] = "running" };
    if (row->end_ns && row->fate == FATE_EXITED)
        return json_string(row->wait_status >= 0 && WIFSIGNALED(row->wait_status) ? "killed" : "exited");
    return row->end_ns && words[row->fate] ? json_string(words[row->fate]) : json_null();
}

static json_t *json_exit_code(const struct process_row *row)
{
    const bool known = row->end_ns && row->fate == FATE_EXITED && row->wait_status >= 0;
    return known && WIFEXITED(row->wait_status) ? json_integer(WEXITSTATUS(row->wait_status)) : json_null();
}

static json_t *json_signal(const struct process_row *row)
{
    const bool known = row->end_ns && row->fate == FATE_EXITED && row->wait_status >= 0;
    return known && WIFSIGNALED(row->wait_status) ? json_integer(WTERMSIG(row->wait_status)) : json_null();
}

/* Lines NAME=VALUE as an object. */
static json_t *json_attributes(struct text lines)
{
    json_t *all = json_object();
    struct text name, value;
    while (process_take_attribute(&lines, &name, &value)) {
        char *key = alloc_copy(name.bytes, name.size);
        json_object_set_new(all, key, info_json_text(value));
        free(key);
    }
    return all;
}

static json_t *json_python(const struct process *process)
{
    char version[32];
    return process->python_version ? json_string(event_python_version_text(version, process->python_version))
                                   : json_null();
}

/* `places` has the place in the list of each process, by its number. */
static json_t *process_json(const struct tables *tables, const struct process_row *row, const struct account *account,
                            uint64_t samples, const size_t *places)
{
    const struct process *process = &row->process;
    const struct measures *measures = &row->measures;
    const bool own = tables->recording.process_ticks;
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        { "pid", json_integer(process->pid) },
        { "parent", process->parent_pid ? json_integer(process->parent_pid) : json_null() },
        { "ancestor", process->parent ? json_integer((json_int_t)places[process->parent]) : json_null() },
        { "python", json_python(process) },
        { "executable", info_json_text(process->executable) },
        { "command", info_json_text(process->command) },
        { "folder", info_json_text(process->folder) },
        { "attributes", json_attributes(process->attributes) },
        { "samples", info_json_count(samples) },
        { "ticks", own ? info_json_count(row->own.ticks) : json_null() },
        { "missed", own ? info_json_count(row->own.missed) : json_null() },
        { "start_s", info_json_seconds(process->start_ns) },
        { "end_s", row->end_ns ? info_json_seconds(row->end_ns) : json_null() },
        { "fate", json_fate(row) },
        { "exit_code", json_exit_code(row) },
        { "signal", json_signal(row) },
        { "build_id", process->build_id.size ? info_json_text(process->build_id) : json_null() },
        { "free_threaded", json_build(process, BUILD_FREE_THREADED) },
        { "debug", json_build(process, BUILD_DEBUG) },
        { "measures", info_json_count(measures->count) },
        { "resident_bytes", json_amount(measures, measures->latest.resident_bytes) },
        { "most_resident_bytes", json_amount(measures, measures->most_resident_bytes) },
    };
    json_t *all = json_object();
    for (size_t i = 0; i < countof(members); i++)
        json_object_set_new(all, members[i].key, members[i].value);
    info_json_put_account(all, account);
    return all;
}

json_t *info_processes_json(const struct tables *tables, const struct accounts *accounts)
{
    json_t *list = json_array();
    uint64_t *samples = info_processes_count_samples(tables);
    size_t *places = alloc_zeroed(tables->processes_count + 1, sizeof(*places)), place = 0;
    for (size_t i = 1; i < tables->processes_count; i++)
        if (is_listed(tables, i))
            places[i] = place++;
    for (uint32_t i = 1; i < tables->processes_count; i++) {
        const struct account account = accounts_of(accounts, tables, i);
        if (is_listed(tables, i))
            json_array_append_new(list, process_json(tables, &tables->processes[i], &account, samples[i], places));
    }
    free(samples);
    free(places);
    return list;
}

/* ---- text ---- */

void info_print_build(struct output *to, const struct process *process)
{
    if (process->build & BUILD_FREE_THREADED)
        output_string(to, " free-threaded");
    if (process->build & BUILD_DEBUG)
        output_string(to, " debug build");
}

/* Chooses the processes that are shown, of *count processes. `samples` has the samples of each process. */
static struct info_choice info_processes_choose(const struct tables *tables, bool all, const uint64_t *samples,
                                                size_t *count)
{
    uint64_t *known = alloc_zeroed(tables->processes_count + 1, sizeof(*known));
    *count = 0;
    for (size_t i = 1; i < tables->processes_count; i++)
        if (is_listed(tables, i))
            known[(*count)++] = samples[i];
    const struct info_choice choice = info_choose(known, *count, all ? SIZE_MAX : INFO_PROCESSES);
    free(known);
    return choice;
}

/* Whether the recording says how its processes belong together. */
static bool is_family(const struct tables *tables)
{
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.parent)
            return true;
    return false;
}

static void info_processes_print_line(struct output *to, const struct process_row *row)
{
    const struct measures *measures = &row->measures;
    char version[32];
    output_format(to, "%-11s %" PRIu32 ", CPython %s", "process", row->process.pid,
                  event_python_version_text(version, row->process.python_version));
    info_print_build(to, &row->process);
    output_format(to, ", from %.3f s", info_seconds(row->process.start_ns));
    if (row->end_ns)
        output_format(to, " to %.3f s", info_seconds(row->end_ns));
    if (measures->count && measures->most_resident_bytes != MEASURE_UNKNOWN)
        output_format(to, ", at most %.1f MiB", (double)measures->most_resident_bytes / MEBIBYTE);
    output_string(to, ": ");
    printable_write(to, row->process.command);
    output_string(to, "\n");
}

/* A process that executes another program counts as a further process. */
void info_processes_print_lines(struct output *to, const struct tables *tables, bool all)
{
    size_t count, printed = 0;
    if (tables->processes_count <= 2 || is_family(tables))
        return;
    uint64_t *samples = info_processes_count_samples(tables);
    struct info_choice choice = info_processes_choose(tables, all, samples, &count);
    for (size_t i = 1; i < tables->processes_count; i++) {
        if (!is_listed(tables, i) || !info_is_chosen(&choice, samples[i]))
            continue;
        info_processes_print_line(to, &tables->processes[i]);
        printed++;
    }
    if (printed < count)
        output_format(to, "%-11s and %zu more (--all shows them)\n", "process", count - printed);
    free(samples);
}

/* ---- the tree ---- */

/* The processes in the order of the tree: each before its children, and these in the order of their numbers. */
struct info_processes_tree {
    uint32_t *child, *next; /* by number: the first child, and the next child of the same parent; 0: none */
    uint32_t *depth;        /* generations above */
};

static struct info_processes_tree make_tree(const struct tables *tables)
{
    const size_t count = tables->processes_count + 1;
    struct info_processes_tree tree = { .child = alloc_zeroed(count, sizeof(uint32_t)),
                                        .next = alloc_zeroed(count, sizeof(uint32_t)),
                                        .depth = alloc_zeroed(count, sizeof(uint32_t)) };
    for (size_t i = tables->processes_count; i-- > 1;) { /* from the last on, so that each child comes first */
        const struct process *process = &tables->processes[i].process;
        if (process->number == 0)
            continue;
        tree.next[i] = tree.child[process->parent];
        tree.child[process->parent] = process->number;
    }
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.parent) /* a parent has a smaller number */
            tree.depth[i] = tree.depth[tables->processes[i].process.parent] + 1;
    return tree;
}

static void free_tree(struct info_processes_tree *tree)
{
    free(tree->child);
    free(tree->next);
    free(tree->depth);
}

/* The process behind this one in the order of the tree; 0: none. */
static uint32_t next_in_tree(const struct tables *tables, const struct info_processes_tree *tree, uint32_t process)
{
    if (tree->child[process])
        return tree->child[process];
    while (process && !tree->next[process])
        process = tables->processes[process].process.parent;
    return tree->next[process];
}

static void print_amount(struct output *to, int width, uint64_t amount, double unit, int digits)
{
    if (amount == MEASURE_UNKNOWN)
        output_format(to, " %*s", width, "-");
    else
        output_format(to, " %*.*f", width, digits, (double)amount / unit);
}

static void info_processes_print_row(struct output *to, const struct tables *tables, uint32_t process, uint64_t samples,
                                     uint32_t depth)
{
    const struct process_row *row = &tables->processes[process];
    const struct measures *measures = &row->measures;
    char room[EVENT_FATE_ROOM];
    output_format(to, "%8" PRIu32, row->process.pid);
    if (row->process.parent_pid)
        output_format(to, " %8" PRIu32, row->process.parent_pid);
    else
        output_format(to, " %8s", "-");
    output_format(to, " %10" PRIu64, samples);
    print_amount(to, 9, tables_measured_cpu_ns(tables, process), 1e9, 3);
    print_amount(to, 9, measures->count ? measures->most_resident_bytes : MEASURE_UNKNOWN, MEBIBYTE, 1);
    output_format(to, "  %9.3f ", info_seconds(row->process.start_ns));
    if (row->end_ns)
        output_format(to, "%9.3f", info_seconds(row->end_ns));
    else
        output_format(to, "%9s", "");
    output_format(to, "  %-10s %*s", event_fate_text(room, row->fate, row->wait_status),
                  (int)(2 * (depth < INDENT_MOST ? depth : INDENT_MOST)), "");
    printable_write(to, row->process.command);
    output_string(to, "\n");
}

void info_processes_print_tree(struct output *to, const struct tables *tables, bool all)
{
    size_t count, printed = 0;
    if (!is_family(tables))
        return;
    uint64_t *samples = info_processes_count_samples(tables);
    struct info_choice choice = info_processes_choose(tables, all, samples, &count);
    struct info_processes_tree tree = make_tree(tables);
    output_format(to, "\n%8s %8s %10s %9s %9s  %9s %9s  %-10s %s\n", "pid", "parent", "samples", "CPU s", "most MiB",
                  "from s", "to s", "end", "process");
    for (uint32_t at = tree.child[0]; at; at = next_in_tree(tables, &tree, at)) {
        if (!is_listed(tables, at) || !info_is_chosen(&choice, samples[at]))
            continue;
        info_processes_print_row(to, tables, at, samples[at], tree.depth[at]);
        printed++;
    }
    if (printed < count)
        output_format(to, "%29s and %zu more processes (--all shows them)\n", "", count - printed);
    free_tree(&tree);
    free(samples);
}
