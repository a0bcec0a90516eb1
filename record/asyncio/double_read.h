/* SPDX-License-Identifier: MIT */
/* Small places of the target's memory, copied twice: before a moment and after it. What both copies have the same was
 * so at the moment, and all of it at once: that is how objects which lie apart are shown to belong together. The
 * program would have to change a place and change it back between the copies to deceive us.
 *
 *     first copy: all places │ the moment │ second copy: all places
 *
 * The second copy can be the first one of the next moment: then only what is new has to be read before that.
 *
 * Each copy is one system call, or few: places that lie close together are read as one piece with what is between them,
 * since a piece costs more than its bytes. What was read is not trusted. */
#ifndef PYREEL_RECORD_ASYNCIO_DOUBLE_READ_H
#define PYREEL_RECORD_ASYNCIO_DOUBLE_READ_H

#include "record/process/remote.h"

#include <stdbool.h>

struct place {
    uint64_t address;
    uint32_t size;
    uint32_t at;   /* where it is in the copies */
    uint32_t part; /* the piece that it is in */
};

enum comparison { NOT_COMPARED, THE_SAME, NOT_THE_SAME };

/* A piece. */
struct part {
    uint64_t address;
    uint32_t size, at;
    bool wanted;        /* the next copies are to have it; so it is at first */
    bool before, after; /* the first copy has it; the second one */
    bool turned;        /* what the first one has was the second one at an earlier time */
    bool lost;          /* it could not be read */
    enum comparison same;
};

/* `= {0}` has no places. */
struct double_read {
    struct place *places; /* as they were added */
    size_t count, places_room;
    uint32_t *order; /* of the places, by address */
    size_t order_room;
    struct part *parts, *old_parts; /* old: of the plan before, by address */
    size_t parts_count, parts_room, old_count, old_room;
    unsigned char *first, *second; /* copies */
    size_t size, first_room, second_room;
    bool planned;
};

/* Forgets all places, but not what the first copy has of them. */
void double_read_clear(struct double_read *double_read);

/* Adds a place; places count from 0. Nothing is read before the next copy. */
void double_read_add(struct double_read *double_read, uint64_t address, uint32_t size);

/* The next copies are to have a place, or all, or none until it is asked for. */
void double_read_want(struct double_read *double_read, size_t place);
void double_read_want_all(struct double_read *double_read, bool wanted);

/* Makes the first copy, of what is not there of it yet, or the second one. What can't be read is left out. REMOTE_READ
 * unless the process is gone or may not be read. */
enum remote_state double_read_copy(struct double_read *double_read, struct remote *remote, bool second);

/* The second copy is the first one from now on. */
void double_read_turn(struct double_read *double_read);
/* There is no first copy from now on. */
void double_read_drop(struct double_read *double_read);

/* A place in the second copy; NULL when that does not have it. */
const unsigned char *double_read_at(const struct double_read *double_read, size_t place);
/* The same in the first copy. */
const unsigned char *double_read_first(const struct double_read *double_read, size_t place);

/* Whether both copies have a place, and the same. */
bool double_read_same(struct double_read *double_read, size_t place);
/* Whether that is so of the places from one on, up to another, since the first copy was the second one. */
bool double_read_still(struct double_read *double_read, size_t from, size_t end);

void double_read_free(struct double_read *double_read);

#endif
