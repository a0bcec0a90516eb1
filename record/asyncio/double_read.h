/* SPDX-License-Identifier: MIT */
/* Copies small ranges of the target's memory twice: before a moment and after it.
 *
 *     first copy: all ranges │ the moment │ second copy: all ranges
 *
 * A range that is equal in both copies had this value at the moment. All equal ranges had their values at the same
 * time, so objects that lie far apart belong together. Only a program that changes a range and changes it back between
 * the copies defeats this proof.
 *
 * The second copy can serve as the first copy of the next moment (double_read_turn). Then only new ranges are read
 * before the next moment.
 *
 * A copy takes one system call, or a few. Ranges that lie close together are read as one part, with the bytes between
 * them, because a further part costs more than some more bytes. The bytes that were read are not trusted. */
#ifndef PYREEL_RECORD_ASYNCIO_DOUBLE_READ_H
#define PYREEL_RECORD_ASYNCIO_DOUBLE_READ_H

#include "record/process/remote.h"

#include <stdbool.h>

/* A range that the caller asked for. */
struct range {
    uint64_t address;
    uint32_t size;
    uint32_t at;   /* offset in the copies */
    uint32_t part; /* index of the part that has the range; UINT32_MAX: none, the copies would be too large */
};

enum comparison { COMPARISON_NONE, COMPARISON_EQUAL, COMPARISON_DIFFERENT };

/* A part of memory that is read as one piece. It has one range or more. */
struct part {
    uint64_t address;
    uint32_t size, at;    /* `at`: offset in the copies */
    bool wanted;          /* the next copy reads the part; true in a new plan */
    bool before, after;   /* the first copy has the part; the second copy has it */
    bool turned;          /* the first copy's bytes of the part were read as a second copy (double_read_turn) */
    bool lost;            /* the part could not be read */
    enum comparison same; /* the comparison of both copies of the part */
};

/* `= {0}` has no ranges. */
struct double_read {
    struct range *ranges; /* in the order in which they were added */
    size_t count, ranges_room;
    uint32_t *order; /* indexes of the ranges, sorted by address */
    size_t order_room;
    struct part *parts, *old_parts; /* of this plan and of the plan before, each sorted by address */
    size_t parts_count, parts_room, old_count, old_room;
    unsigned char *first, *second;        /* the copies */
    size_t size, first_room, second_room; /* `size`: bytes of a copy */
    bool planned;                         /* the parts are those of the present ranges */
};

/* Removes all ranges. The first copy's bytes stay: the next plan takes over the ranges that it has again. */
void double_read_clear(struct double_read *double_read);

/* Adds a range. Its index is the number of ranges before it. Nothing is read before the next copy. */
void double_read_add(struct double_read *double_read, uint64_t address, uint32_t size);

/* Selects which ranges the next copies read: this range too; all ranges (`wanted`), or none. */
void double_read_want(struct double_read *double_read, size_t index);
void double_read_want_all(struct double_read *double_read, bool wanted);

/* Makes the first or the second copy. The first copy reads only the parts that it does not have yet. A part that cannot
 * be read is left out. Returns REMOTE_READ, unless the process is gone or may not be read. */
enum remote_state double_read_copy(struct double_read *double_read, struct remote *remote, bool second);

/* Makes the second copy the first copy. */
void double_read_turn(struct double_read *double_read);

/* Drops the first copy: it is read anew. */
void double_read_drop(struct double_read *double_read);

/* The bytes of a range in the second copy; in the first copy. NULL when the copy does not have the range. */
const unsigned char *double_read_at(const struct double_read *double_read, size_t index);
const unsigned char *double_read_first(const struct double_read *double_read, size_t index);

/* Whether both copies have the range, with equal bytes. */
bool double_read_same(struct double_read *double_read, size_t index);

/* Whether the ranges `from` to `end` - 1 are equal in both copies, and the first copy's bytes were read as a second
 * copy before. */
bool double_read_still(struct double_read *double_read, size_t from, size_t end);

/* Frees the memory, and leaves no ranges. */
void double_read_free(struct double_read *double_read);

#endif
