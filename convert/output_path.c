/* SPDX-License-Identifier: MIT */
#include "convert/output_path.h"

#include "convert/inputs.h"
#include "formats/base/alloc.h"
#include "formats/base/replaced.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *output_path_make(const struct settings *settings, const struct converter *converter)
{
    if (settings->output)
        return alloc_copy(settings->output, strlen(settings->output));
    if (!converter->file.suffix || strcmp(settings->input, "-") == 0)
        return alloc_copy("-", 1);
    char *path = alloc_zeroed(strlen(settings->input) + strlen(converter->file.suffix) + 1, 1);
    return strcat(strcpy(path, settings->input), converter->file.suffix);
}

/* Whether the output is the same file as one of the recordings. */
static bool is_input(const struct inputs *inputs, const struct stat *output)
{
    for (size_t i = 0; i < inputs->count && S_ISREG(output->st_mode); i++) {
        const char *path = inputs->rows[i].path;
        struct stat input;
        const bool exists = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &input) == 0 : stat(path, &input) == 0;
        if (exists && input.st_ino == output->st_ino && input.st_dev == output->st_dev)
            return true;
    }
    return false;
}

/* Whether the output may replace the file that is at its path. */
static bool may_replace(const struct settings *settings, const struct converter *converter, const char *path,
                        struct fault *why)
{
    char what[64];
    snprintf(what, sizeof(what), "a file of %s", converter->name);
    const struct replaced file = {
        .path = path, .what = what, .recognises = converter->file.recognises, .force = settings->force
    };
    /* output_open() refuses a strange link, wherever the link leads. */
    return output_is_standard(path) || replaced_is_strange_link(path) || replaced_is_allowed(&file, why);
}

bool output_path_open(struct conversion *conversion, const char *path, struct fault *why)
{
    const struct converter *converter = conversion->converter;
    struct stat output;
    const bool exists = strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &output) == 0 : stat(path, &output) == 0;
    if (exists && is_input(conversion->inputs, &output))
        return fault(why, "%s is the recording itself: name another output with -o", path);
    if (conversion->plan.binary && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        return fault(
            why,
            "the output is binary and standard output is a terminal: name a file with -o, or redirect standard output");
    if (!may_replace(&conversion->settings, converter, path, why))
        return false;
    const bool gzip = converter->file.packing == PACKING_ALWAYS ||
                      (converter->file.packing == PACKING_BY_NAME && text_ends(text_of(path), TEXT(".gz")));
    return output_open(&conversion->output, path, gzip, why);
}
