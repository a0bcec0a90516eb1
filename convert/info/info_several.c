/* SPDX-License-Identifier: MIT */
#include "convert/info/info_several.h"

#include "convert/info/info_json.h"
#include "convert/info/info_summary.h"
#include "convert/info/info_threads.h"
#include "convert/inputs.h"
#include "convert/loss.h"
#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of a recording that add up. */
struct list_sums {
    uint64_t duration_ns, samples, ticks, threads, missed, failed, bytes;
};

struct info_row {
    const char *path;
    struct text reason; /* why the recording cannot be shown; empty: the recording is shown */
    struct identity identity;
    uint64_t interval_ns;
    struct list_sums sums;
    bool complete, damaged;
    struct bytes summary; /* the line of --summary */
    json_t *json;         /* NULL: the output is text */
};

static struct info_row *info_several_add_row(struct info_several *several, const char *path)
{
    several->rows = alloc_grow(several->rows, &several->room, several->count + 1, sizeof(*several->rows));
    struct info_row *row = &several->rows[several->count++];
    *row = (struct info_row){ .path = path };
    return row;
}

static bool info_several_is_shown(const struct info_row *row)
{
    return row->reason.size == 0;
}

/* The row that has the recording already; NULL: none. */
static const struct info_row *find_twin(const struct info_several *several, const struct identity *identity)
{
    for (size_t i = 0; i < several->count; i++)
        if (info_several_is_shown(&several->rows[i]) && identity_equal(&several->rows[i].identity, identity))
            return &several->rows[i];
    return NULL;
}

bool info_several_add(struct info_several *several, const struct conversion *conversion, const struct account *account,
                      json_t *json, struct fault *why)
{
    const struct tables *tables = &conversion->tables;
    const struct source_report *report = &conversion->report;
    const struct identity identity = identity_of(tables);
    const struct info_row *twin = find_twin(several, &identity);
    if (twin) {
        text_free(identity.host);
        json_decref(json);
        return fault(why, "it is the same recording as %s", twin->path);
    }
    struct info_row *row = info_several_add_row(several, conversion->settings.input);
    row->identity = identity;
    row->json = json;
    info_summary_put(&row->summary, conversion, account);
    row->interval_ns = tables->recording.interval_ns;
    row->complete = report->complete;
    row->damaged = loss_is_damage(report, tables);
    row->sums = (struct list_sums){
        .duration_ns = tables_duration_ns(tables),
        .samples = tables->samples,
        .ticks = tables->ticks,
        .threads = info_threads_count(tables),
        .missed = tables->missed,
        .failed = tables->failed,
        .bytes = report->bytes,
    };
    return true;
}

void info_several_add_failed(struct info_several *several, const char *path, const char *reason)
{
    struct info_row *row = info_several_add_row(several, path);
    row->reason = utf8_clean(text_of(reason)); /* the path in it may have any bytes */
    info_summary_put_failed(&row->summary, path, row->reason);
}

/* The totals of the recordings that can be shown, ... */
static struct list_sums add_up(const struct info_several *several)
{
    struct list_sums all = { 0 };
    for (size_t i = 0; i < several->count; i++) {
        const struct list_sums *sums = &several->rows[i].sums;
        all.duration_ns += sums->duration_ns;
        all.samples += sums->samples;
        all.ticks += sums->ticks;
        all.threads += sums->threads;
        all.missed += sums->missed;
        all.failed += sums->failed;
        all.bytes += sums->bytes;
    }
    return all;
}

/* ... and how many there are, of all and of those that are whole. */
static size_t count_shown(const struct info_several *several, size_t *whole)
{
    size_t shown = 0;
    *whole = 0;
    for (size_t i = 0; i < several->count; i++) {
        const struct info_row *row = &several->rows[i];
        shown += info_several_is_shown(row);
        *whole += info_several_is_shown(row) && row->complete && !row->damaged;
    }
    return shown;
}

uint64_t info_several_samples(const struct info_several *several)
{
    return add_up(several).samples;
}

/* ---- text ---- */

