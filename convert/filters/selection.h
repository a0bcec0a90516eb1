/* SPDX-License-Identifier: MIT */
/* The part of the recordings that the user wants: --threads, --from, --to. */
#ifndef PYREEL_CONVERT_FILTERS_SELECTION_H
#define PYREEL_CONVERT_FILTERS_SELECTION_H

#include "formats/model/tables.h"

struct selection {
    const char *threads;     /* names, numbers and patterns (fnmatch), with commas between; NULL: all threads */
    uint64_t from_ns, to_ns; /* times since the start; to_ns 0: to the end */
};

/* Whether the selection leaves out anything. */
bool selection_is_partial(const struct selection *selection);

/* Whether the selection has this time. */
bool selection_has_time(const struct selection *selection, uint64_t time_ns);

/* Whether the selection has the thread, by its number or by its present name. */
bool selection_has_thread(const struct selection *selection, const struct tables *tables, uint32_t thread);

/* Parses seconds: "2.5" → nanoseconds. False when the text is no number from 0 on. */
bool selection_parse_seconds(const char *text, uint64_t *time_ns);

#endif
