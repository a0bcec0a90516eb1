/* SPDX-License-Identifier: MIT */
/* What pyreel-info tells of asyncio tasks: which there were, on which thread, and in how many samples. */
#ifndef PYREEL_CONVERT_INFO_TASKS_H
#define PYREEL_CONVERT_INFO_TASKS_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

#include <jansson.h>

/* How many tasks the recording defines. */
uint64_t info_tasks_count(const struct tables *tables);

/* A list of objects, all tasks; a table for people, of those with most samples. */
json_t *info_tasks_json(const struct tables *tables);
void info_tasks_print(struct output *to, const struct tables *tables);

#endif
