/* SPDX-License-Identifier: MIT */
#include "convert/report/report_options.h"

#include <string.h>

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

const struct argument report_options[] = {
    { OPTION_BY, 0, "by", "WHAT", 0,
      "show the hottest function|line|file|module|\n"
      "thread|process|task|opcode (function)" },
    { OPTION_SORT, 0, "sort", "ORDER", 0, "sort by self|total (a table of each)" },
    { OPTION_TOP, 0, "top", "N", 0, "show N rows of each table (10; JSON: all)" },
    { OPTION_CALLERS, 0, "callers", "F", 0,
      "show who calls F: a name, file:line, or a regular\n"
      "expression" },
    { OPTION_CALLEES, 0, "callees", "F", 0, "show whom F calls" },
    { OPTION_TREE, 0, "tree", NULL, 0, "show the call tree" },
    { OPTION_MIN, 0, "min", "SHARE", 0, "leave calls below SHARE out of the tree: 5% (1%)" },
    { OPTION_ANNOTATE, 0, "annotate", "F", 0, "show the source of F, function or file, by time" },
    { OPTION_PATH_MAP, 0, "path-map", "FROM=TO", 0,
      "find sources below FROM in TO; or the source of\n"
      "made-up code: '<string>=cell.py'" },
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0,
      "count " SUM_NAMES " (cpu, where\n"
      "it is known)" },
    { OPTION_IDS, 0, "ids", NULL, 0, "keep threads of one name apart" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "print file names unshortened" },
    { OPTION_JSON, 0, "json", NULL, 0, "print JSON (schemas/report.schema.json)" },
    { OPTION_MARKDOWN, 0, "markdown", NULL, 0, "print Markdown, for a pull request" },
    { OPTION_JSONL, 0, "jsonl", NULL, 0,
      "print a line of JSON for each stack\n"
      "(schemas/report-jsonl.schema.json)" },
    { OPTION_PSTATS, 0, "pstats", NULL, 0,
      "write a file for Python's pstats, snakeviz and\n"
      "gprof2dot" },
    { 0 },
};

static bool parse_sort(const char *value, enum report_sort *sort)
{
    *sort = strcmp(value, "total") == 0 ? SORT_TOTAL : SORT_SELF;
    return *sort == SORT_TOTAL || strcmp(value, "self") == 0;
}

bool report_options_apply(struct settings *settings, int number, const char *value)
{
    struct report_wanted *wanted = settings->wanted;
    struct report_style *style = &wanted->style;
    switch ((enum own_option)number) {
    case OPTION_WEIGHT:
        return style->weighted = sum_named(value, &style->weight);
    case OPTION_BY:
        wanted->by_given = true;
        if (!by_named(value, &style->by))
            return false;
        settings->opcodes = style->by == BY_OPCODE;
        return true;
    case OPTION_SORT:
        return parse_sort(value, &style->sort);
    case OPTION_TOP:
        return arguments_parse_count(value, 1, UINT64_MAX, &style->top);
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
        return arguments_parse_share(value, 1, &style->tree_least);
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
        return wanted->pstats = true;
    }
    return false;
}

bool report_options_exchange(const struct report_wanted *wanted)
{
    return wanted->pstats || wanted->jsonl;
}

/* Why --pstats or --jsonl cannot be used with other options; NULL: they can. */
static const char *exchange_problem(const struct report_wanted *wanted)
{
    const struct report_style *style = &wanted->style;
    const bool tables = style->callers || style->callees || style->tree || style->annotate || style->top ||
                        style->sort != SORT_BOTH;
    const bool lines = !wanted->by_given || style->by == BY_LINE || style->by == BY_FUNCTION;
    if (wanted->json + wanted->markdown + wanted->jsonl + wanted->pstats > 1)
        return "--json, --markdown, --jsonl and --pstats are different outputs; name one";
    if (!report_options_exchange(wanted))
        return NULL;
    if (tables)
        return "--pstats and --jsonl have all functions and calls; leave out --sort, --top, --callers, --callees, "
               "--tree and --annotate";
    if (wanted->pstats && (wanted->by_given || style->ids || style->full_paths))
        return "--pstats has functions of all threads with their paths; leave out --by, --ids and --full-paths";
    if (wanted->jsonl && (style->weighted || style->ids || !lines))
        return "--jsonl has all weights of each thread, by line or by function; leave out --weight, --ids and other "
               "--by";
    return NULL;
}

const char *report_options_problem(const struct settings *settings)
{
    const struct report_wanted *wanted = settings->wanted;
    const struct report_style *style = &wanted->style;
    const bool tables = !style->callers && !style->callees && !style->tree && !style->annotate;
    if (exchange_problem(wanted))
        return exchange_problem(wanted);
    if ((style->callers || style->callees) + style->tree + !!style->annotate > 1)
        return "--tree, --annotate, and --callers with --callees are different reports; name one";
    if (wanted->least_given && !style->tree)
        return "--min is for --tree";
    if (style->top && !tables && !style->callers && !style->callees)
        return "--top is for tables, which --tree and --annotate do not have; --min makes the tree smaller";
    if (wanted->maps.count && !style->annotate)
        return "--path-map is for --annotate";
    if ((style->by != BY_FUNCTION || style->sort != SORT_BOTH) && !tables)
        return "--by and --sort are for tables of the hottest; leave out --callers, --callees, --tree and --annotate";
    return NULL;
}
