/* SPDX-License-Identifier: MIT */
/* The recordings to convert. A first pass over the recordings is needed in three cases: with several recordings, to
 * find their start times on one clock; with --threads, because a thread's name may come after its first samples; and
 * when --from or --to is a percentage, because the length of a recording is known at its end. */
#ifndef PYREEL_CONVERT_INPUTS_H
#define PYREEL_CONVERT_INPUTS_H

#include "convert/filters/selection.h"
#include "convert/parts.h"
#include "formats/base/fault.h"

#include <sys/types.h>

/* The facts that a recording shares with its copies, and with no other recording. `= {0}` is of no recording. */
struct identity {
    struct text host; /* owned */
    uint64_t start_unix_ns, start_monotonic_ns;
    uint32_t pid; /* of the first process */
};

struct input {
    const char *path; /* "-": standard input, which has no first pass */
    const struct part_list *parts; /* the recording is several files, and `path` is the first; NULL: one file */
    dev_t device;     /* identify the file; 0: not known */
    ino_t inode;
    struct identity identity; /* found by the first pass */
    struct text name;         /* file name, or path if file names are equal; UTF-8 */
    bool known;               /* the first pass has read the recording, and the fields below are valid */
    uint64_t start_unix_ns, interval_ns;
    uint64_t length_ns; /* found only when the selection needs it */
    bool *wanted;       /* by number of a thread: one of the thread's names is in --threads */
    size_t wanted_room;
};

struct inputs {
    struct input *rows;
    size_t count;
    uint64_t start_unix_ns; /* the earliest start of the known recordings; 0: none is known */
    uint64_t interval_ns;   /* the shortest interval */
    bool modes_differ;      /* the recordings were made with different modes */
    bool compared;          /* the recordings stay in the order of the user, and each begins at time 0 */
};

/* The identity of the recording that these tables are of. The caller frees the host. */
struct identity identity_of(const struct tables *tables);

/* Whether both are the same recording. False when no start is known. */
bool identity_equal(const struct identity *a, const struct identity *b);

/* Adds and names all `paths`; those that `parts` has are several files. */
void inputs_name(struct inputs *inputs, char **paths, size_t count, const struct part_lists *parts);

/* Adds all `paths`, makes the first pass if it is needed, and sorts the recordings by their start. So the order of
 * `paths` does not matter, except for pipes, whose start is not known yet. False with the reason when a file cannot be
 * opened, or is a pipe whose length is needed. A damaged file is accepted; a file that is no recording too, and its
 * `known` stays false. `compared`: the recordings are not sorted, each begins at time 0, and the same one may be there
 * twice. */
bool inputs_open(struct inputs *inputs, char **paths, size_t count, const struct part_lists *parts,
                 const struct selection *selection, bool compared, struct fault *why);

/* The length of all recordings on their time line, when the selection needs it; 0: no recording is known. */
uint64_t inputs_length_ns(const struct inputs *inputs);

/* Frees all rows. */
void inputs_close(struct inputs *inputs);

/* The description of the merged recording. It is the description of `first`, the recording that is read first, with
 * these changes: the start is the earliest known start, the interval is the shortest one, and the mode is empty when
 * the modes differ. */
struct recording inputs_begin(struct inputs *inputs, const struct recording *first);

/* How much later than the merged recording a recording begins, in nanoseconds. `start_unix_ns` 0: not known, returns 0.
 * The first known start becomes the start of the merged recording, if that has none. */
uint64_t inputs_offset_ns(struct inputs *inputs, uint64_t start_unix_ns);

/* Opens a recording for reading. *bytes is the size of the file, or 0 when it is no regular file. Returns -1 with the
 * reason on failure. */
int inputs_open_file(const char *path, uint64_t *bytes, struct fault *why);

/* Starts to read an input that inputs_open_file() opened. Without the reason of a failure if `why` is NULL. */
bool inputs_open_source(const struct input *input, struct source *source, int fd, const struct source_options *options,
                        const struct sink *to, struct fault *why);

/* Closes the file. Does not close standard input. */
void inputs_close_file(int fd);

#endif
