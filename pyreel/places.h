/* SPDX-License-Identifier: MIT */
/* Where programs and man pages lie. A program is found beside pyreel itself, in a build folder in the folders of the
 * other rooms, and in the folders of PATH, in this order. So programs of one version come together, wherever they are
 * installed or unpacked. */
#ifndef PYREEL_PYREEL_PLACES_H
#define PYREEL_PYREEL_PLACES_H

#include "pyreel/verbs.h"

#define PLACES_OTHERS_MOST 40

/* Verbs of programs that are not of this project, by name. */
struct other_verbs {
    char names[PLACES_OTHERS_MOST][VERB_SIZE];
    size_t count;
};

/* Returns the path of a program, owned; NULL: there is no such program. */
char *places_find(const char *program);

/* Returns the folder in which pyreel itself lies, owned; NULL: the system does not say so. */
char *places_own_folder(void);

/* Returns the path of a man page of section 1 that came with pyreel, owned; NULL: the page is not there. */
char *places_find_page(const char *page);

/* Finds the verbs of others beside pyreel and in the folders of PATH, PLACES_OTHERS_MOST at most. */
void places_find_others(struct other_verbs *others);

#endif
