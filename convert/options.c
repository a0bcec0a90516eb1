/* SPDX-License-Identifier: MIT */
#include "convert/options.h"

#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_number {
    OPTION_OUTPUT = 1,
    OPTION_FORCE,
    OPTION_MODE,
    OPTION_NO_IDLE,
    OPTION_SPAN,
    OPTION_FROM,
    OPTION_TO,
    OPTION_LAST,
    OPTION_PROCESSES,
    OPTION_THREADS,
    OPTION_LINES,
    OPTION_FUNCTIONS,
    OPTION_COLUMNS,
    OPTION_OPCODES,
    OPTION_HIDE,
    OPTION_FOCUS,
    OPTION_FOLD,
    OPTION_NO_GC,
    OPTION_NO_NATIVE,
    OPTION_DEBUG_INFO,
    OPTION_BEFORE,
    OPTION_AFTER,
    OPTION_STRICT,
    OPTION_MAX_MEMORY,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct argument first_rows[] = {
    { OPTION_BEFORE, 0, "before", NULL, TAKES_SIDES, "the recordings that follow are of the side before" },
    { OPTION_AFTER, 0, "after", NULL, TAKES_SIDES, "the recordings that follow are of the side after" },
    { OPTION_OUTPUT, 'o', "output", "FILE", 0, "write to FILE, - for standard output" },
    { OPTION_FORCE, 0, "force", NULL, 0, "replace any FILE, even one that is read-only" },
    { OPTION_MODE, 0, "mode", "MODE", TAKES_MODE, "keep only wall|cpu|gil|exception samples (all)" },
    { OPTION_NO_IDLE, 0, "no-idle", NULL, TAKES_NO_IDLE, "drop samples of threads that did not run" },
    { OPTION_SPAN, 0, "span", "ID", TAKES_MODE,
      "samples of a trace or span: 00f067aa0ba902b7,\n"
      "32 or 16 hexadecimal digits (all)" },
    { OPTION_FROM, 0, "from", "TIME", TAKES_PART, "keep samples from TIME on: 90, 1m30, 2h, 25% (0)" },
    { OPTION_TO, 0, "to", "TIME", TAKES_UNTIL, "keep samples before TIME: 2.5, 500ms, 50% (end)" },
    { OPTION_TO, 0, "to", "TIME|URL", TAKES_RECEIVER,
      "keep samples before TIME: 2.5, 500ms, 50% (end);\n"
      "or with --every, send to http://127.0.0.1:4318\n"
      "(as OTEL_EXPORTER_OTLP_ENDPOINT says)" },
    { OPTION_LAST, 0, "last", "TIME", TAKES_PART, "keep the last TIME of the recording: 1s, 5m, 10%" },
    { OPTION_THREADS, 0, "threads", "LIST", TAKES_PART, "keep threads by name or tid: Main*,42 (all)" },
    { OPTION_PROCESSES, 0, "processes", "LIST", TAKES_PART, "keep processes by name or pid: app.py,42 (all)" },
    { OPTION_LINES, 0, "lines", NULL, TAKES_DETAIL, "show the line of each frame (default)" },
    { OPTION_FUNCTIONS, 0, "functions", NULL, TAKES_DETAIL, "merge all lines of a function" },
    { OPTION_COLUMNS, 0, "columns", NULL, TAKES_COLUMNS, "show the column of each frame, too" },
    { OPTION_OPCODES, 0, "opcodes", NULL, TAKES_OPCODES, "show the instruction of each sample's leaf frame" },
    { OPTION_HIDE, 0, "hide", "RE", TAKES_FRAMES, "drop frames that match the regular expression RE" },
    { OPTION_FOCUS, 0, "focus", "RE", TAKES_FOCUS, "keep only stacks with a frame that matches RE" },
    { OPTION_FOLD, 0, "fold", "KIND", TAKES_FRAMES, "fold stdlib,site-packages,import; none: nothing" },
    { OPTION_NO_GC, 0, "no-gc", NULL, TAKES_FRAMES, "drop <GC> frames" },
    { OPTION_NO_NATIVE, 0, "no-native", NULL, TAKES_FRAMES, "drop frames of native code, but not of the kernel" },
    { OPTION_DEBUG_INFO, 0, "debug-info", "FROM", TAKES_DEBUG_INFO, "lines of C code: none|local|debuginfod (local)" },
    { 0 },
};

