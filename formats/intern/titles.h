/* SPDX-License-Identifier: MIT */
/* The titles of a process, with the time for which the process had each. A server's worker sets its title after it has
 * started, and sets it anew with each thing that it does, so a process needs one title for a place that has room for
 * one: the title that it had for most of the time.
 *
 *     0 s     python3 -c ...              0.2 s
 *     0.2 s   'worker: idle'              0.2 s to 5 s, 6 s to 8 s: 6.8 s
 *     5 s     'worker: GET /'             1 s
 *     6 s     'worker: idle'
 *
 * A title is a command line in the form of struct process. */
#ifndef PYREEL_FORMATS_INTERN_TITLES_H
#define PYREEL_FORMATS_INTERN_TITLES_H

#include "formats/base/text.h"

#include <stddef.h>
#include <stdint.h>

#define TITLES_MOST 64 /* titles of a process; a further one takes the place of the one with the least time */

struct titled {
    struct text title;
    uint64_t ns; /* without the time since `since_ns` */
};

/* `= {0}`: the process has always had one title. */
struct titles {
    struct titled *rows;
    size_t count, room;
    size_t current;    /* index of the title that the process has ... */
    uint64_t since_ns; /* ... since this time */
};

/* Notes that the process has a title from a time on. The first title is the one that the process begins with. */
void titles_add(struct titles *titles, struct text title, uint64_t time_ns);

/* The title that the process had for most of the time until its end; of equal ones the first. Empty: it has none. */
struct text titles_longest(const struct titles *titles, uint64_t end_ns);

void titles_free(struct titles *titles);

#endif
