/* SPDX-License-Identifier: MIT */
/* pyreel-dump: prints what each thread of a process does now. */
#include "formats/base/startup.h"
#include "record/dump/dump_live.h"
#include "record/dump/dump_text.h"
#include "record/process/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BECOME_PYTHON_NS 1000000000u /* how long the process may take to become a Python */

static int dump_process(const struct dump_options *options, struct output *to)
{
    struct dumped dumped;
    struct fault why = { 0 };
    const struct screen screen = screen_of(STDOUT_FILENO);
    const enum dump_result result = dump_live(&dumped, options->pid, options, clock_now_ns() + BECOME_PYTHON_NS, &why);
    if (result == DUMP_DONE) {
        struct source_lines lines;
        source_lines_open(&lines, &dumped);
        dump_text(to, &screen, &dumped, &lines);
        source_lines_close(&lines);
    } else {
        fprintf(stderr, "pyreel-dump: %s\n", why.text);
    }
    dumped_free(&dumped);
    return result == DUMP_DONE ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    startup(EXIT_FAILURE);
    struct dump_options options;
    int exit_code;
    if (!dump_options_read(&options, argc, argv, &exit_code))
        return exit_code;
    struct output to = { 0 };
    struct fault why = { 0 };
    if (!output_open(&to, "-", false, &why)) {
        fprintf(stderr, "pyreel-dump: %s\n", why.text);
        return EXIT_FAILURE;
    }
    exit_code = dump_process(&options, &to);
    if (!output_close(&to, NULL, &why)) {
        fprintf(stderr, "pyreel-dump: %s\n", why.text);
        return EXIT_FAILURE;
    }
    return exit_code;
}
