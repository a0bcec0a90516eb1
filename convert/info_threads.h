/* SPDX-License-Identifier: MIT */
/* What pyreel-info tells of each thread (not of entries that stand for a task, see info_tasks.h): who it is, how often
 * it was sampled, and what its samples found it doing. */
#ifndef PYREEL_CONVERT_INFO_THREADS_H
#define PYREEL_CONVERT_INFO_THREADS_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

#include <jansson.h>

/* What a thread did, in nanoseconds: how long its samples with a known status stand for, and how much of that time had
 * each status bit. */
struct doing {
    double known, cpu_known;
    double cpu, gil, gil_wait, exception;
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
