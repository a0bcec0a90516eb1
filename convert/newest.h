/* SPDX-License-Identifier: MIT */
/* The newest recording of the current folder: what a converter reads when the user names none. */
#ifndef PYREEL_CONVERT_NEWEST_H
#define PYREEL_CONVERT_NEWEST_H

#include <stddef.h>

/* `= {0}` is empty. */
struct newest {
    char **paths; /* the file that was written last; behind it, the other files of that recording (--rotate). Owned */
    size_t count, room;
};

/* Finds the file *.pyreel that was written last. Leaves `newest` empty when the folder has none. */
void newest_find(struct newest *newest);

void newest_free(struct newest *newest);

#endif
