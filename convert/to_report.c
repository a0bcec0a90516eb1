/* SPDX-License-Identifier: MIT */
/* pyreel-report: shows where the time of a recording goes, as text, JSON or Markdown. */
#include "convert/convert.h"

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

enum own_option {
    OPTION_WEIGHT = OPTION_OWN,
    OPTION_BY,
    OPTION_SORT,
    OPTION_TOP,
    OPTION_CALLERS,
    OPTION_CALLEES,
    OPTION_TREE,
    OPTION_MIN,
    OPTION_ANNOTATE,
    OPTION_PATH_MAP,
    OPTION_IDS,
    OPTION_FULL_PATHS,
    OPTION_JSON,
    OPTION_MARKDOWN,
    OPTION_PSTATS,
    OPTION_JSONL,
};

static const struct argument options[] = {
    { OPTION_BY, 0, "by", "WHAT", 0,
      "show the hottest function|line|file|module|\n"
      "thread|task|opcode (function)" },
    { OPTION_SORT, 0, "sort", "ORDER", 0, "sort by self|total (a table of each)" },
    { OPTION_TOP, 0, "top", "N", 0, "show N rows of each table (10; JSON: all)" },
    { OPTION_CALLERS, 0, "callers", "F", 0,
      "show who calls F: a name, file:line, or a regular\n"
      "expression" },
    { OPTION_CALLEES, 0, "callees", "F", 0, "show whom F calls" },
    { OPTION_TREE, 0, "tree", NULL, 0, "show the call tree" },
    { OPTION_MIN, 0, "min", "SHARE", 0, "leave calls below SHARE out of the tree: 5% (1%)" },
    { OPTION_ANNOTATE, 0, "annotate", "F", 0, "show the source of F, function or file, by time" },
    { OPTION_PATH_MAP, 0, "path-map", "FROM=TO", 0, "find sources below FROM in TO" },
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0,
      "count cpu|wall|gil|gil_wait|samples (cpu, where\n"
      "it is known)" },
    { OPTION_IDS, 0, "ids", NULL, 0, "keep threads of one name apart" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "print file names unshortened" },
    { OPTION_JSON, 0, "json", NULL, 0, "print JSON (schemas/report.schema.json)" },
    { OPTION_MARKDOWN, 0, "markdown", NULL, 0, "print Markdown, for a pull request" },
    { OPTION_JSONL, 0, "jsonl", NULL, 0,
      "print a line of JSON for each stack\n"
      "(schemas/report-jsonl.schema.json)" },
    { OPTION_PSTATS, 0, "pstats", "[=tachyon]", 0,
      "write a file for Python's pstats, snakeviz and\n"
      "gprof2dot; =tachyon: the file that python3.15 -m\n"
      "profiling.sampling writes" },
    { 0 },
};

/* The values of this program's own options. */
struct wanted {
    struct report_style style;
    struct source_folders maps;
    bool least_given; /* --min */
    bool by_given;    /* --by */
    bool json, markdown, jsonl;
    bool pstats, pstats_tachyon;
};

/* Parses a number of rows. */
static bool parse_count(const char *value, size_t *count)
{
    char *end;
    if (*value < '1' || *value > '9')
        return false;
    const unsigned long number = strtoul(value, &end, 10);
    *count = number < SIZE_MAX / 2 ? number : SIZE_MAX / 2;
    return *end == '\0';
}

/* Parses a share in percent: 1%, 0.5. */
static bool parse_share(const char *value, double *share)
{
    char *end;
    if (!(*value >= '0' && *value <= '9'))
        return false;
    *share = strtod(value, &end) / 100;
    return (*end == '\0' || strcmp(end, "%") == 0) && *share <= 1;
}

static bool parse_sort(const char *value, enum report_sort *sort)
{
    *sort = strcmp(value, "total") == 0 ? SORT_TOTAL : SORT_SELF;
    return *sort == SORT_TOTAL || strcmp(value, "self") == 0;
}

