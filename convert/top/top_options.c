/* SPDX-License-Identifier: MIT */
#include "convert/top/top_options.h"

#include "convert/top/window.h"
#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/base/startup.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_S   10
#define BATCH_MOST 1000000

enum option_number {
    OPTION_OUTPUT = 1,
    OPTION_WINDOW,
    OPTION_IDS,
    OPTION_BATCH,
    OPTION_QUIET,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_PID,
    OPTION_RECORDER, /* options of pyreel-record have numbers from here on */
};

static const struct argument own_rows[] = {
    { OPTION_OUTPUT, 'o', "output", "FILE", 0, "write the recording to FILE, too (nowhere)" },
    { OPTION_WINDOW, 'w', "window", "TIME", 0, "show the last TIME, 1s to 60s: 5s, 1m (10s)" },
    { OPTION_IDS, 0, "ids", NULL, 0, "keep threads of one name apart" },
    { OPTION_BATCH, 'b', "batch", "N", 0,
      "print N tables: 1, 60; one a second, in place of\n"
      "the full screen" },
    { OPTION_QUIET, 'q', "quiet", NULL, 0, "print errors only" },
    { OPTION_HELP, 'h', "help", NULL, 0, "print this help and exit" },
    { OPTION_VERSION, 'V', "version", NULL, 0, "print the version and exit" },
    { 0 },
};

/* Options of pyreel-record. Their values are pyreel-record's to judge. */
static const struct argument recorder_rows[] = {
    { OPTION_PID, 'p', "pid", "PID", 0, "attach to a running process, such as 4242" },
    { OPTION_RECORDER, 'v', "verbose", NULL, 0, "print what pyreel-record does" },
    { OPTION_RECORDER, 'f', "subprocesses", NULL, 0, "show child processes that run Python, too" },
    { OPTION_RECORDER, 'r', "rate", "RATE", 0, "samples per second: 500, 10k, 5khz (1khz)" },
    { OPTION_RECORDER, 'd', "duration", "TIME", 0, "stop after TIME: 200ms, 30s, 1m30 (no limit)" },
    { OPTION_RECORDER, 't', "threads", "all|main|gil", 0, "look at these threads; gil: with the GIL (all)" },
    { OPTION_RECORDER, 'm', "mode", "MODE", 0, "keep only wall|cpu|gil|exception samples (wall)" },
    { OPTION_RECORDER, 0, "async", "running|all", 0, "show asyncio tasks (off)" },
    { OPTION_RECORDER, 0, "native", NULL, 0, "record C functions, too" },
    { OPTION_RECORDER, 0, "no-gc", NULL, 0, "add no frame <GC> during garbage collection" },
    { OPTION_RECORDER, 0, "opcodes", NULL, 0, "record instructions, for their table" },
    { OPTION_RECORDER, 0, "blocking", NULL, 0, "stop the program's threads during each read" },
    { OPTION_RECORDER, 0, "disturb", "PERCENT", 0, "take at most PERCENT of a processor, 0 to 100 (1)" },
    { OPTION_RECORDER, 0, "no-priority", NULL, 0, "keep the priority that pyreel-top starts with" },
    { OPTION_RECORDER, 0, "max-size", "BYTES", 0, "stop before the recording exceeds 20M (no limit)" },
    { OPTION_RECORDER, 0, "force", NULL, 0, "replace any FILE, even one that is read-only" },
    { OPTION_RECORDER, 0, "kill", NULL, 0, "end COMMAND (SIGTERM) at --duration or --max-size" },
    { 0 },
};

static const struct arguments arguments = { .tables = { own_rows, recorder_rows }, .in_order = true };

static void top_options_print_help(void)
{
    printf("usage: pyreel-top [OPTIONS] INPUT...\n"
           "       pyreel-top [OPTIONS] -p PID\n"
           "       pyreel-top [OPTIONS] -- COMMAND [ARG...]\n\n"
           "Shows live where a Python program spends its time: the hottest functions, by\n"
           "self and total, and the threads, processes and tasks with their CPU time and\n"
           "their use of the GIL. INPUT is a recording, also one that grows, and goes on to\n"
           "the next file of pyreel-record --rotate; - is standard input. With -p or\n"
           "COMMAND, pyreel-top starts pyreel-record and passes on the options below\n"
           "--version. In the view, h shows the keys.\n\n"
           "Options, with their default values in parentheses:\n");
    arguments_print(&arguments);
    printf("\nIn the view, q ends the recording, and COMMAND gets ^C; d closes the view only.\n"
           "Exit codes: that of COMMAND, as pyreel-record has it; 0 for an INPUT and after\n"
           "attaching; 1 INPUT cannot be read, 125 pyreel-record failed, 2 misuse.\n");
}

static int top_options_misuse(const char *what)
{
    if (what)
        fprintf(stderr, "pyreel-top: %s\n", what);
    fprintf(stderr, "Try 'pyreel-top --help'.\n");
    return EXIT_MISUSE;
}

/* ---- arguments for pyreel-record ---- */

