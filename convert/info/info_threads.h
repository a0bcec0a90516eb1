/* SPDX-License-Identifier: MIT */
/* The threads that pyreel-info shows: name and numbers, number of samples, and how much of the time each thread had
 * each status, as tables that sum up states have it. Entries that stand for a task are in info_tasks.h. */
#ifndef PYREEL_CONVERT_INFO_INFO_THREADS_H
#define PYREEL_CONVERT_INFO_INFO_THREADS_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

#include <jansson.h>

/* The number of threads, without the entries that stand for tasks. */
uint64_t info_threads_count(const struct tables *tables);

/* All threads as a JSON list of objects. The caller owns the list. */
json_t *info_threads_json(const struct tables *tables);

/* Prints a table of the threads, in the order of their numbers: all of them, or those that used the most CPU time;
 * where that is not known, those with the most samples. */
void info_threads_print(struct output *to, const struct tables *tables, bool all);

#endif