static bool apply(struct settings *settings, int number, const char *value)
{
    struct wanted *wanted = settings->wanted;
    struct report_style *style = &wanted->style;
    switch ((enum own_option)number) {
    case OPTION_WEIGHT:
        return style->weighted = report_weight_named(value, &style->weight);
    case OPTION_BY:
        wanted->by_given = true;
        if (!report_by_named(value, &style->by))
            return false;
        settings->opcodes = style->by == BY_OPCODE;
        return true;
    case OPTION_SORT:
        return parse_sort(value, &style->sort);
    case OPTION_TOP:
        return parse_count(value, &style->top);
    case OPTION_CALLERS:
        style->callers = value;
        return *value != '\0';
    case OPTION_CALLEES:
        style->callees = value;
        return *value != '\0';
    case OPTION_TREE:
        return style->tree = true;
    case OPTION_MIN:
        wanted->least_given = true;
        return parse_share(value, &style->tree_least);
    case OPTION_ANNOTATE:
        style->annotate = value;
        return *value != '\0';
    case OPTION_PATH_MAP:
        return source_folders_add_map(&wanted->maps, value);
    case OPTION_IDS:
        return style->ids = true;
    case OPTION_FULL_PATHS:
        return style->full_paths = true;
    case OPTION_JSON:
        return wanted->json = true;
    case OPTION_MARKDOWN:
        return wanted->markdown = true;
    case OPTION_JSONL:
        return wanted->jsonl = true;
    case OPTION_PSTATS:
        wanted->pstats_tachyon = value != NULL;
        return wanted->pstats = !value || strcmp(value, "tachyon") == 0;
    }
    return false;
}

/* Whether the output has all functions, or all stacks, for other tools. */
static bool exchanges(const struct wanted *wanted)
{
    return wanted->pstats || wanted->jsonl;
}

/* Why --pstats or --jsonl cannot be used with other options; NULL: they can. */
static const char *exchange_problem(const struct wanted *wanted)
{
    const struct report_style *style = &wanted->style;
    const bool tables = style->callers || style->callees || style->tree || style->annotate || style->top ||
                        style->sort != SORT_BOTH;
    const bool lines = !wanted->by_given || style->by == BY_LINE || style->by == BY_FUNCTION;
    if (wanted->json + wanted->markdown + wanted->jsonl + wanted->pstats > 1)
        return "--json, --markdown, --jsonl and --pstats are different outputs; name one";
    if (!exchanges(wanted))
        return NULL;
    if (tables)
        return "--pstats and --jsonl have all functions and calls; leave out --sort, --top, --callers, --callees, "
               "--tree "
               "and --annotate";
    if (wanted->pstats && (wanted->by_given || style->ids || style->full_paths))
        return "--pstats has functions of all threads with their paths; leave out --by, --ids and --full-paths";
    if (wanted->jsonl && (style->weighted || style->ids || !lines))
        return "--jsonl has all weights of each thread, by line or by function; leave out --weight, --ids and other "
               "--by";
    return NULL;
}

static const char *problem(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    const struct report_style *style = &wanted->style;
    const bool tables = !style->callers && !style->callees && !style->tree && !style->annotate;
    if (exchange_problem(wanted))
        return exchange_problem(wanted);
    if (wanted->least_given && !style->tree)
        return "--min is for --tree";
    if (wanted->maps.count && !style->annotate)
        return "--path-map is for --annotate";
    if ((style->by != BY_FUNCTION || style->sort != SORT_BOTH) && !tables)
        return "--by and --sort are for tables of the hottest; leave out --callers, --callees, --tree and --annotate";
    return NULL;
}

struct to_report {
    struct conversion *conversion;
    struct aggregate aggregate;
    uint64_t waiting_known; /* samples of which it is known whether the thread waited */
    uint64_t stands_ns;     /* times that all samples stand for, whether or not their threads lived so long */
};

static bool only_counts(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    return wanted->style.weighted && wanted->style.weight == SUM_SAMPLES;
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
    if (event->kind == EVENT_SAMPLE) {
        aggregate_sample(&to->aggregate, &event->sample);
        to->waiting_known += waiting_known(event->sample.status) ? 1 + event->sample.more : 0;
        to->stands_ns += event->sample.stands_ns * (1 + event->sample.more);
    } else if (event->kind == EVENT_LATE_CPU)
        aggregate_late_cpu(&to->aggregate, &event->sample);
    return true;
}

