/* SPDX-License-Identifier: MIT */
/* Chooses the path of a converter's output, and opens the output. */
#ifndef PYREEL_CONVERT_OUTPUT_PATH_H
#define PYREEL_CONVERT_OUTPUT_PATH_H

#include "convert/convert.h"

/* The path of the output: the -o option, or INPUT.suffix, or standard output for a recording from standard input. The
 * caller frees the path. */
char *output_path_make(const struct settings *settings, const struct converter *converter);

/* Opens the output at `path`, which must live as long as the output. False with the reason when the file cannot be
 * opened, is one of the recordings, may not be replaced, or is a terminal and the output is binary. */
bool output_path_open(struct conversion *conversion, const char *path, struct fault *why);

#endif
