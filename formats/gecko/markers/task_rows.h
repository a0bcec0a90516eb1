/* SPDX-License-Identifier: MIT */
/* Rows of tasks. Tasks of one kind have one name, and a server runs many of them at a time. The marker chart places
 * overlapping markers of one name below each other, but a reader that takes a name for a nesting of calls, as Perfetto
 * does, drops a marker that overlaps another one of its name in part. For such a reader, tasks that live at the same
 * time have names of their own:
 *
 *     fetch    |-----| |----|
 *     #2 fetch    |------|
 */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_TASK_ROWS_H
#define PYREEL_FORMATS_GECKO_MARKERS_TASK_ROWS_H

#include "formats/gecko/markers/marker_store.h"

/* Numbers the rows of tasks: each task gets the first row of its name that is free on the line of its thread.
 * `markers`: settled ones. `names`: by marker, the number of the name; only those of tasks are read. */
void task_rows_assign(struct marker *markers, size_t count, const uint32_t *names);

#endif
