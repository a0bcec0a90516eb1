/* SPDX-License-Identifier: MIT */
/* The command line of a converter: one table of options that also writes the help. */
#ifndef PYREEL_CONVERT_OPTIONS_H
#define PYREEL_CONVERT_OPTIONS_H

#include "convert/convert.h"

/* Fills the settings from the command line. False when the program must end at once with *exit_code: 0 after printing
 * the help or the version, 2 after reporting a wrong command line. */
bool options_read(struct settings *settings, const struct converter *converter, int argc, char **argv, int *exit_code);

/* Frees what options_read() allocated, also after it returned false. */
void options_free(struct settings *settings);

#endif
