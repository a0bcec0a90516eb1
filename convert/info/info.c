/* SPDX-License-Identifier: MIT */
/* pyreel-info: shows what is in a recording, and whether the recording is complete. */
#include "convert/convert.h"

#include "convert/info/info_json.h"
#include "convert/info/info_modules.h"
#include "convert/info/info_processes.h"
#include "convert/info/info_several.h"
#include "convert/info/info_spans.h"
#include "convert/info/info_summary.h"
#include "convert/info/info_table.h"
#include "convert/info/info_tasks.h"
#include "convert/info/info_threads.h"
#include "convert/loss.h"
#include "formats/base/alloc.h"
#include "formats/base/json.h"
#include "formats/base/utf8.h"
#include "formats/model/exactness.h"
#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MEBIBYTE 1048576.0

enum own_option { OPTION_JSON = OPTION_OWN, OPTION_SUMMARY, OPTION_MIN_KEPT, OPTION_VERIFY, OPTION_ALL };

static const struct argument options[] = {
    { OPTION_JSON, 0, "json", NULL, 0, "print JSON" },
    { OPTION_SUMMARY, 0, "summary", NULL, 0, "print one line for each recording" },
    { OPTION_MIN_KEPT, 0, "min-kept", "PERCENT", 0,
      "exit 3 if a recording has fewer of the samples\n"
      "that were due, or of the CPU time: 95%" },
    { OPTION_ALL, 0, "all", NULL, 0, "print all threads, tasks and processes" },
    { OPTION_VERIFY, 0, "verify", NULL, 0, "exit 1 unless every block is right" },
    { 0 },
};

struct info_wanted {
    bool json;
    bool summary;
    bool all;           /* tables have all rows */
    bool has_least;     /* --min-kept was given ... */
    double least_share; /* ... with this share of the samples that were due */
};

static bool info_apply(struct settings *settings, int number, const char *value)
{
    struct info_wanted *wanted = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_JSON:
        return wanted->json = true;
    case OPTION_SUMMARY:
        return wanted->summary = true;
    case OPTION_MIN_KEPT:
        return wanted->has_least = arguments_parse_share(value, 1, &wanted->least_share);
    case OPTION_ALL:
        return wanted->all = true;
    case OPTION_VERIFY:
        return settings->strict = true;
    }
    return false;
}

static const char *info_problem(const struct settings *settings)
{
    const struct info_wanted *wanted = settings->wanted;
    if (wanted->summary && wanted->json)
        return "--summary and --json cannot be used together";
    return NULL;
}

struct info {
    struct conversion *conversion;
    struct accounts accounts;
    struct account account; /* of all processes, when the recording is read */
    uint64_t *cpu_ns;       /* by thread: as the CPU owner placed it */
    size_t cpu_room;
    uint64_t *stack_samples; /* by stack */
    size_t stack_samples_room;
    struct info_spans spans;
    struct info_modules modules; /* when the recording is read */
};

/* Finds the account of all processes. Where samples were left out, the process's clock says nothing of the others. */
static void find_account(struct info *info)
{
    info->account = accounts_of(&info->accounts, &info->conversion->tables, 0);
    info->account.known &= !selection_is_partial(&info->conversion->settings.selection);
}

static void *info_start(struct conversion *conversion)
{
    struct info *info = alloc_zeroed(1, sizeof(*info));
    info->conversion = conversion;
    conversion->tables.sums_states = true;
    return info;
}

static bool info_take(void *self, struct event *event, struct fault *why)
{
    struct info *info = self;
    const uint32_t thread = event->kind == EVENT_RUN ? event->run.thread : 0;
    (void)why;
    if (!thread)
        return true;
    info->cpu_ns = alloc_grow(info->cpu_ns, &info->cpu_room, (size_t)thread + 1, sizeof(*info->cpu_ns));
    info->cpu_ns[thread] += event->run.cpu_ns;
    info_spans_add(&info->spans, &event->run);
    if (event->run.stack != STACK_LOST) {
        info->stack_samples = alloc_grow(info->stack_samples, &info->stack_samples_room, (size_t)event->run.stack + 1,
                                         sizeof(*info->stack_samples));
        info->stack_samples[event->run.stack] += event->run.count;
    }
    accounts_add(&info->accounts, &info->conversion->tables, thread, event->run.stack, event->run.cpu_ns);
    return true;
}

