/* SPDX-License-Identifier: MIT */
#include "formats/gecko/diff/diff.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_cpu.h"
#include "formats/gecko/gecko_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define PID "0.0" /* no process has it: the suffix of a pid that was used again is 1 or more */

static const char *const side_names[SIDES] = { "BASE", "NEW" };

/* ---- the two recordings ---- */

void diff_take_recording(struct gecko *gecko, const struct tables *recording, struct text name)
{
    struct diff *diff = &gecko->diff;
    if (diff->read == SIDES)
        return;
    char *label; /* both recordings may have one name */
    const int size = asprintf(&label, "%s %.*s", side_names[diff->read], (int)name.size, name.bytes);
    if (size >= 0) {
        gecko_extra_add(&gecko->extra, recording, (struct text){ label, (size_t)size });
        free(label);
    }
    diff->sides[diff->read++] = (struct diff_side){
        .name = alloc_copy(name.bytes, name.size),
        .processes = gecko->tables->processes_count,
        .python_version = tables_first_process(recording)->python_version,
        .host = alloc_copy(recording->recording.host.bytes, recording->recording.host.size),
        .whole = !recording->recording.attached && recording->end.reason == END_TARGET,
    };
}

enum side diff_side_of(const struct diff *diff, uint32_t process)
{
    return process < diff->sides[SIDE_BASE].processes ? SIDE_BASE : SIDE_NEW;
}

/* ---- the sums ---- */

struct summing {
    struct diff *diff;
    enum side side;
};

static void add_sample(void *self, uint32_t code, uint64_t ns)
{
    const struct summing *summing = self;
    struct diff_side *side = &summing->diff->sides[summing->side];
    const uint32_t leaf = code & ((1u << GECKO_LEAF_BITS) - 1);
    side->samples++;
    side->all_ns += (double)ns;
    side->work_ns += leaf == LEAF_IDLE || leaf == LEAF_WAITING ? 0 : (double)ns;
    differences_add(&summing->diff->differences, summing->side, code, ns);
}

static void sum_up(struct gecko *gecko)
{
    const bool by_cpu = gecko->style.weight == GECKO_WEIGHT_CPU;
    struct gecko_cpu_writer readers = { 0 };
    for (uint32_t i = 1; i < gecko->threads_room; i++) {
        if (gecko_samples(gecko, i)->count == 0)
            continue;
        struct summing summing = { &gecko->diff, diff_side_of(&gecko->diff, gecko_lines_thread(gecko, i)->process) };
        gecko->diff.sides[summing.side].cpu_known |= gecko_thread(gecko, i)->cpu.count > 0;
        if (by_cpu)
            gecko_cpu_each(gecko, i, &readers, add_sample, &summing);
        else
            gecko_weights_each(gecko, i, &readers.samples, &readers.placed, add_sample, &summing);
    }
    gecko_cpu_writer_free(&readers);
}

/* Whole runs are compared as they are. Other recordings ended when somebody wanted, so their lengths say nothing. */
static bool is_by_work(const struct gecko *gecko)
{
    const struct diff_side *sides = gecko->diff.sides;
    if (gecko->style.scale != GECKO_SCALE_USUAL)
        return gecko->style.scale == GECKO_SCALE_WORK;
    return !sides[SIDE_BASE].whole || !sides[SIDE_NEW].whole;
}

/* By work: the work; the time of all samples if only one recording worked, or none. */
static double factor_of(const struct diff *diff)
{
    const struct diff_side *base = &diff->sides[SIDE_BASE], *new = &diff->sides[SIDE_NEW];
    if (!diff->by_work)
        return 1;
    if (base->work_ns > 0 && new->work_ns > 0)
        return new->work_ns / base->work_ns;
    return base->all_ns > 0 && new->all_ns > 0 ? new->all_ns / base->all_ns : 1;
}

/* Why the recordings cannot be compared; true: they can. */
static bool check(const struct gecko *gecko, struct fault *why)
{
    const struct diff *diff = &gecko->diff;
    for (size_t i = 0; i < SIDES; i++) {
        if (diff->sides[i].samples == 0)
            return fault(why, "%s has no samples to compare", side_names[i]);
        if (gecko->style.weight == GECKO_WEIGHT_CPU && !diff->sides[i].cpu_known)
            return fault(why, "%s does not say how much CPU time its samples used; use --weight wall", side_names[i]);
    }
    return true;
}

bool diff_settle(struct gecko *gecko, struct fault *why)
{
    struct diff *diff = &gecko->diff;
    if (diff->read < SIDES)
        return fault(why, "--diff compares two recordings, and %s could not be read to its end",
                     side_names[diff->read]);
    sum_up(gecko);
    if (!check(gecko, why))
        return false;
    diff->by_work = is_by_work(gecko);
    diff->factor = factor_of(diff);
    differences_settle(&diff->differences, gecko->tables, diff->factor);
    for (size_t i = 0; i < diff->differences.count; i++) {
        const double more_ns = (double)diff->differences.rows[i].more_ns;
        diff->slower_ns += more_ns > 0 ? more_ns : 0;
        diff->faster_ns += more_ns < 0 ? -more_ns : 0;
    }
    if (asprintf(&diff->title, "%s compared with %s", diff->sides[SIDE_NEW].name, diff->sides[SIDE_BASE].name) < 0)
        diff->title = NULL;
    return true;
}

