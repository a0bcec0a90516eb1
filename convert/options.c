/* SPDX-License-Identifier: MIT */
#include "convert/options.h"

#include "formats/base/arguments.h"
#include "formats/base/startup.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum option_number {
    OPTION_OUTPUT = 1,
    OPTION_MODE,
    OPTION_FROM,
    OPTION_TO,
    OPTION_THREADS,
    OPTION_FUNCTIONS,
    OPTION_WEIGHT,
    OPTION_NO_THREADS,
    OPTION_FULL_PATHS,
    OPTION_OPCODES,
    OPTION_JSON,
    OPTION_VERIFY,
    OPTION_STRICT,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct argument rows[] = {
    { OPTION_OUTPUT, 'o', "output", "FILE", 0, "write to FILE; - is standard output" },
    { OPTION_MODE, 0, "mode", "MODE", TAKES_MODE, "keep samples of wall|cpu|gil|exception" },
    { OPTION_FROM, 0, "from", "SECONDS", TAKES_SELECTION, "leave out what was before, since the start" },
    { OPTION_TO, 0, "to", "SECONDS", TAKES_SELECTION, "leave out what was then and later" },
    { OPTION_THREADS, 0, "threads", "LIST", TAKES_SELECTION, "these alone: names or tids, with commas" },
    { OPTION_FUNCTIONS, 0, "functions", NULL, TAKES_FUNCTIONS, "merge the lines of a function" },
    { OPTION_WEIGHT, 0, "weight", "WHAT", TAKES_WEIGHT, "samples, or us of wall|cpu|gil|gil_wait" },
    { OPTION_NO_THREADS, 0, "no-threads", NULL, TAKES_THREADS, "merge the threads" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, TAKES_PATHS, "do not shorten file names" },
    { OPTION_OPCODES, 0, "opcodes", NULL, TAKES_OPCODES, "show the instruction of each sample's leaf" },
    { OPTION_JSON, 0, "json", NULL, TAKES_INFO, "print JSON" },
    { OPTION_VERIFY, 0, "verify", NULL, TAKES_INFO, "fail unless every block is there and decodes" },
    { OPTION_STRICT, 0, "strict", NULL, 0, "fail when it is damaged or not complete" },
    { OPTION_QUIET, 'q', "quiet", NULL, 0, "print warnings and errors only" },
    { OPTION_VERBOSE, 'v', "verbose", NULL, 0, "say what was written" },
    { OPTION_HELP, 'h', "help", NULL, 0, "print this and exit" },
    { OPTION_VERSION, 'V', "version", NULL, 0, "print the version and exit" },
    { 0 },
};

static void print_help(const struct converter *converter)
{
    const bool several = converter->takes & TAKES_SELECTION;
    printf("usage: %s [OPTIONS] INPUT%s\n\n%s\nINPUT is a recording made by pyreel-record, or by profiling.sampling "
           "--binary;\n- is standard input.\n",
           converter->name, several ? "..." : "", converter->makes);
    if (several)
        printf("Several become one, with a process each, on the time line of the first to begin.\n");
    if (converter->suffix)
        printf("The output is INPUT%s unless -o names another.\n", converter->suffix);
    printf("\n");
    arguments_print(&(struct arguments){ .rows = rows, .sets = converter->takes });
    printf("\nExit codes: 0 converted, 1 failed (with --strict also: damaged), 2 misuse.\n");
}

static int misuse(const struct converter *converter)
{
    fprintf(stderr, "Try '%s --help'.\n", converter->name);
    return EXIT_MISUSE;
}

/* Applies one option. False when its value is not one that it takes. */
static bool apply(struct settings *settings, enum option_number number)
{
    switch (number) {
    case OPTION_OUTPUT:
        settings->output = optarg;
        return true;
    case OPTION_MODE:
        settings->mode = mode_filter_named((struct text){ optarg, strlen(optarg) });
        return settings->mode != KEPT_AS_RECORDED;
    case OPTION_FROM:
        return selection_parse_seconds(optarg, &settings->selection.from_ns);
    case OPTION_TO:
        return selection_parse_seconds(optarg, &settings->selection.to_ns) && settings->selection.to_ns > 0;
    case OPTION_THREADS:
        settings->selection.threads = optarg;
        return *optarg != '\0';
    case OPTION_FUNCTIONS:
        settings->functions = true;
        return true;
    case OPTION_WEIGHT:
        return collapsed_weight_named(optarg, &settings->weight);
    case OPTION_NO_THREADS:
        settings->no_threads = true;
        return true;
    case OPTION_FULL_PATHS:
        settings->full_paths = true;
        return true;
    case OPTION_OPCODES:
        settings->opcodes = true;
        return true;
    case OPTION_JSON:
        settings->json = true;
        return true;
    case OPTION_VERIFY:
        settings->verify = true;
        return true;
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

/* What is wrong with the options together; NULL: nothing. */
static const char *problem_of(const struct settings *settings, const struct converter *converter)
{
    const struct selection *selection = &settings->selection;
    if (settings->inputs_count == 0)
        return "no recording was named";
    if (selection->to_ns && selection->to_ns <= selection->from_ns)
        return "--to is not after --from";
    if (settings->inputs_count == 1)
        return NULL;
    if (!(converter->takes & TAKES_SELECTION))
        return "one recording at a time, please";
    for (size_t i = 0; i < settings->inputs_count; i++)
        if (strcmp(settings->inputs[i], "-") == 0)
            return "standard input can't be one of several recordings";
    if (converter->suffix && !settings->output)
        return "name the output of several recordings with -o";
    return NULL;
}

bool options_read(struct settings *settings, const struct converter *converter, int argc, char **argv, int *exit_code)
{
    const struct arguments arguments = { .rows = rows, .sets = converter->takes };
    int wrong;
    for (const struct argument *row; (row = arguments_next(&arguments, argc, argv, &wrong));) {
        *exit_code = 0;
        if (row->number == OPTION_HELP)
            print_help(converter);
        if (row->number == OPTION_VERSION)
            printf("%s %s\n", converter->name, PYREEL_VERSION);
        if (row->number == OPTION_HELP || row->number == OPTION_VERSION)
            return false;
        if (apply(settings, (enum option_number)row->number))
            continue;
        fprintf(stderr, "%s: --%s does not take '%s'; it takes %s: %s\n", converter->name, row->name, optarg,
                row->value, row->help);
        *exit_code = misuse(converter);
        return false;
    }
    settings->inputs = argv + optind;
    settings->inputs_count = (size_t)(argc - optind);
    settings->input = argv[optind];
    const char *problem = wrong ? NULL : problem_of(settings, converter);
    if (!wrong && !problem)
        return true;
    if (problem)
        fprintf(stderr, "%s: %s\n", converter->name, problem);
    *exit_code = misuse(converter);
    return false;
}
