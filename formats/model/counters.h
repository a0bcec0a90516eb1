/* SPDX-License-Identifier: MIT */
/* What a recorder counted about its own work: a list of names and values, told at the end of a recording and shown by
 * pyreel-record --stats and by pyreel-info, both with the words of this file.
 *
 *     cache_full   9800        "as they were last time            9800   98.0 %"
 *
 * A name is 1 to 64 lower-case letters, digits and underscores and never changes its meaning. One that has no words
 * here, as of a later version, is shown as it is. */
#ifndef PYREEL_FORMATS_MODEL_COUNTERS_H
#define PYREEL_FORMATS_MODEL_COUNTERS_H

#include "formats/base/fault.h"
#include "formats/model/event.h"

#define FIGURES_LIMIT 128 /* names */

struct counters {
    struct figure *rows; /* names are owned and ended by a NUL */
    size_t count, room;
};

/* Adds a figure, or gives the one of this name another value. False when it is no name or there are too many. */
bool counters_set(struct counters *list, struct text name, uint64_t value, struct fault *why);

/* The figure of a name; NULL when it was not told. */
const struct figure *counters_find(const struct counters *list, const char *name);

/* The value of a name; 0 when there is none. */
uint64_t counters_get(const struct counters *list, const char *name);

/* A figure as a line for people, without an end of line; the caller frees it. */
char *counters_line(const struct counters *list, size_t row);

void counters_free(struct counters *list);

#endif
