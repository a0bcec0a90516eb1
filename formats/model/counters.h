/* SPDX-License-Identifier: MIT */
/* Counters of the recorder's own work: a list of names and values. The recorder emits the list at the end of a
 * recording; pyreel-record --stats and pyreel-info show it, both with the wordings of counters.c and in their order.
 *
 *     cache_full   9800        "as they were last time            9800   98.0 %"
 *
 * A name is 1 to 64 lower-case letters, digits and underscores, and never changes its meaning. A name without a
 * wording, for example that of a later version, is shown as it is. */
#ifndef PYREEL_FORMATS_MODEL_COUNTERS_H
#define PYREEL_FORMATS_MODEL_COUNTERS_H

#include "formats/base/fault.h"
#include "formats/model/event.h"

#define COUNTERS_LIMIT 128 /* counters of a recording */

struct counters {
    struct counter *rows; /* owned names that end with a NUL */
    size_t count, room;
};

/* Adds a counter, or changes the value of the counter with this name. Returns false with the reason when the name
 * breaks the rules or the list is full. */
bool counters_set(struct counters *list, struct text name, uint64_t value, struct fault *why);

/* Whether the values of parts of a recording add up to the value of the recording. If not, the latest one counts. */
bool counters_add_up(struct text name);

/* The counter with this name; NULL when there is none. */
const struct counter *counters_find(const struct counters *list, const char *name);

/* The value of the counter with this name; 0 when there is none. */
uint64_t counters_get(const struct counters *list, const char *name);

/* A counter as a line for people, without an end of line. The caller frees the line. */
char *counters_line(const struct counters *list, size_t row);

/* Frees the list and its names, and makes it empty. */
void counters_free(struct counters *list);

#endif
