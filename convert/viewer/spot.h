/* SPDX-License-Identifier: MIT */
/* Where in a profile a view hurts: which threads have most of the samples that the view is about, and from when to when
 * these samples are. Such samples are those that wait for the lock, collect garbage, or import. The other views are
 * about all samples, so they have no spot; that of the user's own code only needs a sample that has such code. */
#ifndef PYREEL_CONVERT_VIEWER_SPOT_H
#define PYREEL_CONVERT_VIEWER_SPOT_H

#include "convert/viewer/links.h"
#include "formats/gecko/gecko.h"
#include "formats/model/tables.h"

#define SPOT_THREADS 10 /* threads that a view selects; the viewer merges their samples */

/* `= { .view = view }` is empty. */
struct spot {
    enum view view;
    uint64_t *counts; /* by thread: samples that the view is about */
    size_t counts_room;
    bool *stacks; /* by stack: whether the stack has a frame that the view is about */
    size_t stacks_room, stacks_count;
    uint64_t total;          /* such samples of all threads */
    bool own_code;           /* the view is about the user's own code, and a sample has some */
    uint64_t from_ns, to_ns; /* the time of the first one, and the end of the last one */
};

/* Takes an event that the tables have accepted. `thread`: on whose line a sample is; 0: on none, so no view shows it.
 */
void spot_take(struct spot *spot, const struct tables *tables, const struct event *event, uint32_t thread);

/* Fills `threads`, which has room for SPOT_THREADS, with the thread that has most of the samples and with threads that
 * have a quarter of that or more. Returns their number; 0: there is no such sample, or the view has no spot. */
size_t spot_threads(const struct spot *spot, uint32_t *threads);

/* What is missing when no sample is such as the view is about, so that the view would be empty: the end of "the
 * recording has ...". NULL: nothing is missing. */
const char *spot_missing(const struct spot *spot);

/* Returns what a link says of a finished profile: the threads and the time of the spot. Without a spot, the link has
 * the thread that is selected at first. `lines` has room for SPOT_THREADS indexes, and must live as long as the result.
 */
struct link_profile spot_profile(const struct spot *spot, const struct gecko *gecko, const struct tables *tables,
                                 uint32_t *lines);

/* Frees what the spot owns. */
void spot_free(struct spot *spot);

#endif