/* ---- the line ---- */

static void emit_stacks(struct gecko *gecko)
{
    const struct differences *differences = &gecko->diff.differences;
    emit_open(&gecko->json, "stack", '[');
    for (size_t i = 0; i < differences->count; i++)
        emit_integer(&gecko->json, NULL, gecko_leaves_row(gecko, differences->rows[i].code));
    emit_close(&gecko->json, ']');
}

/* A share of a time, which may be any. */
static uint64_t share_ns(uint64_t time_ns, double share)
{
    const double ns = (double)time_ns * share;
    return ns < (double)time_ns ? (uint64_t)ns : time_ns;
}

/* Writes the times. Each sample lasts for its share of the window, and is at least a nanosecond later than the one
 * before. */
static void emit_times(struct gecko *gecko)
{
    const struct diff *diff = &gecko->diff;
    const struct differences *differences = &diff->differences;
    const uint64_t from_ns = gecko->tables->recording.from_ns;
    const uint64_t window_ns = gecko->end_ns > from_ns ? gecko->end_ns - from_ns : 0;
    const uint64_t room_ns = window_ns > differences->count ? window_ns - differences->count : 0;
    const double all_ns = diff->slower_ns + diff->faster_ns;
    uint64_t before_ns = 0;
    double passed_ns = 0;
    emit_open(&gecko->json, gecko->style.compact ? "timeDeltas" : "time", '[');
    for (size_t i = 0; i < differences->count; i++) {
        const uint64_t time_ns = from_ns + share_ns(room_ns, passed_ns / all_ns) + i;
        gecko_emit_ms(&gecko->json, NULL, gecko->style.compact ? time_ns - before_ns : time_ns);
        passed_ns += (double)llabs(differences->rows[i].more_ns);
        before_ns = time_ns;
    }
    emit_close(&gecko->json, ']');
}

static void emit_weights(struct gecko *gecko)
{
    const struct differences *differences = &gecko->diff.differences;
    emit_open(&gecko->json, "weight", '[');
    for (size_t i = 0; i < differences->count; i++) {
        char text[48];
        const uint64_t ns = (uint64_t)llabs(differences->rows[i].more_ns);
        snprintf(text, sizeof(text), "%s%" PRIu64 ".%06" PRIu64, differences->rows[i].more_ns < 0 ? "-" : "",
                 ns / 1000000, ns % 1000000);
        emit_literal(&gecko->json, NULL, text);
    }
    emit_close(&gecko->json, ']');
}

void diff_emit_line(struct gecko *gecko, const struct gecko_line *line)
{
    struct json_emitter *json = &gecko->json;
    emit_text(json, "name", text_of(line->name));
    emit_literal(json, "isMainThread", "true");
    emit_literal(json, "processType", "\"default\"");
    emit_text(json, "processName", text_of(line->name));
    emit_literal(json, "pid", "\"" PID "\"");
    emit_integer(json, "tid", 0);
    emit_literal(json, "processStartupTime", "0");
    emit_literal(json, "processShutdownTime", "null");
    emit_literal(json, "registerTime", "0");
    emit_literal(json, "unregisterTime", "null");
    emit_literal(json, "pausedRanges", "[]");
    emit_literal(json, "showMarkersInTimeline", "false");
    emit_open(json, "samples", '{');
    emit_stacks(gecko);
    emit_times(gecko);
    emit_weights(gecko);
    emit_literal(json, "weightType", "\"tracing-ms\"");
    emit_integer(json, "length", (int64_t)gecko->diff.differences.count);
    emit_close(json, '}');
    gecko_markers_emit(gecko, line);
}

/* ---- what is said of it ---- */

static json_t *text_row(const char *label, json_t *value)
{
    return json_pack("{s:s, s:s, s:o}", "label", label, "format", "string", "value", value);
}

static json_t *side_row(const struct gecko *gecko, enum side number)
{
    const struct diff_side *side = &gecko->diff.sides[number];
    const double factor = number == SIDE_BASE ? -gecko->diff.factor : 1;
    return text_row(side_names[number],
                    json_sprintf("%s: %" PRIu64 " samples, %.3f s, %.3f s of them work; each counts %.4g", side->name,
                                 side->samples, side->all_ns / 1e9, side->work_ns / 1e9, factor));
}

json_t *diff_section(const struct gecko *gecko)
{
    const struct diff *diff = &gecko->diff;
    json_t *rows = json_array();
    json_array_append_new(rows, side_row(gecko, SIDE_BASE));
    json_array_append_new(rows, side_row(gecko, SIDE_NEW));
    json_array_append_new(rows, text_row("Scaled by", json_string(diff->by_work ? "work" : "time")));
    json_array_append_new(rows, text_row("Slower stacks", json_sprintf("%.3f s more", diff->slower_ns / 1e9)));
    json_array_append_new(rows, text_row("Faster stacks", json_sprintf("%.3f s less", diff->faster_ns / 1e9)));
    return json_pack("{s:s, s:o}", "label", "Comparison", "entries", rows);
}

void diff_free(struct diff *diff)
{
    for (size_t i = 0; i < SIDES; i++) {
        free(diff->sides[i].name);
        free(diff->sides[i].host);
    }
    free(diff->title);
    differences_free(&diff->differences);
}
