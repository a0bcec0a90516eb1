/* SPDX-License-Identifier: MIT */
/* The contents of a profile that everybody sees who has its link, in words: how many of each kind of name, and one of
 * them.
 *
 *     the host                 build-7
 *     2 command lines          such as python3 app.py --user ann
 *     153 files                such as /home/ann/app/app.py
 */
#ifndef PYREEL_CONVERT_SHARING_DISCLOSED_H
#define PYREEL_CONVERT_SHARING_DISCLOSED_H

#include "formats/model/tables.h"

#include <stdio.h>

/* Source files whose text is in the profile. */
struct disclosed_sources {
    uint64_t count;
    bool at_most;        /* the files were not read yet, and some may be absent */
    struct text example; /* name of one of the files; borrowed */
};

/* The files of functions whose text a profile may have: all but those of the standard library. */
struct disclosed_sources disclosed_texts_of(const struct tables *tables);

/* Prints a line for each kind that the profile has. */
void disclosed_print(FILE *to, const struct tables *tables, struct disclosed_sources sources);

#endif
