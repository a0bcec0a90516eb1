/* SPDX-License-Identifier: MIT */
/* The command line of a program that compares recordings: which of them are of the side before, and which of the side
 * after.
 *
 *     A B                                 before: A          after: B
 *     --before A1 A2 --after B1 B2        before: A1 A2      after: B1 B2
 *     A1 A2 --after B1 B2                 before: A1 A2      after: B1 B2
 *     --before A B1 B2                    before: A          after: B1 B2       one is taken when --after is not there
 *     B1 B2 --before A                    before: A          after: B1 B2 */
#ifndef PYREEL_CONVERT_SIDES_H
#define PYREEL_CONVERT_SIDES_H

#include <stdbool.h>
#include <stddef.h>

enum side_named { SIDE_UNNAMED, SIDE_BEFORE, SIDE_AFTER, SIDES_NAMED };

/* `= {0}` is a command line without a word. */
struct sides {
    struct side_words {
        char **words; /* those behind the name of the side, or in front of all names */
        size_t count, room;
    } rows[SIDES_NAMED];
    bool named[SIDES_NAMED]; /* --before, --after were given */
    enum side_named current;
    bool twice; /* a side was named twice */
    char **all; /* set by sides_settle() */
};

/* Takes --before or --after. */
void sides_name(struct sides *sides, enum side_named side);

/* Takes a word that is no option. */
void sides_add(struct sides *sides, char *word);

/* Whether the command line has neither a word nor the name of a side. */
bool sides_are_empty(const struct sides *sides);

/* Orders all words: sides->all, those of before first. Returns how many there are, and sets *before to how many are of
 * before: 0 when no side is named, or *problem to what is wrong. */
size_t sides_settle(struct sides *sides, size_t *before, const char **problem);

void sides_free(struct sides *sides);

#endif