/* Appends an argument. `word` must live as long as the options. */
static void pass(struct top_options *options, char *word)
{
    if (options->recorder_count == 0)
        options->recorder_count = 1; /* index 0 is the program's name */
    options->recorder = alloc_grow(options->recorder, &options->recorder_room, options->recorder_count + 2,
                                   sizeof(*options->recorder));
    options->recorder[options->recorder_count++] = word;
    options->recorder[options->recorder_count] = NULL;
}

static void pass_option(struct top_options *options, const char *name, const char *value)
{
    char *word;
    if (asprintf(&word, value ? "--%s=%s" : "--%s", name, value) < 0)
        return;
    options->words = alloc_grow(options->words, &options->words_room, options->words_count + 1,
                                sizeof(*options->words));
    options->words[options->words_count++] = word;
    pass(options, word);
}

static void pass_command(struct top_options *options, int argc, char **argv)
{
    static char separator[] = "--";
    pass(options, separator);
    for (int i = optind; i < argc; i++)
        pass(options, argv[i]);
}

/* ---- reading ---- */

static void add_input(struct top_options *options, char *path)
{
    options->inputs = alloc_grow(options->inputs, &options->inputs_room, options->inputs_count + 1,
                                 sizeof(*options->inputs));
    options->inputs[options->inputs_count++] = path;
    options->input = options->inputs[0];
}

static bool parse_window(const char *value, unsigned *window_s)
{
    uint64_t ns;
    if (!arguments_parse_time(value, &ns) || ns < 1000000000u || ns > WINDOW_SECONDS_MOST * UINT64_C(1000000000))
        return false;
    *window_s = (unsigned)((ns + 500000000u) / 1000000000u);
    return true;
}

/* Applies one option. False when the option does not accept the value. */
static bool top_options_apply(struct top_options *options, const struct argument *row, bool *attaches)
{
    switch ((enum option_number)row->number) {
    case OPTION_OUTPUT:
        options->output = optarg;
        return *optarg != '\0' && strcmp(optarg, "-") != 0;
    case OPTION_WINDOW:
        return parse_window(optarg, &options->window_s);
    case OPTION_IDS:
        return options->ids = true;
    case OPTION_BATCH:
        return arguments_parse_count(optarg, 1, BATCH_MOST, &options->batch);
    case OPTION_QUIET:
        return options->quiet = true;
    case OPTION_PID:
        *attaches = true;
        pass_option(options, row->name, optarg);
        return true;
    case OPTION_RECORDER:
        pass_option(options, row->name, row->value ? optarg : NULL);
        return true;
    case OPTION_HELP:
    case OPTION_VERSION:
        break;
    }
    return true;
}

/* The reason why these arguments do not fit together; NULL: they do. */
static const char *top_options_problem(const struct top_options *options, bool attaches)
{
    if (options->input && options->command)
        return "name a recording, or a command behind --, not both";
    if (options->input && attaches)
        return "name a recording, or a process with -p, not both";
    if (options->command && attaches)
        return "name a process with -p, or a command behind --, not both";
    if (!options->input && !options->command && !attaches)
        return "name a recording, a process with -p, or a command behind --";
    if (options->input && options->output)
        return "-o is for a recording that pyreel-top starts, with -p or a command";
    if (options->input && options->recorder_count)
        return "options of pyreel-record are for -p and a command, not for a recording";
    return NULL;
}

/* Ends the arguments of pyreel-record: the process or the command comes last. */
static void top_options_end_recorder(struct top_options *options, int argc, char **argv)
{
    pass_option(options, "output", options->output ? options->output : "-");
    if (options->quiet)
        pass_option(options, "quiet", NULL);
    if (options->command)
        pass_command(options, argc, argv);
}

bool top_options_read(struct top_options *options, int argc, char **argv, int *exit_code)
{
    const struct argument *row;
    int wrong = 0;
    bool attaches = false;
    *options = (struct top_options){ .window_s = WINDOW_S };
    while ((row = arguments_next(&arguments, argc, argv, &wrong))) {
        *exit_code = 0;
        if (row == &arguments_operand) {
            add_input(options, optarg);
        } else if (row->number == OPTION_HELP)
            return top_options_print_help(), false;
        else if (row->number == OPTION_VERSION)
            return printf("pyreel-top %s\n", PYREEL_VERSION), false;
        else if (!top_options_apply(options, row, &attaches)) {
            arguments_refuse("pyreel-top", row, optarg);
            return *exit_code = EXIT_MISUSE, false;
        }
    }
    if (wrong)
        return *exit_code = top_options_misuse(NULL), false;
    options->command = optind < argc;
    const char *what = top_options_problem(options, attaches);
    if (what)
        return *exit_code = top_options_misuse(what), false;
    if (!options->input)
        top_options_end_recorder(options, argc, argv);
    return true;
}

void top_options_free(struct top_options *options)
{
    for (size_t i = 0; i < options->words_count; i++)
        free(options->words[i]);
    free(options->words);
    free(options->inputs);
    free(options->recorder);
}
