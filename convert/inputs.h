/* SPDX-License-Identifier: MIT */
/* The recordings to convert. Of several, and where names of threads decide what is wanted, each is looked at before it
 * is read: all begin at some time of the same clock, and a thread's name may come after its first samples. */
#ifndef PYREEL_CONVERT_INPUTS_H
#define PYREEL_CONVERT_INPUTS_H

#include "convert/filters/selection.h"
#include "formats/base/fault.h"

#include <sys/types.h>

struct input {
    const char *path; /* "-" for standard input, which can't be looked at */
    dev_t device;     /* which file it is; 0 where it was not looked for */
    ino_t inode;
    struct text name; /* what tells it from the others: that of the file, or its path when names are the same; UTF-8 */
    bool known;       /* it was looked at, and is a recording */
    uint64_t start_unix_ns, interval_ns;
    bool *wanted; /* by number of a thread: it has, at some time, a name that is wanted */
    size_t wanted_room;
};

struct inputs {
    struct input *rows;
    size_t count;
    uint64_t start_unix_ns; /* of the first to begin */
    uint64_t interval_ns;   /* the least of all */
    bool modes_differ;
};

/* Takes `paths`, and looks at them if need be. False with the reason when one can't be opened; one that is damaged is
 * not known. */
bool inputs_open(struct inputs *inputs, char **paths, size_t count, const struct selection *selection,
                 struct fault *why);
void inputs_close(struct inputs *inputs);

/* How the whole is described: as the first one that is read, but for what is not the same in all, and from when the
 * first of them began on, as far as they could be looked at. It begins then. */
struct recording inputs_begin(struct inputs *inputs, const struct recording *first);

/* How much later than the whole one begins; `start_unix_ns` 0: nobody knows, so with it. The first date that comes up
 * is that of the whole, if it has none. */
uint64_t inputs_offset_ns(struct inputs *inputs, uint64_t start_unix_ns);

/* Opens a file to read a recording from; *bytes is its size, 0 when it is no regular file. -1 with the reason. */
int inputs_open_file(const char *path, uint64_t *bytes, struct fault *why);
void inputs_close_file(int fd);

#endif
