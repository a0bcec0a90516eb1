/* SPDX-License-Identifier: MIT */
/* The part of the recordings that the user wants: --processes, --threads, --from, --to. */
#ifndef PYREEL_CONVERT_FILTERS_SELECTION_H
#define PYREEL_CONVERT_FILTERS_SELECTION_H

#include "formats/model/tables.h"

struct selection {
    const char *processes;   /* titles, service names and pids, see name_list.h; NULL: all processes */
    const char *threads;     /* the same of threads */
    uint64_t from_ns, to_ns; /* times since the start; to_ns 0: to the end */
    /* Above 0: the time is this share of the length. selection_settle() makes a time in nanoseconds of it. */
    double from_share, to_share;
    /* How much of the end is wanted, as a time or as a share; both 0: no such wish. selection_settle() makes from_ns of
     * them. */
    uint64_t last_ns;
    double last_share;
};

/* Whether only a part that ends with the recording is wanted. */
bool selection_has_last(const struct selection *selection);

/* Whether the selection leaves out anything. */
bool selection_is_partial(const struct selection *selection);

/* Whether the selection has this time. */
bool selection_has_time(const struct selection *selection, uint64_t time_ns);

/* Whether the selection chooses by names, so that all threads have to be known before the first sample. */
bool selection_has_names(const struct selection *selection);

/* Whether the selection has the thread and its process, by their numbers or by their present names. */
bool selection_has_thread(const struct selection *selection, const struct tables *tables, uint32_t thread);

/* Parses a time (arguments_parse_time) → *time_ns, or a percentage of the length: "25%" → *share 0.25. The other one is
 * 0. False when the text is neither. */
bool selection_parse_time(const char *text, uint64_t *time_ns, double *share);

/* Whether a time depends on the length. */
bool selection_needs_length(const struct selection *selection);

/* Makes times of shares, by the length of the recording, or of the time line of all recordings. False with the reason
 * when the selection then ends before it begins; not when the length is 0, because then no recording could be read. */
bool selection_settle(struct selection *selection, uint64_t length_ns, struct fault *why);

#endif
