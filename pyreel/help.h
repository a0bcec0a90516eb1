/* SPDX-License-Identifier: MIT */
/* "pyreel help", and what pyreel --help prints. */
#ifndef PYREEL_PYREEL_HELP_H
#define PYREEL_PYREEL_HELP_H

#include "formats/base/arguments.h"

/* Prints the help of pyreel on standard output. */
void help_print(const struct arguments *arguments);

/* Explains a verb or a topic: prints the text of the topic; or becomes man, or the program of the verb with --help. An
 * empty word gives the help of pyreel. Returns the exit code. */
int help_about(const struct arguments *arguments, const char *word);

#endif