static const struct argument last_rows[] = {
    { OPTION_MAX_MEMORY, 0, "max-memory", "SIZE", 0, "fail beyond so much memory: 500M, 8G (4G or half)" },
    { OPTION_STRICT, 0, "strict", NULL, 0, "exit 1 if INPUT is damaged or incomplete" },
    { OPTION_QUIET, 'q', "quiet", NULL, 0, "print warnings and errors only" },
    { OPTION_VERBOSE, 'v', "verbose", NULL, 0, "print what was written" },
    { OPTION_HELP, 'h', "help", NULL, 0, "print this help and exit" },
    { OPTION_VERSION, 'V', "version", NULL, 0, "print the version and exit" },
    { 0 },
};

static struct arguments arguments_of(const struct converter *converter)
{
    return (struct arguments){ .tables = { first_rows, converter->options.rows, last_rows },
                               .sets = converter->takes,
                               .in_order = converter->takes & TAKES_SIDES };
}

static void options_print_help(const struct converter *converter)
{
    const bool compared = converter->several == SEVERAL_COMPARED;
    const char *inputs = compared ? "BEFORE AFTER" : converter->several == SEVERAL_REFUSED ? "[INPUT]" : "[INPUT...]";
    printf("usage: %s [OPTIONS] %s\n", converter->name, inputs);
    if (compared)
        printf("       %s [OPTIONS] --before INPUT... --after INPUT...\n", converter->name);
    printf("\n%s\nINPUT is a recording of pyreel-record, or of python3.15 -m profiling.sampling\nwith --binary%s.\n",
           converter->makes,
           compared ? "" : "; - is standard input. Without INPUT, it is the newest\n*.pyreel of this folder");
    if (converter->listing)
        printf("Several recordings get a line each, and a line of totals.\n");
    else if (converter->several == SEVERAL_MERGED)
        printf("Several recordings become one profile with one time line and a process for each.\n");
    if (compared)
        printf("Two recordings are before and after. With --before and --after each side may\n"
               "have several, which are runs of one program.\n");
    if (converter->file.suffix)
        printf("The output is INPUT%s unless -o names another file.\n", converter->file.suffix);
    printf("\nOptions, with their default values in parentheses:\n");
    const struct arguments arguments = arguments_of(converter);
    arguments_print(&arguments);
    printf("\nExit codes: 0 success; 1 failure, or with --strict damage; 2 misuse.\n");
    if (converter->options.exits)
        printf("%s\n", converter->options.exits);
}

static int options_misuse(const struct converter *converter)
{
    fprintf(stderr, "Try '%s --help'.\n", converter->name);
    return EXIT_MISUSE;
}

/* Adds an expression of --hide or --focus. One that is none is accepted here, and is a problem that has more to say. */
static bool add_pattern(struct settings *settings, struct patterns *patterns, const char *option)
{
    struct fault reason = { 0 };
    if (!patterns_add(patterns, optarg, &reason))
        fault(&settings->problem, "--%s '%s' is no regular expression: %s", option, optarg, reason.text);
    return true;
}

static bool is_url(const char *value)
{
    return strncmp(value, "http://", 7) == 0 || strncmp(value, "https://", 8) == 0;
}

/* Why the debug information that was asked for cannot be had; NULL: it can, or nobody asked. */
static const char *debug_problem(const struct settings *settings)
{
    if (settings->debug_chosen && settings->debug_source != DEBUG_NONE && !debug_info_exists())
        return "this pyreel was built without libdw, so --debug-info can only be none";
    if (settings->debug_source == DEBUG_FETCHED && !getenv("DEBUGINFOD_URLS"))
        return "--debug-info debuginfod needs servers: set DEBUGINFOD_URLS to their addresses";
    return NULL;
}

static bool name_debug_source(struct settings *settings, struct text name)
{
    static const struct text names[] = {
        [DEBUG_LOCAL] = { "local", 5 }, [DEBUG_NONE] = { "none", 4 }, [DEBUG_FETCHED] = { "debuginfod", 10 }
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (text_equal(names[i], name)) {
            settings->debug_source = (enum debug_source)i;
            settings->debug_chosen = true;
            return true;
        }
    }
    return false;
}

