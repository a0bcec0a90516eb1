/* SPDX-License-Identifier: MIT */
/* Which part of the recordings is wanted: --threads, --from, --to. */
#ifndef PYREEL_CONVERT_FILTERS_SELECTION_H
#define PYREEL_CONVERT_FILTERS_SELECTION_H

#include "formats/model/tables.h"

struct selection {
    const char *threads;     /* names and numbers with commas between; NULL: all */
    uint64_t from_ns, to_ns; /* since the start; to_ns 0: to the end */
};

/* Whether anything is left out. */
bool selection_is_partial(const struct selection *selection);

/* Whether the time is wanted. */
bool selection_has_time(const struct selection *selection, uint64_t time_ns);

/* Whether the thread, by its number or by the name that it has now, is among those that are wanted. */
bool selection_has_thread(const struct selection *selection, const struct tables *tables, uint32_t thread);

/* "2.5" → nanoseconds. False when it is no time from 0 on. */
bool selection_parse_seconds(const char *text, uint64_t *time_ns);

#endif
