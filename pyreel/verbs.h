/* SPDX-License-Identifier: MIT */
/* Verbs: "pyreel record" is the program pyreel-record. The table has the programs of this project; a program
 * pyreel-VERB of others is a verb, too, when it is found. */
#ifndef PYREEL_PYREEL_VERBS_H
#define PYREEL_PYREEL_VERBS_H

#include <stdbool.h>
#include <stddef.h>

#define VERB_PREFIX "pyreel-"
#define VERB_SIZE   48 /* bytes of a verb at most, with a NUL */

/* What a verb is for: the groups of the help, in their order. */
enum verb_group { VERB_RECORDS, VERB_LOOKS, VERB_CONVERTS, VERB_COMPARES, VERB_CHECKS, VERB_GROUPS };

struct verb {
    const char *name;
    const char *does; /* as the section NAME of the man page says */
    enum verb_group group;
};

extern const char *const verb_groups[VERB_GROUPS];

/* The programs of this project, by group. Ends in a row of zeros. */
extern const struct verb verbs[];

/* Whether the table has the verb. */
bool verb_is_ours(const char *name);

/* Whether a word may be a verb: letters, digits, - and _, so never a path. */
bool verb_is_possible(const char *word);

/* Writes the name of a verb's program into `program`, of VERB_SIZE + sizeof(VERB_PREFIX) bytes. */
void verb_program(char *program, const char *verb);

#endif
