/* SPDX-License-Identifier: MIT */
/* Writes an aggregate as a pprof profile (schemas/profile.proto). Each row becomes a sample with a count and times, the
 * stack as locations, and labels for the thread and its task.
 *
 *     samples/count, wall/nanoseconds (the default), cpu/nanoseconds
 *     gil/nanoseconds, gil_wait/nanoseconds: time with the interpreter's lock, and waiting for it
 *     thread "MainThread", thread_id 4313, pid 4313, interpreter 0; more in formats/pprof/pprof_labels.h
 *
 * pprof_rows.h has which samples there are. The whole message is never in memory. Samples are packed a few hundred at a
 * time, each packet as a small Profile message: concatenated Profile messages are one profile. Strings, mappings,
 * functions and locations are numbered at first use and follow at the end, with the members that may occur only once.
 *
 * A location is a function, a line, and on request a column, in a mapping. A mapping is an interpreter's executable;
 * there is one for each distinct executable. Ids count from 1 without gaps and texts occur once. Nothing unused is
 * written, except for the mapping of the first process, which pprof takes for the main program. A stack without Python
 * frames has a function <no Python frames>, so that each sample has a location. A function's system name is left out,
 * because pprof would demangle it as C++ and drop names such as <module>. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_H
#define PYREEL_FORMATS_PPROF_PPROF_H

#include "formats/base/output.h"
#include "formats/model/aggregate.h"
#include "formats/model/outline.h"

/* A part of the recording's time. `= {0}`: the whole recording. */
struct pprof_part {
    uint64_t from_ns, to_ns; /* since the start of the recording; the recording may end before `to_ns` */
    bool goes_on;            /* the end of the recording is not in this part */
};

struct pprof_style {
    enum frame_detail detail; /* DETAIL_FUNCTIONS: a location is a whole function, with its first line */
    bool cpu_first;           /* the default is CPU time, if known, instead of wall-clock time */
    bool chosen_labels;       /* samples have the labels in `labels`; otherwise LABELS_USUAL */
    unsigned labels;          /* a set of labels, see formats/pprof/pprof_label_names.h */
    bool opcodes;             /* samples have labels for the leaf's instruction in addition */
    bool qualify;             /* functions are named with their modules: json.decoder.JSONDecoder.decode */
    uint64_t max_depth;       /* deeper stacks lack their middle, see outline_shorten(); 0: no limit */
    uint64_t min_count;       /* rows with fewer samples become one row <rest> for each thread */
    bool no_comments;         /* no comment holds a text of the recording */
    uint64_t unplaced_cpu_ns; /* CPU time that belongs to no sample */
    struct pprof_part part;   /* the time of the aggregate's samples */
};

/* When a part begins and ends, since the start of the recording. */
static inline uint64_t pprof_part_begin_ns(const struct pprof_part *part, const struct tables *tables)
{
    return part->from_ns > tables->recording.from_ns ? part->from_ns : tables->recording.from_ns;
}

static inline uint64_t pprof_part_end_ns(const struct pprof_part *part, const struct tables *tables)
{
    const uint64_t end_ns = tables_end_ns(tables);
    return part->to_ns && part->to_ns < end_ns ? part->to_ns : end_ns;
}

/* Writes the profile, and returns its number of samples. The aggregate must be sorted. The label `status` needs an
 * aggregate whose group_of is pprof_status_of (formats/pprof/pprof_status.h), and labels for spans one with by_span.
 * Write errors are kept in `to`. */
size_t pprof_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                   const struct pprof_style *style);

/* The number of samples that the profile would have. Takes as long as pprof_write() without the writing. */
size_t pprof_count(const struct tables *tables, const struct aggregate *aggregate, const struct pprof_style *style);

#endif
