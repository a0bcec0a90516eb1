/* SPDX-License-Identifier: MIT */
/* The asyncio tasks that pyreel-info shows: their names, their threads, and their numbers of samples. */
#ifndef PYREEL_CONVERT_INFO_INFO_TASKS_H
#define PYREEL_CONVERT_INFO_INFO_TASKS_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

#include <jansson.h>

/* The number of tasks that the recording defines. */
uint64_t info_tasks_count(const struct tables *tables);

/* All tasks as a JSON list of objects. The caller owns the list. */
json_t *info_tasks_json(const struct tables *tables);

/* Prints a table of the tasks, those with most samples first: all of them, or those that have the most samples. */
void info_tasks_print(struct output *to, const struct tables *tables, bool all);

#endif
