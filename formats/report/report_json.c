/* SPDX-License-Identifier: MIT */
#include "formats/report/report_json.h"

#include "formats/base/alloc.h"
#include "formats/base/json.h"
#include "formats/model/exactness.h"
#include "formats/model/program_name.h"

#include <stdlib.h>

#define FORMAT_VERSION 1
#define NANO           9 /* digits of nanoseconds behind the point */

/* ---- values ---- */

static void emit_seconds(struct json_emitter *json, const char *key, uint64_t ns)
{
    emit_decimal(json, key, ns, NANO);
}

/* An amount of the weight. */
static void emit_amount(struct json_emitter *json, const char *key, const struct report *report, uint64_t amount)
{
    if (report->weight == SUM_SAMPLES)
        emit_integer(json, key, (int64_t)amount);
    else
        emit_seconds(json, key, amount);
}

/* A value of exactness.h; null when it is not known. */
static void emit_known(struct json_emitter *json, const char *key, double value)
{
    if (value < 0)
        emit_literal(json, key, "null");
    else
        emit_decimal(json, key, value < 1e12 ? (uint64_t)(value * 10000 + 0.5) : 0, 4);
}

/* All sums by the names of the weights; null where a sum is not known. */
static void report_emit_sums(struct json_emitter *json, const struct report *report, const uint64_t *sums)
{
    char key[32];
    emit_integer(json, sum_rows[SUM_SAMPLES].name, (int64_t)sums[SUM_SAMPLES]);
    for (enum aggregate_sum sum = SUM_WALL_NS; sum < SUMS; sum++) {
        snprintf(key, sizeof(key), "%s_s", sum_rows[sum].name);
        if (aggregate_knows(report->all, sum))
            emit_seconds(json, key, sums[sum]);
        else
            emit_literal(json, key, "null");
    }
}

/* ---- parts ---- */

/* The account of CPU time; null where it is not known. */
static void emit_account(struct json_emitter *json, const struct report *report, const struct report_origin *origin)
{
    struct account_part parts[ACCOUNT_PARTS];
    account_parts(&report->account, parts);
    for (size_t i = 0; i < ACCOUNT_PARTS; i++)
        if (report_knows_account(report, origin))
            emit_seconds(json, parts[i].key, parts[i].ns);
        else
            emit_literal(json, parts[i].key, "null");
}

static void emit_recording(struct json_emitter *json, const struct report *report, const struct report_origin *origin)
{
    const struct tables *tables = report->tables;
    const struct process *process = tables_first_process(tables);
    const struct exactness exactness = exactness_of(tables);
    char version[32], started[32];
    emit_open(json, "recording", '{');
    emit_integer(json, "recordings", (int64_t)origin->recordings);
    emit_text(json, "command", process->command);
    emit_text_or_null(json, "python",
                      process->number ? text_of(event_python_version_text(version, process->python_version))
                                      : (struct text){ "", 0 });
    emit_text_or_null(json, "started", text_of(event_date_text(started, tables->recording.start_unix_ns)));
    emit_seconds(json, "duration_s", tables_duration_ns(tables));
    emit_text(json, "mode", tables->recording.mode);
    emit_flag(json, "complete", origin->complete);
    emit_integer(json, "ticks", (int64_t)tables->ticks);
    emit_integer(json, "missed", (int64_t)tables->missed);
    emit_integer(json, "failed", (int64_t)tables->failed);
    emit_known(json, "rate_hz", exactness.asked_hz);
    emit_known(json, "reached_hz", exactness.reached_hz);
    emit_known(json, "exact_percent", exactness.exact_percent);
    emit_known(json, "disturb_percent", exactness.taken_percent);
    emit_account(json, report, origin);
    emit_close(json, '}');
}

static void report_emit_weight(struct json_emitter *json, const struct report *report)
{
    emit_open(json, "weight", '{');
    emit_text(json, "name", text_of(sum_rows[report->weight].name));
    emit_text(json, "unit", text_of(report->weight == SUM_SAMPLES ? "samples" : "s"));
    emit_flag(json, "without_waits", report->without_waits);
    emit_integer(json, "known_samples", (int64_t)aggregate_known(report->all, report->weight));
    emit_amount(json, "all", report, report->whole);
    emit_close(json, '}');
}

