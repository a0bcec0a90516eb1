/* SPDX-License-Identifier: MIT */
#include "convert/sides.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void sides_name(struct sides *sides, enum side_named side)
{
    sides->twice |= sides->named[side];
    sides->named[side] = true;
    sides->current = side;
}

static void side_words_add(struct side_words *words, char *word)
{
    words->words = alloc_grow(words->words, &words->room, words->count + 1, sizeof(*words->words));
    words->words[words->count++] = word;
}

void sides_add(struct sides *sides, char *word)
{
    side_words_add(&sides->rows[sides->current], word);
}

bool sides_are_empty(const struct sides *sides)
{
    for (enum side_named side = 0; side < SIDES_NAMED; side++)
        if (sides->named[side] || sides->rows[side].count > 0)
            return false;
    return true;
}

/* Without --after, only the first word behind --before is of before. */
static void move_rest(struct sides *sides)
{
    struct side_words *before = &sides->rows[SIDE_BEFORE];
    for (size_t i = 1; i < before->count; i++)
        side_words_add(&sides->rows[SIDE_AFTER], before->words[i]);
    before->count = before->count ? 1 : 0;
}

/* Words in front of the name of one side are of the other one. */
static void move_unnamed(struct sides *sides, enum side_named to)
{
    struct side_words moved = { 0 }, *unnamed = &sides->rows[SIDE_UNNAMED], *side = &sides->rows[to];
    for (size_t i = 0; i < unnamed->count; i++)
        side_words_add(&moved, unnamed->words[i]);
    for (size_t i = 0; i < side->count; i++)
        side_words_add(&moved, side->words[i]);
    free(side->words);
    *side = moved;
    unnamed->count = 0;
}

static const char *sides_problem_of(const struct sides *sides)
{
    if (sides->twice)
        return "name each side once: --before A1 A2 --after B1 B2";
    if (sides->rows[SIDE_UNNAMED].count)
        return "a recording stands in front of --before and --after; is it of before or of after?";
    if (!sides->rows[SIDE_BEFORE].count)
        return "name a recording of before, behind --before";
    if (!sides->rows[SIDE_AFTER].count)
        return "name a recording of after, behind --after";
    return NULL;
}

size_t sides_settle(struct sides *sides, size_t *before, const char **problem)
{
    const bool named = sides->named[SIDE_BEFORE] || sides->named[SIDE_AFTER];
    struct side_words all = { 0 };
    if (named && !sides->named[SIDE_AFTER])
        move_rest(sides);
    if (named && !(sides->named[SIDE_BEFORE] && sides->named[SIDE_AFTER]))
        move_unnamed(sides, sides->named[SIDE_AFTER] ? SIDE_BEFORE : SIDE_AFTER);
    *problem = named ? sides_problem_of(sides) : NULL;
    *before = named ? sides->rows[SIDE_BEFORE].count : 0;
    for (enum side_named side = 0; side < SIDES_NAMED; side++)
        for (size_t i = 0; i < sides->rows[side].count; i++)
            side_words_add(&all, sides->rows[side].words[i]);
    free(sides->all);
    sides->all = all.words;
    return all.count;
}

void sides_free(struct sides *sides)
{
    for (enum side_named side = 0; side < SIDES_NAMED; side++)
        free(sides->rows[side].words);
    free(sides->all);
    *sides = (struct sides){ 0 };
}