static void info_drop(void *self)
{
    struct info *info = self;
    accounts_free(&info->accounts);
    free(info->cpu_ns);
    free(info->stack_samples);
    info_modules_free(&info->modules);
    info_spans_free(&info->spans);
    free(info);
}

/* The time of an end; null when there was none. */
static json_t *json_end(uint64_t end_ns)
{
    return end_ns ? info_json_seconds(end_ns) : json_null();
}

/* Rounds to 1/10000; null when the value is not known. */
static json_t *json_known(double value)
{
    if (value < 0)
        return json_null();
    return json_real(value < 1e9 ? (double)(uint64_t)(value * 10000 + 0.5) / 10000 : value);
}

/* The CPU time of the recorder; MEASURE_UNKNOWN: not known. Measures of all processes of a recording have it. */
static uint64_t recorder_cpu_ns(const struct tables *tables)
{
    uint64_t most_ns = MEASURE_UNKNOWN;
    for (size_t i = 1; i < tables->processes_count; i++) {
        const struct measures *measures = &tables->processes[i].measures;
        const uint64_t cpu_ns = measures->count ? measures->latest.recorder_cpu_ns : MEASURE_UNKNOWN;
        if (cpu_ns != MEASURE_UNKNOWN && (most_ns == MEASURE_UNKNOWN || cpu_ns > most_ns))
            most_ns = cpu_ns;
    }
    return most_ns;
}

static json_t *info_json_cpu(uint64_t cpu_ns)
{
    return cpu_ns == MEASURE_UNKNOWN ? json_null() : info_json_seconds(cpu_ns);
}

static json_t *failures_json(const struct tables *tables)
{
    json_t *causes = json_object();
    for (int cause = 0; cause < FAILURE_KINDS; cause++)
        if (tables->failures[cause])
            json_object_set_new(causes, event_failure_text((enum failure)cause),
                                info_json_count(tables->failures[cause]));
    return causes;
}

static json_t *counters_json(const struct counters *counters)
{
    json_t *all = json_object();
    for (size_t i = 0; i < counters->count; i++)
        json_object_set_new(all, counters->rows[i].name.bytes, info_json_count(counters->rows[i].value));
    return all;
}

static json_t *damage_json(const struct info *info)
{
    const struct damage *damage = &info->conversion->report.damage;
    return json_pack("{s:I, s:I, s:I, s:b, s:o, s:b, s:s}", "bytes", (json_int_t)damage->bytes, "blocks",
                     (json_int_t)damage->blocks, "duplicates", (json_int_t)damage->duplicates, "cut", (int)damage->cut,
                     "lost_samples", info_json_count(info->conversion->tables.missing), "estimated",
                     (int)info->conversion->tables.missing_estimated, "first", damage->first.text);
}

/* The exit code that a shell would give for the command. -1: there was no command, or it had not ended. */
static int exit_code(const struct end *end)
{
    if (end->reason == 0 || end->wait_status < 0)
        return -1;
    return WIFSIGNALED(end->wait_status) ? 128 + WTERMSIG(end->wait_status) : WEXITSTATUS(end->wait_status);
}

/* The part of the recording that is shown; null: all of the recording. */
static json_t *part_json(const struct selection *part)
{
    if (!selection_is_partial(part))
        return json_null();
    struct text threads = { 0 }; /* a command line may have any bytes */
    if (part->threads)
        threads = utf8_clean(text_of(part->threads));
    json_t *all = json_pack("{s:o, s:o, s:o}", "from_s", info_json_seconds(part->from_ns), "to_s",
                            json_end(part->to_ns), "threads", part->threads ? info_json_text(threads) : json_null());
    text_free(threads);
    return all;
}

static json_t *json_processors(uint32_t count)
{
    return count ? json_integer(count) : json_null();
}

/* For how long a signal or a debugger had stopped the program; null when the recorder did not say. */
static json_t *json_stopped(const struct tables *tables)
{
    return tables->counters.count ? info_json_seconds(counters_get(&tables->counters, "stopped_ns")) : json_null();
}

