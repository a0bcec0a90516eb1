/* SPDX-License-Identifier: MIT */
/* What pyreel-info tells of each thread (not of entries that stand for a task, see info_tasks.h): who it is, how often
 * it was sampled, and what its samples found it doing. */
#ifndef PYREEL_CONVERT_INFO_THREADS_H
#define PYREEL_CONVERT_INFO_THREADS_H

#include "formats/base/output.h"
#include "formats/model/attribute.h"
#include "formats/model/tables.h"

#include <jansson.h>

/* What a thread did, in nanoseconds: how long its samples stand for that say something of a state, and how long those
 * that say that the thread was so. Amounts are in the tables. */
struct doing {
    double known[ATTRIBUTES], was[ATTRIBUTES];
};

/* By thread. `= {0}` is empty. */
struct info_threads {
    struct doing *rows;
    size_t room;
    bool known; /* of some thread */
};

void info_threads_take(struct info_threads *threads, const struct sample *sample);

/* A list of objects; a table for people. */
json_t *info_threads_json(const struct info_threads *threads, const struct tables *tables);
void info_threads_print(struct output *to, const struct info_threads *threads, const struct tables *tables);

void info_threads_free(struct info_threads *threads);

#endif