static int width_of_paths(const struct info_several *several)
{
    size_t width = strlen("file");
    for (size_t i = 0; i < several->count; i++) {
        const size_t of_row = strlen(utf8_shown(several->rows[i].path));
        width = of_row > width ? of_row : width;
    }
    return (int)width;
}

static void print_sums(struct output *to, const struct list_sums *sums)
{
    output_format(to, " %10" PRIu64 " %8" PRIu64 " %8" PRIu64 " %12" PRIu64 "  ", sums->samples, sums->threads,
                  sums->missed, sums->bytes);
}

static void info_several_print_row(struct output *to, const struct info_row *row, int width)
{
    output_format(to, "%-*s  ", width, utf8_shown(row->path));
    if (!info_several_is_shown(row)) {
        printable_write(to, row->reason);
        output_string(to, "\n");
        return;
    }
    char started[32];
    event_date_text(started, row->identity.start_unix_ns);
    output_format(to, "%-20s %12.3f %9g", started[0] ? started : "-", info_seconds(row->sums.duration_ns),
                  1e9 / (double)row->interval_ns);
    print_sums(to, &row->sums);
    output_format(to, "%s\n", !row->complete ? "no" : row->damaged ? "damaged" : "yes");
}

void info_several_print(struct output *to, const struct info_several *several)
{
    const int width = width_of_paths(several);
    const struct list_sums all = add_up(several);
    size_t whole;
    const size_t shown = count_shown(several, &whole);
    output_format(to, "%-*s  %-20s %12s %9s %10s %8s %8s %12s  %s\n", width, "file", "started", "duration s", "rate Hz",
                  "samples", "threads", "missed", "bytes", "complete");
    for (size_t i = 0; i < several->count; i++)
        info_several_print_row(to, &several->rows[i], width);
    char count[64];
    snprintf(count, sizeof(count), "%zu of %zu", shown, several->count);
    output_format(to, "%-*s  %-20s %12.3f %9s", width, "total", count, info_seconds(all.duration_ns), "");
    print_sums(to, &all);
    output_format(to, "%zu of %zu\n", whole, several->count);
}

void info_several_print_summaries(struct output *to, const struct info_several *several)
{
    for (size_t i = 0; i < several->count; i++) {
        const struct bytes *summary = &several->rows[i].summary;
        output_bytes(to, summary->at, summary->size);
    }
}

/* ---- JSON ---- */

static json_t *row_json(const struct info_row *row)
{
    const struct text path = utf8_clean(text_of(row->path));
    json_t *all = json_pack("{s:s%}", "file", path.bytes, path.size);
    text_free(path);
    if (info_several_is_shown(row))
        json_object_update(all, row->json);
    else
        json_object_set_new(all, "error", info_json_text(row->reason));
    return all;
}

static json_t *totals_json(const struct info_several *several)
{
    const struct list_sums all = add_up(several);
    size_t whole;
    const size_t shown = count_shown(several, &whole);
    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "files", (json_int_t)several->count, "shown",
                     (json_int_t)shown, "whole", (json_int_t)whole, "duration_s", info_json_seconds(all.duration_ns),
                     "samples", info_json_count(all.samples), "ticks", info_json_count(all.ticks), "missed",
                     info_json_count(all.missed), "failed", info_json_count(all.failed), "threads",
                     info_json_count(all.threads), "bytes", info_json_count(all.bytes));
}

json_t *info_several_json(const struct info_several *several)
{
    json_t *list = json_array();
    for (size_t i = 0; i < several->count; i++)
        json_array_append_new(list, row_json(&several->rows[i]));
    return json_pack("{s:o, s:o, s:i}", "recordings", list, "totals", totals_json(several), "version",
                     INFO_JSON_VERSION);
}

void info_several_free(struct info_several *several)
{
    for (size_t i = 0; i < several->count; i++) {
        text_free(several->rows[i].reason);
        text_free(several->rows[i].identity.host);
        bytes_free(&several->rows[i].summary);
        json_decref(several->rows[i].json);
    }
    free(several->rows);
    *several = (struct info_several){ 0 };
}
