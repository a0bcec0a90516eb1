/* SPDX-License-Identifier: MIT */
#include "record/dump/dump_options.h"

#include "formats/base/arguments.h"
#include "formats/base/startup.h"
#include "record/python/layout.h"

#include <getopt.h>
#include <stdio.h>

enum option_number {
    OPTION_PID = 1,
    OPTION_SUBPROCESSES,
    OPTION_CORE,
    OPTION_EXE,
    OPTION_ASYNC,
    OPTION_LOCALS,
    OPTION_NATIVE,
    OPTION_BLOCKING,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct argument rows[] = {
    { OPTION_PID, 'p', "pid", "PID", 0, "the process, such as 4242; -p may be left out" },
    { OPTION_SUBPROCESSES, 'f', "subprocesses", NULL, 0, "dump all its descendants that run Python, too" },
    { OPTION_CORE, 0, "core", "FILE", 0, "dump a core file, not a process" },
    { OPTION_EXE, 0, "exe", "FILE", 0, "the interpreter that left the core, if not here" },
    { OPTION_ASYNC, 0, "async", NULL, 0, "show asyncio tasks, too" },
    { OPTION_LOCALS, 'l', "locals", NULL, 0, "show local variables; implies --blocking" },
    { OPTION_NATIVE, 0, "native", NULL, 0, "show C functions, too; each thread stops for a moment" },
    { OPTION_BLOCKING, 0, "blocking", NULL, 0, "stop the process while it is read" },
    { OPTION_JSON, 0, "json", NULL, 0, "write JSON" },
    { OPTION_QUIET, 'q', "quiet", NULL, 0, "print errors only, besides the dump" },
    { OPTION_VERBOSE, 'v', "verbose", NULL, 0, "print what pyreel-dump does" },
    { OPTION_HELP, 'h', "help", NULL, 0, "print this help and exit" },
    { OPTION_VERSION, 'V', "version", NULL, 0, "print the version and exit" },
    { 0 },
};

static const struct arguments arguments = { .tables = { rows } };

static void dump_print_help(void)
{
    printf("usage: pyreel-dump [OPTIONS] PID\n"
           "       pyreel-dump [OPTIONS] --core FILE\n\n"
           "Prints what each thread of a Python program does now: a traceback of each, the\n"
           "most recent call last. It reads CPython " LAYOUT_SUPPORTED ".\n"
           "The program is not changed, and runs on; --locals and --blocking stop it for a\n"
           "moment. --core FILE prints what each thread did when a program crashed, or when\n"
           "gcore copied its memory.\n\n"
           "Options, all off by default:\n");
    arguments_print(&arguments);
    printf("\nExit codes: 0 dumped, 1 failed (or a part failed), 2 misuse.\n");
}

static int dump_misuse(const char *text)
{
    fprintf(stderr, "pyreel-dump: %s\nTry 'pyreel-dump --help'.\n", text);
    return EXIT_MISUSE;
}

static bool parse_pid(const char *text, pid_t *pid)
{
    uint64_t number;
    const bool good = arguments_parse_count(text, 1, INT32_MAX, &number);
    *pid = (pid_t)number;
    return good;
}

/* Applies an option. False when the option does not accept the value. */
static bool dump_option_apply(struct dump_options *options, enum option_number number, const char *value)
{
    switch (number) {
    case OPTION_PID:
        return parse_pid(value, &options->pid);
    case OPTION_SUBPROCESSES:
        return options->subprocesses = true;
    case OPTION_CORE:
        options->core = value;
        return true;
    case OPTION_EXE:
        options->exe = value;
        return true;
    case OPTION_ASYNC:
        return options->async = true;
    case OPTION_NATIVE:
        return options->native = true;
    case OPTION_LOCALS:
        return options->locals = true;
    case OPTION_BLOCKING:
        return options->blocking = true;
    case OPTION_JSON:
        return options->json = true;
    case OPTION_QUIET:
        return options->quiet = true;
    case OPTION_VERBOSE:
        return options->verbose = true;
    case OPTION_HELP:
    case OPTION_VERSION:
        break;
    }
    return true;
}

static bool dump_options_check(struct dump_options *options, int argc, char **argv, int *exit_code)
{
    *exit_code = 0;
    if (optind < argc && options->pid == 0 && !options->core && !parse_pid(argv[optind++], &options->pid))
        *exit_code = dump_misuse("a PID is a number from 1 on, such as 4242");
    else if (optind < argc || (options->core && options->pid))
        *exit_code = dump_misuse(options->core ? "give a PID or --core FILE, not both"
                                               : "give one PID; -f dumps its descendants, too");
    else if (options->pid == 0 && !options->core)
        *exit_code = dump_misuse("give the PID of a process, or --core FILE");
    else if (options->exe && !options->core)
        *exit_code = dump_misuse("--exe needs --core");
    else if (options->core && (options->subprocesses || options->blocking))
        *exit_code = dump_misuse(
            "--core takes neither --subprocesses nor --blocking: a core file is one process, and stands still");
    else if (options->native && !options->core && (options->blocking || options->locals))
        *exit_code = dump_misuse(
            "--native takes neither --locals nor --blocking: these stop all threads at once, and C "
            "functions are read of one stopped thread at a time");
    return *exit_code == 0;
}

bool dump_options_read(struct dump_options *options, int argc, char **argv, int *exit_code)
{
    *options = (struct dump_options){ 0 };
    int wrong;
    for (const struct argument *row; (row = arguments_next(&arguments, argc, argv, &wrong));) {
        *exit_code = 0;
        if (row->number == OPTION_HELP)
            dump_print_help();
        if (row->number == OPTION_VERSION)
            printf("pyreel-dump %s\n", PYREEL_VERSION);
        if (row->number == OPTION_HELP || row->number == OPTION_VERSION)
            return false;
        if (dump_option_apply(options, (enum option_number)row->number, optarg))
            continue;
        arguments_refuse("pyreel-dump", row, optarg);
        *exit_code = EXIT_MISUSE;
        return false;
    }
    if (!wrong)
        return dump_options_check(options, argc, argv, exit_code);
    fprintf(stderr, "Try 'pyreel-dump --help'.\n");
    *exit_code = EXIT_MISUSE;
    return false;
}
