/* SPDX-License-Identifier: MIT */
/* The program of a verb, which takes the place of pyreel: exit codes and signals are those of the program. */
#ifndef PYREEL_PYREEL_PROGRAM_H
#define PYREEL_PYREEL_PROGRAM_H

#define EXIT_PYREEL 125 /* exit code: pyreel itself failed */

/* Becomes the program of a verb. `arguments` ends in NULL; the first one becomes the name of the program. Otherwise
 * says what is wrong, and returns the exit code: `what` is "no verb", or what else an unknown word is not. */
int program_become(const char *verb, char **arguments, const char *what);

#endif
