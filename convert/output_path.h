/* SPDX-License-Identifier: MIT */
/* Where the output of a converter goes. */
#ifndef PYREEL_CONVERT_OUTPUT_PATH_H
#define PYREEL_CONVERT_OUTPUT_PATH_H

#include "convert/convert.h"
#include "convert/inputs.h"

/* The output that was asked for, or INPUT.suffix; what comes from standard input goes to standard output. The caller
 * frees it. */
char *output_path_make(const struct settings *settings, const struct converter *converter);

/* Opens the output at `path`, which must live as long. Not over a recording, and nothing binary on a terminal. */
bool output_path_open(struct conversion *conversion, const struct converter *converter, const struct inputs *inputs,
                      const char *path, struct fault *why);

#endif