/* Applies one option. False when the option does not accept the value. */
static bool options_apply(struct settings *settings, const struct converter *converter, int number)
{
    struct selection *selection = &settings->selection;
    if (number >= OPTION_OWN)
        return converter->options.apply(settings, number, optarg);
    switch ((enum option_number)number) {
    case OPTION_OUTPUT:
        settings->output = optarg;
        return true;
    case OPTION_FORCE:
        settings->force = true;
        return true;
    case OPTION_MODE:
        settings->mode = mode_filter_named(text_of(optarg));
        return settings->mode != KEPT_AS_RECORDED;
    case OPTION_NO_IDLE:
        settings->no_idle = true;
        return true;
    case OPTION_SPAN:
        return kept_span_parse(text_of(optarg), &settings->span);
    case OPTION_FROM:
        return selection_parse_time(optarg, &selection->from_ns, &selection->from_share);
    case OPTION_TO:
        if (converter->takes & TAKES_RECEIVER && is_url(optarg)) {
            settings->receiver = optarg;
            return true;
        }
        return selection_parse_time(optarg, &selection->to_ns, &selection->to_share) &&
               (selection->to_ns > 0 || selection->to_share > 0);
    case OPTION_LAST:
        return selection_parse_time(optarg, &selection->last_ns, &selection->last_share) &&
               (selection->last_ns > 0 || selection->last_share > 0);
    case OPTION_PROCESSES:
        selection->processes = optarg;
        return *optarg != '\0';
    case OPTION_THREADS:
        selection->threads = optarg;
        return *optarg != '\0';
    case OPTION_LINES:
        settings->detail = DETAIL_LINES;
        return true;
    case OPTION_FUNCTIONS:
        settings->detail = DETAIL_FUNCTIONS;
        return true;
    case OPTION_COLUMNS:
        settings->detail = DETAIL_COLUMNS;
        return true;
    case OPTION_OPCODES:
        settings->opcodes = true;
        return true;
    case OPTION_HIDE:
        return add_pattern(settings, &settings->frames.hide, "hide");
    case OPTION_FOCUS:
        return add_pattern(settings, &settings->frames.focus, "focus");
    case OPTION_FOLD:
        return frame_filter_fold(&settings->frames, optarg);
    case OPTION_NO_GC:
        return settings->frames.no_gc = true;
    case OPTION_NO_NATIVE:
        return settings->frames.no_native = true;
    case OPTION_DEBUG_INFO:
        return name_debug_source(settings, text_of(optarg));
    case OPTION_BEFORE:
        sides_name(&settings->sides, SIDE_BEFORE);
        return true;
    case OPTION_AFTER:
        sides_name(&settings->sides, SIDE_AFTER);
        return true;
    case OPTION_MAX_MEMORY:
        return arguments_parse_memory(optarg, &settings->max_memory);
    case OPTION_STRICT:
        settings->strict = true;
        return true;
    case OPTION_QUIET:
        settings->quiet = true;
        return true;
    case OPTION_VERBOSE:
        settings->verbose = true;
        return true;
    case OPTION_HELP:
    case OPTION_VERSION:
        break;
    }
    return true;
}

/* Options that leave out samples, and may leave none. */
#define FILTERS (TAKES_SELECTION | TAKES_RECEIVER | TAKES_MODE | TAKES_NO_IDLE | TAKES_FOCUS)

/* Adds an option to the options that leave out samples. */
static void note_filter(struct settings *settings, const struct argument *row)
{
    char *before = settings->filters;
    if (asprintf(&settings->filters, "%s%s--%s%s%s", before ? before : "", before ? " " : "", row->name,
                 row->value ? " " : "", row->value ? optarg : "") < 0)
        settings->filters = NULL;
    free(before);
}

