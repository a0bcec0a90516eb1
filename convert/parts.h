/* SPDX-License-Identifier: MIT */
/* Finds the recordings among the inputs that are several files (pyreel-record --rotate), so that app-*.pyreel is one
 * recording:
 *
 *     app-0002.pyreel  app-0001.pyreel  b.pyreel   ->   app-0001.pyreel (and its part app-0002.pyreel)  b.pyreel
 *
 * The headers of the files say which of them belong together. A pipe, and a file that cannot be read, stays as it is.
 */
#ifndef PYREEL_CONVERT_PARTS_H
#define PYREEL_CONVERT_PARTS_H

#include "convert/source.h"

/* The header of a file that is a part of a recording: which recording, and which part. */
struct part_header {
    struct text host; /* owned */
    uint64_t series, bytes;
    uint32_t part; /* 0: the file is no part of a recording, cannot be read, or has no header yet */
};

/* Reads the header of a regular file. */
struct part_header parts_read_header(const char *path);

/* Whether both are parts of the same recording. */
bool parts_are_of_one(const struct part_header *a, const struct part_header *b);

struct part_list {
    struct source_parts parts;
    uint64_t bytes; /* size of all files */
};

/* `= {0}` is empty. */
struct part_lists {
    struct fault problem; /* why the files cannot be joined; empty: they can */
    struct part_list *rows;
    size_t count, room;
};

/* Leaves of each recording its first part in inputs[from] to inputs[*end - 1]. Moves the inputs behind forward, and
 * subtracts from *end and *count what was left out. Sets lists->problem when two files are the same part. */
void parts_find(struct part_lists *lists, char **inputs, size_t from, size_t *end, size_t *count);

/* The parts of the recording whose first part is the input with this path (the same pointer); NULL: it is one file. */
const struct part_list *parts_of(const struct part_lists *lists, const char *path);

void parts_free(struct part_lists *lists);

#endif
