/* SPDX-License-Identifier: MIT */
/* The profile in the raw format of Firefox's own profiler ("Gecko"), version 29, for readers that know only this
 * format. Version 29 is the oldest in which all that is written here stands as it is: readers convert older versions,
 * and refuse newer ones than their own.
 *
 *     {"libs": [], "pages": [], "pausedRanges": [], "threads": [...], "counters": [...], "processes": [...], "meta"}
 *
 * Tables have rows, [12,0.5,0,1000], and a schema that names their columns. Each thread has tables of its own
 * (raw_tables.h). The first process is the profile; further processes are profiles within it, with times from the same
 * zero. The format finds the main thread of a process by its name, GeckoMain, and the viewer then shows the name of
 * the process. The format has no weights of samples, no sources, and no rows for Profile Info. It knows how to draw
 * memory and rates, so the counter of waiting threads is not there. */
#ifndef PYREEL_FORMATS_GECKO_RAW_GECKO_RAW_H
#define PYREEL_FORMATS_GECKO_RAW_GECKO_RAW_H

struct gecko;

#define GECKO_RAW_VERSION "29"
#define GECKO_RAW_MAIN    "GeckoMain"

/* Writes the profile, when all tables and lines are made. */
void gecko_raw_emit(struct gecko *gecko);

/* Begins a table with this schema, a constant JSON text, and its rows. Then: ends both. */
void gecko_raw_open_table(struct gecko *gecko, const char *key, const char *schema);
void gecko_raw_close_table(struct gecko *gecko);

#endif