/* Why the options cannot be used together; NULL: they can. */
static const char *options_problem_of(const struct settings *settings, const struct converter *converter)
{
    const struct selection *selection = &settings->selection;
    const struct converter_plan plan = converter_plan(converter, settings);
    if (settings->inputs_count == 0 && !plan.without_input)
        return converter->several == SEVERAL_COMPARED ? "name the recordings of before and after"
                                                      : "name a recording to read; there is no *.pyreel in this folder";
    if ((selection->to_ns && selection->to_ns <= selection->from_ns) ||
        (selection->to_share > 0 && selection->to_share <= selection->from_share))
        return "--to must be later than --from";
    if (selection_has_last(selection) && (selection->from_ns || selection->from_share > 0))
        return "--last says where the part begins, and so does --from; name one";
    if (settings->problem.text[0])
        return settings->problem.text;
    if (settings->parts.problem.text[0])
        return settings->parts.problem.text;
    const char *own = converter->options.problem ? converter->options.problem(settings) : NULL;
    if (own)
        return own;
    if (debug_problem(settings))
        return debug_problem(settings);
    if (settings->inputs_count <= 1)
        return NULL;
    if (converter->several == SEVERAL_REFUSED)
        return "this program reads one recording at a time; name one INPUT";
    for (size_t i = 0; i < settings->inputs_count; i++)
        if (strcmp(settings->inputs[i], "-") == 0)
            return "standard input (-) cannot be one of several recordings; name files";
    if (converter->file.suffix && !settings->output && !plan.keeps && !plan.splits)
        return "several recordings have no default output; name one with -o FILE";
    return NULL;
}

void options_free(struct settings *settings)
{
    free(settings->wanted);
    frame_filter_free(&settings->frames);
    free(settings->filters);
    parts_free(&settings->parts);
    sides_free(&settings->sides);
    newest_free(&settings->newest);
}

/* Reads the newest recording of the folder when the user names none, unless the options need none. */
static void take_newest(struct settings *settings, const struct converter *converter)
{
    if (converter->several == SEVERAL_COMPARED || converter_plan(converter, settings).without_input)
        return;
    newest_find(&settings->newest);
    for (size_t i = 0; i < settings->newest.count; i++)
        sides_add(&settings->sides, settings->newest.paths[i]);
    if (settings->newest.count > 0 && !settings->quiet)
        fprintf(stderr, "%s: reading %s, the newest recording in this folder\n", converter->name,
                utf8_shown(settings->newest.paths[0]));
}

/* Takes the words that are no options. With TAKES_SIDES, those in front of -- are taken already. */
static void take_inputs(struct settings *settings, const struct converter *converter, int argc, char **argv,
                        const char **problem)
{
    for (int i = optind; i < argc; i++)
        sides_add(&settings->sides, argv[i]);
    if (sides_are_empty(&settings->sides))
        take_newest(settings, converter);
    settings->inputs_count = sides_settle(&settings->sides, &settings->before, problem);
    settings->inputs = settings->sides.all;
    if (settings->inputs_count > 1) {
        size_t end = settings->inputs_count;
        parts_find(&settings->parts, settings->inputs, settings->before, &end, &settings->inputs_count);
        parts_find(&settings->parts, settings->inputs, 0, &settings->before, &settings->inputs_count);
    }
    settings->input = settings->inputs_count ? settings->inputs[0] : NULL;
}

bool options_read(struct settings *settings, const struct converter *converter, int argc, char **argv, int *exit_code)
{
    const struct arguments arguments = arguments_of(converter);
    int wrong;
    settings->wanted = alloc_zeroed(1, converter->options.size + 1);
    for (const struct argument *row; (row = arguments_next(&arguments, argc, argv, &wrong));) {
        *exit_code = 0;
        if (row == &arguments_operand) {
            sides_add(&settings->sides, optarg);
            continue;
        }
        if (row->number == OPTION_HELP)
            options_print_help(converter);
        if (row->number == OPTION_VERSION)
            printf("%s %s\n%s", converter->name, PYREEL_VERSION, converter->release ? converter->release : "");
        if (row->number == OPTION_HELP || row->number == OPTION_VERSION)
            return false;
        if (row->set & FILTERS && !(row->number == OPTION_TO && is_url(optarg)))
            note_filter(settings, row);
        if (options_apply(settings, converter, row->number))
            continue;
        arguments_refuse(converter->name, row, optarg);
        *exit_code = EXIT_MISUSE;
        return false;
    }
    const char *problem = NULL;
    if (!wrong)
        take_inputs(settings, converter, argc, argv, &problem);
    if (!wrong && !problem)
        problem = options_problem_of(settings, converter);
    if (!wrong && !problem)
        return true;
    if (!wrong)
        fprintf(stderr, "%s: %s\n", converter->name, utf8_shown(problem));
    *exit_code = options_misuse(converter);
    return false;
}
