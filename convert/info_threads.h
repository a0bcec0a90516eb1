/* SPDX-License-Identifier: MIT */
/* The threads that pyreel-info shows: name and numbers, number of samples, and how much of the time each thread had
 * each status. Entries that stand for a task are in info_tasks.h. */
#ifndef PYREEL_CONVERT_INFO_THREADS_H
#define PYREEL_CONVERT_INFO_THREADS_H

#include "formats/base/output.h"
#include "formats/model/attribute.h"
#include "formats/model/tables.h"

#include <jansson.h>

/* Times of a thread, in nanoseconds: for each state, the time that samples with a known state stand for, and the part
 * of that time in which the thread was in the state. Amounts are in the tables. */
struct doing {
    double known[ATTRIBUTES], was[ATTRIBUTES];
};

/* A row for each thread, by number. `= {0}` is empty. */
struct info_threads {
    struct doing *rows;
    size_t room;
    bool known; /* at least one sample had a known status */
};

/* Adds a sample to the times of its thread. */
void info_threads_take(struct info_threads *threads, const struct sample *sample);

/* All threads as a JSON list of objects. The caller owns the list. */
json_t *info_threads_json(const struct info_threads *threads, const struct tables *tables);

/* Prints a table of all threads. */
void info_threads_print(struct output *to, const struct info_threads *threads, const struct tables *tables);

/* Frees the rows. */

void info_threads_free(struct info_threads *threads);

#endif