static void report_emit_groups(struct json_emitter *json, const struct report *report)
{
    emit_open(json, "groups", '[');
    for (size_t i = 0; i < report->groups_count; i++) {
        const struct report_group *group = &report->groups[i];
        emit_open(json, NULL, '{');
        emit_text(json, "name", group->name);
        emit_text(json, "process", group->from->process);
        emit_text_or_null(json, "thread", group->from->thread);
        emit_text_or_null(json, "task", group->from->task);
        emit_integer(json, "pid", group->from->pid);
        emit_integer(json, "tid", group->from->tid);
        emit_integer(json, "threads", (int64_t)group->from->threads);
        report_emit_sums(json, report, group->from->sums);
        emit_known(json, "waited", group->waited);
        emit_flag(json, "quiet", group->quiet);
        emit_close(json, '}');
    }
    emit_close(json, ']');
}

static void emit_row(struct json_emitter *json, const struct report *report, const struct report_section *section,
                     const struct report_row *row)
{
    emit_open(json, NULL, '{');
    if (section->kind == SECTION_SOURCE)
        emit_text(json, "text", row->name);
    else
        emit_text(json, "name", row->name);
    if (row->file.size)
        emit_text(json, "file", row->file);
    if (row->path.size && section->kind != SECTION_SOURCE)
        emit_text(json, "path", row->path);
    if (row->line || section->kind == SECTION_SOURCE)
        emit_integer(json, "line", row->line);
    if (row->kind)
        emit_text(json, "kind", text_of(row->kind));
    if (section->columns & COLUMN_SELF)
        emit_amount(json, "self", report, row->self);
    if (section->columns & COLUMN_TOTAL)
        emit_amount(json, "total", report, row->total);
    if (section->columns & COLUMN_WAITS)
        emit_amount(json, "waited", report, row->waits);
    if (section->kind == SECTION_TREE)
        emit_integer(json, "parent", (int64_t)row->parent - 1);
    emit_close(json, '}');
}

static void emit_sections(struct json_emitter *json, const struct report *report)
{
    emit_open(json, "sections", '[');
    for (size_t i = 0; i < report->sections_count; i++) {
        const struct report_section *section = &report->sections[i];
        emit_open(json, NULL, '{');
        emit_text(json, "what", text_of(section->what));
        emit_text(json, "title", section->title);
        emit_text(json, "rows_are", text_of(section->rows_are));
        emit_text(json, "sorted_by", text_of(section->sort == SORT_TOTAL ? "total" : "self"));
        if (section->group)
            emit_integer(json, "group", (int64_t)section->group - 1);
        else
            emit_literal(json, "group", "null");
        emit_amount(json, "all", report, section->whole);
        emit_open(json, "rows", '[');
        for (size_t j = 0; j < section->count; j++)
            emit_row(json, report, section, &section->rows[j]);
        emit_close(json, ']');
        emit_integer(json, "left_out", (int64_t)section->left_out);
        emit_text_or_null(json, "note", section->note);
        emit_close(json, '}');
    }
    emit_close(json, ']');
}

bool report_json(struct output *to, const struct report *report, const struct report_origin *origin, struct fault *why)
{
    struct json_emitter json = { .to = to };
    uint64_t sums[SUMS];
    report_sum_up(report, sums);
    emit_open(&json, NULL, '{');
    emit_text(&json, "format", TEXT("pyreel-report"));
    emit_integer(&json, "version", FORMAT_VERSION);
    emit_recording(&json, report, origin);
    report_emit_weight(&json, report);
    emit_open(&json, "totals", '{');
    report_emit_sums(&json, report, sums);
    emit_close(&json, '}');
    report_emit_groups(&json, report);
    emit_sections(&json, report);
    emit_close(&json, '}');
    output_string(to, "\n");
    return !json.bad || fault(why, "a text of the recording is no UTF-8");
}