static json_t *info_json(const struct info *info)
{
    const struct source_report *report = &info->conversion->report;
    const struct tables *tables = &info->conversion->tables;
    const struct recording *recording = &tables->recording;
    const struct process *process = tables_first_process(tables);
    const struct exactness exactness = exactness_of(tables);
    char version[32], started[32];
    json_t *all = json_object();
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        { "format", json_string(report->format) },
        { "version", json_integer(INFO_JSON_VERSION) },
        { "format_version", json_integer(recording->format_version) },
        { "pyreel_version", info_json_text(recording->pyreel_version) },
        { "part", part_json(&info->conversion->settings.selection) },
        { "files", json_integer(report->parts ? report->parts : 1) },
        { "files_missing", json_integer(report->missing) },
        { "files_before", json_integer(report->before) },
        { "complete", json_boolean(report->complete) },
        { "ended", json_string(report->ending) },
        { "exit_code", exit_code(&tables->end) < 0 ? json_null() : json_integer(exit_code(&tables->end)) },
        { "samples", info_json_count(tables->samples) },
        { "ticks", info_json_count(tables->ticks) },
        { "missed", info_json_count(tables->missed) },
        { "failed", info_json_count(tables->failed) },
        { "failures", failures_json(tables) },
        { "left_out", info_json_count(tables->left_out) },
        { "duration_s", info_json_seconds(tables_duration_ns(tables)) },
        { "rate_hz", json_real(1e9 / (double)recording->interval_ns) },
        { "reached_hz", json_known(exactness.reached_hz) },
        { "exact_percent", json_known(exactness.exact_percent) },
        { "kept_percent", json_known(exactness.kept_percent) },
        { "stopped_s", json_stopped(tables) },
        { "disturb_percent", json_known(exactness.taken_percent) },
        { "mode", info_json_text(recording->mode) },
        { "threads_option", info_json_text(recording->threads_option) },
        { "bytes", info_json_count(report->bytes) },
        { "blocks", info_json_count(report->blocks) },
        { "plain_bytes", info_json_count(report->plain_bytes) },
        { "stacks", info_json_count(tables_stacks(tables)) },
        { "functions", info_json_count(tables_functions(tables)) },
        { "instructions", json_boolean(tables_have_instructions(tables)) },
        { "python", json_string(process->number ? event_python_version_text(version, process->python_version) : "") },
        { "command", info_json_text(process->command) },
        { "recorder_command", info_json_text(recording->command) },
        { "attached", json_boolean(recording->attached) },
        { "started", json_string(event_date_text(started, recording->start_unix_ns)) },
        { "start_unix_ns", info_json_count(recording->start_unix_ns) },
        { "host", info_json_text(recording->host) },
        { "kernel", info_json_text(recording->kernel) },
        { "machine", info_json_text(recording->machine) },
        { "processors", json_processors(recording->processors) },
        { "cores", json_processors(recording->cores) },
        { "recorder_cpu_s", info_json_cpu(recorder_cpu_ns(tables)) },
        { "processes", info_processes_json(tables, &info->accounts) },
        { "threads", info_threads_json(tables) },
        { "tasks", info_tasks_json(tables) },
        { "modules", info_modules_json(&info->modules, tables) },
        { "damage", damage_json(info) },
    };
    for (size_t i = 0; i < countof(members); i++)
        json_object_set_new(all, members[i].key, members[i].value);
    info_json_put_account(all, &info->account);
    json_t *spans = info_spans_json(&info->spans);
    if (spans)
        json_object_set_new(all, "spans", spans);
    if (tables->counters.count > 0)
        json_object_set_new(all, "figures", counters_json(&tables->counters));
    return all;
}

