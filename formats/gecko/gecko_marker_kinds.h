/* SPDX-License-Identifier: MIT */
/* How the profile shows the markers of formats/gecko/markers/: their names, their data, and their schemas, which tell
 * the viewer what the data is. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_MARKER_KINDS_H
#define PYREEL_FORMATS_GECKO_GECKO_MARKER_KINDS_H

#include "formats/base/json.h"
#include "formats/gecko/markers/marker_store.h"

struct gecko;

/* The index of a marker's name in the profile's strings, and its category. */
size_t gecko_marker_kinds_name(struct gecko *gecko, const struct marker *marker);
int64_t gecko_marker_kinds_category(const struct marker *marker);

/* Numbers the rows of tasks (markers/task_rows.h), which their names have. Call it once, when the store is settled. */
void gecko_marker_kinds_assign_rows(struct gecko *gecko);

/* Whether the viewer shows the stack with which the marker begins. */
bool gecko_marker_kinds_has_cause(const struct marker *marker);

/* Writes the members of a marker's data. `start`: its start in the profile's units. */
void gecko_marker_kinds_emit(struct gecko *gecko, const struct marker *marker, uint64_t start);

/* Adds the schemas of the markers that the profile has. */
void gecko_marker_kinds_add_schemas(const struct gecko *gecko, json_t *schemas);

/* Whether the viewer shows markers of this kind above the thread's graph. */
bool gecko_marker_kinds_overview(enum marker_kind kind);

/* Adds a row about the markers that are not in the profile: "1204 waits for the GIL under 5 ms". */
void gecko_marker_kinds_add_left_out(const struct gecko *gecko, json_t *texts);

#endif
