/* SPDX-License-Identifier: MIT */
/* pyreel-report: shows where the time of a recording goes, as text, JSON or Markdown. */
#include "convert/report/report_options.h"

#include "formats/base/alloc.h"
#include "formats/exchange/jsonl.h"
#include "formats/exchange/pstats.h"
#include "formats/frames/waiting.h"
#include "formats/report/report_head.h"
#include "formats/report/report_json.h"
#include "formats/report/report_markdown.h"
#include "formats/report/report_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TREE_LEAST 0.01 /* share of the whole, unless the user wants another one */

struct to_report {
    struct conversion *conversion;
    struct aggregate aggregate;
};

static struct converter_plan plan(const struct settings *settings)
{
    const struct report_wanted *wanted = settings->wanted;
    return (struct converter_plan){ .binary = wanted->pstats,
                                    .only_counts = wanted->style.weighted && wanted->style.weight == SUM_SAMPLES };
}

static void *start(struct conversion *conversion)
{
    struct to_report *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->aggregate.group_of = waiting_group;
    return to;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct to_report *to = self;
    aggregate_take(&to->aggregate, event);
    return true;
}

static void warn_of_unknown(const struct to_report *to, const struct report *report)
{
    const uint64_t unknown = to->aggregate.samples - aggregate_known(&to->aggregate, report->weight);
    if (unknown && report->style.weighted)
        fprintf(stderr, "pyreel-report: warning: %s is not known of %" PRIu64 " of %" PRIu64 " samples: %s\n",
                sum_rows[report->weight].name, unknown, to->aggregate.samples, sum_rows[report->weight].reason);
}

static bool write(const struct to_report *to, const struct report *report, const struct report_origin *origin,
                  struct fault *why)
{
    const struct report_wanted *wanted = to->conversion->settings.wanted;
    struct output *output = &to->conversion->output;
    if (wanted->json)
        return report_json(output, report, origin, why);
    if (wanted->markdown) {
        report_markdown(output, report);
    } else {
        const struct screen screen = screen_of(output->fd);
        report_text(output, report, &screen);
    }
    return true;
}

static bool make(const struct to_report *to, struct report *report, struct fault *why)
{
    struct conversion *conversion = to->conversion;
    const struct settings *settings = &conversion->settings;
    const struct report_wanted *wanted = settings->wanted;
    struct report_style style = wanted->style;
    const struct report_origin origin = {
        .recordings = settings->inputs_count,
        .undated_by = conversion->report.undated_by,
        .filters = settings->filters,
        .complete = conversion->whole && conversion->report.complete && conversion->tables.missing == 0,
    };
    style.every_row = wanted->json;
    style.filter = &settings->frames;
    style.maps = &wanted->maps;
    if (!wanted->least_given)
        style.tree_least = wanted->json ? 0 : TREE_LEAST;
    if (!report_begin(report, &conversion->tables, &to->aggregate, &style, why))
        return false;
    warn_of_unknown(to, report);
    report_add_head(report, &origin);
    if (!report_make(report, why))
        return why->text[0] ? false : convert_nothing_left(conversion, why);
    return write(to, report, &origin, why);
}

/* Writes the file for pstats. */
static bool write_pstats(const struct to_report *to, struct fault *why)
{
    struct conversion *conversion = to->conversion;
    const struct settings *settings = &conversion->settings;
    const struct report_wanted *wanted = settings->wanted;
    const enum aggregate_sum weight = wanted->style.weighted ? wanted->style.weight : SUM_WALL_NS;
    const struct pstats_style style = { .weight = weight, .filter = &settings->frames };
    if (to->aggregate.samples && !aggregate_knows(&to->aggregate, weight))
        return fault(why, "--weight %s cannot be applied to %s: %s", sum_rows[weight].name, settings->input,
                     sum_rows[weight].reason);
    return pstats_write(&conversion->output, &conversion->tables, &to->aggregate, &style) ||
           convert_nothing_left(conversion, why);
}

/* Writes a line for each stack. */
static bool write_jsonl(const struct to_report *to, struct fault *why)
{
    struct conversion *conversion = to->conversion;
    const struct report_wanted *wanted = conversion->settings.wanted;
    const bool functions = wanted->by_given && wanted->style.by == BY_FUNCTION;
    const struct jsonl_style style = { .kind = functions ? ENTRY_FUNCTION : ENTRY_LINE,
                                       .full_paths = wanted->style.full_paths,
                                       .filter = &conversion->settings.frames };
    if (jsonl_write(&conversion->output, &conversion->tables, &to->aggregate, &style, why))
        return true;
    return !why->text[0] && convert_nothing_left(conversion, why);
}

static bool finish(void *self, struct fault *why)
{
    struct to_report *to = self;
    const struct report_wanted *wanted = to->conversion->settings.wanted;
    struct report report = { 0 };
    aggregate_sort(&to->aggregate);
    if (report_options_exchange(wanted))
        return wanted->pstats ? write_pstats(to, why) : write_jsonl(to, why);
    const bool good = make(to, &report, why);
    report_free(&report);
    return good;
}

static void drop(void *self)
{
    struct to_report *to = self;
    aggregate_free(&to->aggregate);
    free(to);
}

/* The first words of the text, of JSON and of Markdown. */
static bool recognises(struct text head)
{
    const struct text starts[] = {
        TEXT("program    "), TEXT("programs   "),  TEXT("recorded   "),  TEXT("{\"format\":\"pyreel-report\""),
        TEXT("- program: "), TEXT("- programs: "), TEXT("- recorded: "), TEXT(JSONL_BEGINS),
    };
    for (size_t i = 0; i < countof(starts); i++)
        if (text_begins(head, starts[i]))
            return true;
    return pstats_recognises(head);
}

int main(int argc, char **argv)
{
    static const struct converter to_report = {
        .name = "pyreel-report",
        .makes = "Shows where the time goes: the hottest functions, by self and total.",
        .takes = TAKES_MODE | TAKES_SELECTION | TAKES_NO_IDLE | TAKES_FRAMES | TAKES_FOCUS,
        .options.rows = report_options,
        .options.size = sizeof(struct report_wanted),
        .options.apply = report_options_apply,
        .options.problem = report_options_problem,
        .file.recognises = recognises,
        .plan = plan,
        .events.runs = true,
        .events.places_cpu = true,
        .events.take = take,
        .start = start,
        .finish = finish,
        .drop = drop,
    };
    return convert_main(argc, argv, &to_report);
}
