/* SPDX-License-Identifier: MIT */
/* Follows a recording that goes on from file to file (pyreel-record --rotate): where the part that is read ends, the
 * feed goes on with the next one, of the user's files or beside the file.
 *
 *     app-0003.pyreel  ->  ... END "it goes on in the next file"  ->  app-0004.pyreel
 *
 * pyreel-record makes the next file before it ends a part, so a part whose next file is not there by then has none. */
#ifndef PYREEL_CONVERT_TOP_FOLLOWING_H
#define PYREEL_CONVERT_TOP_FOLLOWING_H

#include "convert/parts.h"
#include "convert/top/feed.h"

struct following {
    struct feed *feed;             /* reads the part */
    const struct part_list *known; /* parts that the user has named; NULL: none */
    struct part_header header;     /* of the part that is read */
    char *path;                    /* of this part; owned */
    atomic_uint part;              /* its number, for other threads; 0: the recording is one file */
    struct source_following row;
    struct source_parts parts; /* for source_open_parts() */
};

/* Waits until the file of the feed has bytes. Returns whether it is a part: then following->parts is valid. */
bool following_begin(struct following *following, struct feed *feed, const struct part_list *known);

void following_end(struct following *following);

#endif
