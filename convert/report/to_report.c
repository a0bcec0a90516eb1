/* SPDX-License-Identifier: MIT */
/* pyreel-report: shows where the time of a recording goes, as text, JSON or Markdown. */
#include "convert/report/report_options.h"
#include "convert/sums.h"

#include "formats/base/alloc.h"
#include "formats/exchange/jsonl.h"
#include "formats/exchange/pstats.h"
#include "formats/frames/waiting.h"
#include "formats/report/report_head.h"
#include "formats/report/report_json.h"
#include "formats/report/report_markdown.h"
#include "formats/report/report_text.h"

#define TREE_LEAST 0.01 /* share of the whole, unless the user wants another one */

static struct converter_plan to_report_plan(const struct settings *settings)
{
    const struct report_wanted *wanted = settings->wanted;
    return (struct converter_plan){ .binary = wanted->pstats,
                                    .only_counts = wanted->style.weighted && wanted->style.weight == SUM_SAMPLES };
}

static void *to_report_start(struct conversion *conversion)
{
    struct sums *sums = sums_start(conversion);
    sums->aggregate.group_of = waiting_group;
    return sums;
}

static bool to_report_write(const struct sums *sums, const struct report *report, const struct report_origin *origin,
                            struct fault *why)
{
    const struct report_wanted *wanted = sums->conversion->settings.wanted;
    struct output *output = &sums->conversion->output;
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

static bool to_report_make(const struct sums *sums, struct report *report, struct fault *why)
{
    struct conversion *conversion = sums->conversion;
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
    if (!report_begin(report, &conversion->tables, &sums->aggregate, &style, why))
        return false;
    if (report->style.weighted)
        sums_warn_of_unknown(sums, report->weight);
    report_add_head(report, &origin);
    if (!report_make(report, why))
        return why->text[0] ? false : convert_nothing_left(conversion, why);
    return to_report_write(sums, report, &origin, why);
}

/* Writes the file for pstats. */
static bool write_pstats(const struct sums *sums, struct fault *why)
{
    struct conversion *conversion = sums->conversion;
    const struct settings *settings = &conversion->settings;
    const struct report_wanted *wanted = settings->wanted;
    const enum aggregate_sum weight = wanted->style.weighted ? wanted->style.weight : SUM_WALL_NS;
    const struct pstats_style style = { .weight = weight, .filter = &settings->frames };
    return sums_know(sums, weight, why) &&
           (pstats_write(&conversion->output, &conversion->tables, &sums->aggregate, &style) ||
            convert_nothing_left(conversion, why));
}

/* Writes a line for each stack. */
static bool write_jsonl(const struct sums *sums, struct fault *why)
{
    struct conversion *conversion = sums->conversion;
    const struct report_wanted *wanted = conversion->settings.wanted;
    const bool functions = wanted->by_given && wanted->style.by == BY_FUNCTION;
    const struct jsonl_style style = { .kind = functions ? ENTRY_FUNCTION : ENTRY_LINE,
                                       .full_paths = wanted->style.full_paths,
                                       .filter = &conversion->settings.frames };
    if (jsonl_write(&conversion->output, &conversion->tables, &sums->aggregate, &style, why))
        return true;
    return !why->text[0] && convert_nothing_left(conversion, why);
}

static bool to_report_finish(void *self, struct fault *why)
{
    struct sums *sums = self;
    const struct report_wanted *wanted = sums->conversion->settings.wanted;
    struct report report = { 0 };
    aggregate_sort(&sums->aggregate);
    if (report_options_exchange(wanted))
        return wanted->pstats ? write_pstats(sums, why) : write_jsonl(sums, why);
    const bool good = to_report_make(sums, &report, why);
    report_free(&report);
    return good;
}

/* The first words of the text, of JSON and of Markdown. */
static bool to_report_recognises(struct text head)
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
        .takes = TAKES_DEBUG_INFO | TAKES_MODE | TAKES_SELECTION | TAKES_NO_IDLE | TAKES_FRAMES | TAKES_FOCUS,
        .options.rows = report_options,
        .options.size = sizeof(struct report_wanted),
        .options.apply = report_options_apply,
        .options.problem = report_options_problem,
        .file.recognises = to_report_recognises,
        .plan = to_report_plan,
        .events.runs = true,
        .events.places_cpu = true,
        .events.take = sums_take,
        .start = to_report_start,
        .finish = to_report_finish,
        .drop = sums_drop,
    };
    return convert_main(argc, argv, &to_report);
}
