/* SPDX-License-Identifier: MIT */
/* The verb that the user probably meant with a word that is no verb. */
#ifndef PYREEL_PYREEL_SUGGESTION_H
#define PYREEL_PYREEL_SUGGESTION_H

#include <stdbool.h>

#define SUGGESTION_SIZE 64

/* Writes the arguments of pyreel that were probably meant, such as "record" or "help truth", into `meant`, of
 * SUGGESTION_SIZE bytes. False when nothing is near:
 *
 *     recrod, rec, pyreel-record   record          app.pyreel   report
 *     truth                        help truth      python3      record
 */
bool suggestion_find(char *meant, const char *word);

#endif
