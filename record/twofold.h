/* SPDX-License-Identifier: MIT */
/* Small places of the target's memory, copied twice: before a moment and after it. What both copies have the same was
 * so at the moment, and all of it at once: that is how objects which lie apart are shown to belong together. The
 * program would have to change a place and change it back between the copies to deceive us.
 *
 *     first copy: all places │ the moment │ second copy: all places
 *
 * Each copy is one system call, or few: places that lie close together are read as one piece with what is between them,
 * since a piece costs more than its bytes. What was read is not trusted. */
#ifndef PYREEL_RECORD_TWOFOLD_H
#define PYREEL_RECORD_TWOFOLD_H

#include "record/remote.h"

#include <stdbool.h>

struct place {
    uint64_t address;
    uint32_t size;
    uint32_t at;   /* where it is in the copies */
    uint32_t part; /* the piece that it is in */
};

/* A piece. */
struct part {
    uint64_t address;
    uint32_t size, at;
    bool lost;  /* it can't be read */
    bool again; /* the second copy has it; else that is as the first one */
};

/* `= {0}` has no places. */
struct twofold {
    struct place *places; /* as they were added */
    size_t count, places_room;
    uint32_t *order; /* of the places, by address */
    size_t order_room;
    struct part *parts;
    size_t parts_count, parts_room;
    unsigned char *first, *second, *kept; /* copies; `kept` is the second one of an earlier time */
    size_t size, room;
    bool planned, has_kept;
};

/* Forgets all places. */
void twofold_clear(struct twofold *twofold);

/* Adds a place; places count from 0. Nothing is read before the next copy. */
void twofold_add(struct twofold *twofold, uint64_t address, uint32_t size);

/* The second copy is to have a place; without that it has none but what is there of the first one. */
void twofold_again(struct twofold *twofold, size_t place);

/* Makes the first copy, or the second one. What can't be read is left out. REMOTE_READ unless the process is gone or
 * may not be read. */
enum remote_state twofold_copy(struct twofold *twofold, struct remote *remote, bool second);

/* The second copy is to be compared with later. */
void twofold_keep(struct twofold *twofold);

/* A place in the second copy; NULL when it could not be read. */
const unsigned char *twofold_at(const struct twofold *twofold, size_t place);
/* The same in the first copy. */
const unsigned char *twofold_first(const struct twofold *twofold, size_t place);

/* Whether a place is the same in both copies. */
bool twofold_same(const struct twofold *twofold, size_t place);
/* Whether a place in the first copy is the same as in the copy that was kept. */
bool twofold_kept(const struct twofold *twofold, size_t place);
/* Whether it is the same in all three. */
bool twofold_still(const struct twofold *twofold, size_t place);

void twofold_free(struct twofold *twofold);

#endif