/* Prints the object, and frees it. */
static void print_json(struct output *to, json_t *all)
{
    json_dump_callback(all, json_dump_printable, to, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    output_string(to, "\n");
    json_decref(all);
}

/* ---- text ---- */

static void info_print_line(struct output *to, const char *label, struct text text)
{
    output_format(to, "%-11s ", label);
    printable_write(to, text);
    output_string(to, "\n");
}

static void print_program(struct output *to, const struct info *info)
{
    const struct source_report *report = &info->conversion->report;
    const struct tables *tables = &info->conversion->tables;
    const struct info_wanted *wanted = info->conversion->settings.wanted;
    const struct recording *recording = &tables->recording;
    const struct process *process = tables_first_process(tables);
    char version[32], started[32];
    const size_t programs = tables_count_roots(tables);
    if (programs > 1)
        output_format(to, "%-11s %zu, in %zu processes; the first:\n", "programs", programs,
                      tables_count_programs(tables));
    if (process->command.size > 0)
        info_print_line(to, "command", process->command);
    if (process->number) {
        output_format(to, "%-11s CPython %s", "python", event_python_version_text(version, process->python_version));
        info_print_build(to, process);
        output_format(to, ", pid %" PRIu32 "\n", process->pid);
    }
    if (report->undated_by) {
        output_format(to, "%-11s %s\n", "recorded", report->undated_by);
        return;
    }
    info_processes_print_lines(to, tables, wanted->all);
    output_format(to, "%-11s %s on ", "recorded", event_date_text(started, recording->start_unix_ns));
    printable_write(to, recording->host);
    output_string(to, ", ");
    printable_write(to, recording->machine);
    output_string(to, ", pyreel ");
    printable_write(to, recording->pyreel_version);
    output_format(to, ", stream version %" PRIu32 "\n", recording->format_version);
}

static void print_moment(struct output *to, const char *word, uint64_t time_ns, double share)
{
    if (share > 0)
        output_format(to, " %s %g %%", word, share * 100);
    else
        output_format(to, " %s %.3f s", word, info_seconds(time_ns));
}

/* Says which part of the recording is shown; nothing: all of the recording. */
static void print_part(struct output *to, const struct selection *part)
{
    if (!selection_is_partial(part))
        return;
    output_format(to, "%-11s", "part");
    print_moment(to, "from", part->from_ns, part->from_share);
    if (part->to_ns || part->to_share > 0)
        print_moment(to, "to", part->to_ns, part->to_share);
    else
        output_string(to, " to the end");
    output_format(to, ", threads %s\n", part->threads ? utf8_shown(part->threads) : "all");
}

static void print_size(struct output *to, const struct info *info)
{
    const struct tables *tables = &info->conversion->tables;
    const struct source_report *report = &info->conversion->report;
    output_format(to, "%-11s %" PRIu64 " bytes", "size", report->bytes);
    if (report->blocks > 0)
        output_format(to, " in %" PRIu64 " blocks", report->blocks);
    if (tables->samples && !selection_is_partial(&info->conversion->settings.selection))
        output_format(to, ", %.2f per sample (%.2f before compression)",
                      (double)report->bytes / (double)tables->samples,
                      (double)report->plain_bytes / (double)tables->samples);
    output_format(to, "; %" PRIu64 " stacks, %" PRIu64 " functions\n", tables_stacks(tables), tables_functions(tables));
}

static void print_damage(struct output *to, const struct info *info)
{
    const struct damage *damage = &info->conversion->report.damage;
    const struct tables *tables = &info->conversion->tables;
    if (!loss_is_damage(&info->conversion->report, tables))
        return;
    output_format(to, "%-11s %" PRIu64 " bytes skipped, %s%" PRIu64 " samples lost", "damage", damage->bytes,
                  tables->missing_estimated ? "about " : "", tables->missing);
    if (damage->first.text[0])
        output_format(to, "; first problem: %s", damage->first.text);
    output_string(to, "\n");
}

/* Prints the numbers of ticks and samples, how many samples are exact, and how many are missing. */
static void print_exactness(struct output *to, const struct tables *tables)
{
    static const struct {
        const char *label;
        const char *(*words)(char *room, const struct exactness *exactness);
    } lines[] = { { "rate", exactness_rate }, { "exact", exactness_share }, { "missed", exactness_missed } };
    const struct exactness exactness = exactness_of(tables);
    char room[EXACTNESS_ROOM];
    for (size_t i = 0; i < countof(lines); i++)
        if (lines[i].words(room, &exactness)[0])
            output_format(to, "%-11s %s\n", lines[i].label, room);
}

/* Says for how long the program stood still, and why. */
static void print_stands(struct output *to, const struct tables *tables)
{
    char room[EXACTNESS_ROOM];
    for (enum exactness_stand stand = 0; stand < STANDS; stand++)
        if (exactness_stand(room, tables, stand)[0])
            output_format(to, "%-11s %s\n", exactness_stand_labels[stand], room);
}

/* Prints what the program and the recorder used, by the measures. info_processes.h has the memory of several. */
static void print_uses(struct output *to, const struct info *info)
{
    const struct tables *tables = &info->conversion->tables;
    const struct account *account = &info->account;
    char room[ACCOUNT_ROOM];
    const uint64_t recorder_ns = recorder_cpu_ns(tables), duration_ns = tables_duration_ns(tables);
    const struct measures *measures = tables->processes_count == 2 ? &tables->processes[1].measures : NULL;
    if (measures && measures->count && measures->most_resident_bytes != MEASURE_UNKNOWN)
        output_format(to, "%-11s %.1f MiB at most\n", "memory", (double)measures->most_resident_bytes / MEBIBYTE);
    if (account->known)
        output_format(to, "%-11s %.3f s: %s\n", "CPU", info_seconds(account->cpu_ns), account_text(room, account));
    if (recorder_ns != MEASURE_UNKNOWN && duration_ns)
        output_format(to, "%-11s %.3f s of CPU, %.1f %% of a processor\n", "recorder", info_seconds(recorder_ns),
                      (double)recorder_ns * 100 / (double)duration_ns);
}

/* Says of how many files the recording is made. */
static void print_files(struct output *to, const struct source_report *report)
{
    if (report->parts == 0)
        return;
    output_format(to, "%-11s %" PRIu32, "files", report->parts);
    if (report->before)
        output_format(to, "; %" PRIu32 " in front of the first %s not there", report->before,
                      report->before == 1 ? "is" : "are");
    if (report->missing)
        output_format(to, "; %" PRIu32 " in between %s missing", report->missing, report->missing == 1 ? "is" : "are");
    output_string(to, "\n");
}

static void print_totals(struct output *to, const struct info *info)
{
    const struct tables *tables = &info->conversion->tables;
    print_part(to, &info->conversion->settings.selection);
    output_format(to, "%-11s %.3f s at %g Hz, mode ", "duration", info_seconds(tables_duration_ns(tables)),
                  1e9 / (double)tables->recording.interval_ns);
    printable_write(to, tables->recording.mode);
    output_format(to,
                  "\n%-11s %" PRIu64 " in %" PRIu64 " ticks; %" PRIu64 " ticks missed, %" PRIu64 " samples failed\n",
                  "samples", tables->samples, tables->ticks, tables->missed, tables->failed);
    for (int cause = 0; cause < FAILURE_KINDS; cause++)
        if (tables->failures[cause])
            output_format(to, "%-11s   %" PRIu64 " %s\n", "", tables->failures[cause],
                          event_failure_text((enum failure)cause));
    print_files(to, &info->conversion->report);
    print_exactness(to, tables);
    print_stands(to, tables);
    if (tables->left_out)
        output_format(to, "%-11s %" PRIu64 " samples of threads that did not match the mode\n", "left out",
                      tables->left_out);
    if (info_tasks_count(tables))
        output_format(to, "%-11s %" PRIu64 " tasks of asyncio, and labels of the program\n", "tasks",
                      info_tasks_count(tables));
    info_spans_print(to, &info->spans);
    print_uses(to, info);
    print_size(to, info);
    if (tables_have_instructions(tables))
        output_format(to, "%-11s recorded (the instruction of each frame)\n", "opcodes");
    const struct source_report *report = &info->conversion->report;
    output_format(to, "%-11s %s: %s", "complete", report->complete ? "yes" : "no", report->ending);
    if (exit_code(&tables->end) >= 0)
        output_format(to, ", exit code %d", exit_code(&tables->end));
    output_string(to, "\n");
    print_damage(to, info);
}

/* Prints the counters of the recorder. */
static void print_counters(struct output *to, const struct counters *counters)
{
    if (counters->count > 0)
        output_string(to, "\ncounters\n");
    for (size_t i = 0; i < counters->count; i++) {
        char *line = counters_line(counters, i);
        output_format(to, "  %s\n", line);
        free(line);
    }
}

/* Threads have the CPU time that was placed: that of <not sampled> is what is left. */
static void take_placed(const struct info *info)
{
    struct tables *tables = &info->conversion->tables;
    for (size_t i = 1; i < tables->threads_count; i++)
        tables->threads[i].cpu_ns = i < info->cpu_room ? info->cpu_ns[i] : 0;
}

static bool info_finish(void *self, struct fault *why)
{
    struct info *info = self;
    struct output *to = &info->conversion->output;
    const struct info_wanted *wanted = info->conversion->settings.wanted;
    take_placed(info);
    find_account(info);
    if (wanted->json || !(wanted->summary || info->conversion->list))
        info->modules = info_modules_of(&info->conversion->tables, info->stack_samples, info->stack_samples_room);
    const struct account *account = &info->account;
    const bool enough = !wanted->has_least || info_summary_keeps(info->conversion, account, wanted->least_share);
    if (info->conversion->list) {
        ((struct info_several *)info->conversion->list)->too_few |= !enough;
        return info_several_add(info->conversion->list, info->conversion, account,
                                wanted->json ? info_json(info) : NULL, why);
    }
    info->conversion->refusal = enough ? 0 : INFO_TOO_FEW_KEPT;
    if (wanted->summary) {
        struct bytes line = { 0 };
        info_summary_put(&line, info->conversion, account);
        output_bytes(to, line.at, line.size);
        bytes_free(&line);
        return true;
    }
    if (wanted->json) {
        print_json(to, info_json(info));
        return true;
    }
    print_program(to, info);
    print_totals(to, info);
    info_processes_print_tree(to, &info->conversion->tables, wanted->all);
    info_threads_print(to, &info->conversion->tables, wanted->all);
    info_tasks_print(to, &info->conversion->tables, wanted->all);
    info_modules_print(to, &info->modules, &info->conversion->tables, wanted->all);
    print_counters(to, &info->conversion->tables.counters);
    return true;
}

/* The line of --summary begins with the name of the recording, so words in the middle tell. */
static bool is_summary(struct text head)
{
    const char *end = memchr(head.bytes, '\n', head.size);
    const size_t size = end ? (size_t)(end - head.bytes) : head.size;
    return memmem(head.bytes, size, " sample", 7) && memmem(head.bytes, size, "complete", 8);
}

/* The first lines of the text begin with these words, and JSON with these members. */
static bool info_recognises(struct text head)
{
    const struct text starts[] = {
        TEXT("command "),  TEXT("python "), TEXT("process "),          TEXT("recorded "),
        TEXT("part "),     TEXT("file "),   TEXT("{\n  \"format\": "), TEXT("{\n  \"recordings\": "),
        TEXT("programs "),
    };
    for (size_t i = 0; i < countof(starts); i++)
        if (text_begins(head, starts[i]))
            return true;
    return is_summary(head);
}

/* ---- several recordings ---- */

static void *start_list(void)
{
    return alloc_zeroed(1, sizeof(struct info_several));
}

static void add_failed(void *list, const char *path, const char *reason)
{
    info_several_add_failed(list, path, reason);
}

static uint64_t info_write_list(void *list, struct conversion *conversion)
{
    const struct info_wanted *wanted = conversion->settings.wanted;
    const struct info_several *several = list;
    conversion->refusal = several->too_few ? INFO_TOO_FEW_KEPT : 0;
    if (wanted->json) {
        print_json(&conversion->output, info_several_json(list));
    } else if (wanted->summary) {
        info_several_print_summaries(&conversion->output, list);
    } else {
        print_part(&conversion->output, &conversion->settings.selection);
        info_several_print(&conversion->output, list);
    }
    return info_several_samples(list);
}

static void drop_list(void *list)
{
    info_several_free(list);
    free(list);
}

int main(int argc, char **argv)
{
    static const struct listing listing = {
        .start = start_list,
        .add_failed = add_failed,
        .write = info_write_list,
        .drop = drop_list,
    };
    static const struct converter info = {
        .name = "pyreel-info",
        .makes = "Shows what a recording contains, and whether it is complete.",
        .takes = TAKES_SELECTION,
        .listing = &listing,
        .options.rows = options,
        .options.size = sizeof(struct info_wanted),
        .options.apply = info_apply,
        .options.problem = info_problem,
        .options.exits = "            3 a recording has fewer samples than --min-kept asks for.",
        .file.recognises = info_recognises,
        .events.runs = true,
        .events.places_cpu = true,
        .events.take = info_take,
        .start = info_start,
        .finish = info_finish,
        .drop = info_drop,
    };
    return convert_main(argc, argv, &info);
}
