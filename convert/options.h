/* SPDX-License-Identifier: MIT */
/* The command line of a converter: one table of options that also writes the help. */
#ifndef PYREEL_CONVERT_OPTIONS_H
#define PYREEL_CONVERT_OPTIONS_H

#include "convert/convert.h"

/* Fills the settings from the command line. False when the program is to end at once with *exit_code, because the
 * help or the version was asked for and printed (0) or the command line is wrong and that was said (2). */
bool options_read(struct settings *settings, const struct converter *converter, int argc, char **argv, int *exit_code);

#endif
