/* SPDX-License-Identifier: MIT */
/* pyreel: one name for all programs. "pyreel record ..." becomes pyreel-record. */
#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/base/startup.h"
#include "pyreel/help.h"
#include "pyreel/program.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum option_number { OPTION_HELP = 1, OPTION_VERSION };

static const struct argument rows[] = {
    { OPTION_HELP, 'h', "help", NULL, 0, "print this help and exit" },
    { OPTION_VERSION, 'V', "version", NULL, 0, "print the version and exit" },
    { 0 },
};

static const struct arguments arguments = { .tables = { rows }, .command = true };

static int pyreel_misuse(const char *text)
{
    fprintf(stderr, "pyreel: %s\nTry 'pyreel --help'.\n", text);
    return EXIT_MISUSE;
}

static int help(int count, char **words)
{
    if (count > 1)
        return pyreel_misuse("help explains one verb or topic at a time");
    return help_about(&arguments, count == 1 ? words[0] : "");
}

static int pyreel_run(int argc, char **argv)
{
    int wrong;
    const struct argument *const option = arguments_next(&arguments, argc, argv, &wrong);
    if (option && option->number == OPTION_HELP)
        help_print(&arguments);
    else if (option)
        printf("pyreel %s\n", PYREEL_VERSION);
    if (option)
        return 0;
    if (wrong)
        return fprintf(stderr, "Try 'pyreel --help'.\n"), EXIT_MISUSE;
    if (optind == argc)
        return pyreel_misuse("give a verb, for example:\n"
                             "  pyreel record app.py     record a program (pyreel record -p PID: one that runs)\n"
                             "  pyreel report            show where its time went\n"
                             "  pyreel flame --open      show the same as a flame graph");
    if (strcmp(argv[optind], "help") == 0)
        return help(argc - optind - 1, argv + optind + 1);
    return program_become(argv[optind], argv + optind, "no verb");
}

int main(int argc, char **argv)
{
    startup(EXIT_PYREEL);
    const int code = pyreel_run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "pyreel: cannot write to standard output: %s\n", strerror(errno));
    return EXIT_PYREEL;
}