static void warn_of_unknown(const struct to_report *to, const struct report *report)
{
    const uint64_t unknown = to->aggregate.samples - aggregate_known(&to->aggregate, report->weight);
    if (unknown && report->style.weighted)
        fprintf(stderr, "pyreel-report: warning: %s is not known of %" PRIu64 " of %" PRIu64 " samples: %s\n",
                report_weight_name(report->weight), unknown, to->aggregate.samples, aggregate_reason(report->weight));
}

static bool write(const struct to_report *to, const struct report *report, const struct report_origin *origin,
                  struct fault *why)
{
    const struct wanted *wanted = to->conversion->settings.wanted;
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
    const struct wanted *wanted = settings->wanted;
    struct report_style style = wanted->style;
    const struct report_origin origin = {
        .recordings = settings->inputs_count,
        .undated_by = conversion->report.undated_by,
        .filters = settings->filters,
        .waiting_known = to->waiting_known,
        .complete = conversion->whole && conversion->report.complete && conversion->tables.missing == 0,
    };
    style.every_row = wanted->json;
    style.filter = &settings->frames.filter;
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
    const struct wanted *wanted = settings->wanted;
    const enum aggregate_sum weight = wanted->style.weighted ? wanted->style.weight : SUM_WALL_NS;
    const uint64_t samples = to->aggregate.samples;
    const uint64_t interval_ns = samples ? to->stands_ns / samples : 0;
    const struct pstats_style style = { .weight = weight,
                                        .tachyon = wanted->pstats_tachyon,
                                        .interval_us = interval_ns < 1000 ? 1 : (interval_ns + 500) / 1000,
                                        .filter = &settings->frames.filter };
    if (samples && !aggregate_knows(&to->aggregate, weight))
        return fault(why, "--weight %s cannot be applied to %s: %s", report_weight_name(weight), settings->input,
                     aggregate_reason(weight));
    return pstats_write(&conversion->output, &conversion->tables, &to->aggregate, &style) ||
           convert_nothing_left(conversion, why);
}

/* Writes a line for each stack. */
static bool write_jsonl(const struct to_report *to, struct fault *why)
{
    struct conversion *conversion = to->conversion;
    const struct wanted *wanted = conversion->settings.wanted;
    const bool functions = wanted->by_given && wanted->style.by == BY_FUNCTION;
    const struct jsonl_style style = { .kind = functions ? ENTRY_FUNCTION : ENTRY_LINE,
                                       .full_paths = wanted->style.full_paths,
                                       .filter = &conversion->settings.frames.filter };
    if (jsonl_write(&conversion->output, &conversion->tables, &to->aggregate, &style, why))
        return true;
    return !why->text[0] && convert_nothing_left(conversion, why);
}

static bool finish(void *self, struct fault *why)
{
    struct to_report *to = self;
    const struct wanted *wanted = to->conversion->settings.wanted;
    struct report report = { 0 };
    aggregate_sort(&to->aggregate);
    if (exchanges(wanted))
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

static bool makes_binary(const struct settings *settings)
{
    return ((const struct wanted *)settings->wanted)->pstats;
}

int main(int argc, char **argv)
{
    static const struct converter to_report = {
        .name = "pyreel-report",
        .makes = "Shows where the time goes: the hottest functions, by self and total.",
        .recognises = recognises,
        .makes_binary = makes_binary,
        .packing = PACKING_NEVER,
        .takes = TAKES_MODE | TAKES_SELECTION | TAKES_NO_IDLE | TAKES_FRAMES | TAKES_FOCUS,
        .several = SEVERAL_MERGED,
        .options = options,
        .wanted_size = sizeof(struct wanted),
        .apply = apply,
        .problem = problem,
        .runs = true,
        .places_cpu = true,
        .only_counts = only_counts,
        .start = start,
        .take = take,
        .finish = finish,
        .drop = drop,
    };
    return convert_main(argc, argv, &to_report);
}
