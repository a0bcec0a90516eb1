/* SPDX-License-Identifier: MIT */
/* Man pages, and the programs of others that are verbs, too. */
#ifndef PYREEL_PYREEL_PLACES_H
#define PYREEL_PYREEL_PLACES_H

#include "pyreel/verbs.h"

#define PLACES_OTHERS_MOST 40

/* Verbs of programs that are not of this project, by name. */
struct other_verbs {
    char names[PLACES_OTHERS_MOST][VERB_SIZE];
    size_t count;
};

/* Returns the path of a man page of section 1 that came with pyreel, owned; NULL: the page is not there. */
char *places_find_page(const char *page);

/* Finds the verbs of others beside pyreel and in the folders of PATH, PLACES_OTHERS_MOST at most. */
void places_find_others(struct other_verbs *others);

#endif
