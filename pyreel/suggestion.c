/* SPDX-License-Identifier: MIT */
#include "pyreel/suggestion.h"

#include "formats/base/alloc.h"
#include "pyreel/places.h"
#include "pyreel/topics.h"
#include "pyreel/verbs.h"

#include <stdio.h>
#include <string.h>

#define PREFIX_LEAST 3 /* letters that two words begin with, to be near by their beginning */
#define FAR          100

struct suggestion_search {
    const char *word;
    char *meant;
    size_t distance; /* of the nearest candidate */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters to insert, leave out, replace, or exchange with the next one, to make one word of the other. */
static size_t edits(const char *from, const char *to)
{
    size_t rows[3][VERB_SIZE + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    const size_t width = strlen(to);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; from[i - 1]; i++) {
        size_t *const oldest = before;
        before = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            const bool same = from[i - 1] == to[j - 1];
            row[j] = least(above[j - 1] + !same, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[width];
}

static bool begins(const char *word, const char *start)
{
    return strlen(start) >= PREFIX_LEAST && strncmp(word, start, strlen(start)) == 0;
}

static size_t distance(const char *word, const char *candidate)
{
    if (begins(word, candidate) || begins(candidate, word))
        return 1;
    const size_t count = edits(word, candidate);
    return count <= least(2, strlen(word) / 2) ? count : FAR;
}

static void consider(struct suggestion_search *search, const char *candidate, const char *in_front)
{
    const size_t found = distance(search->word, candidate);
    if (found >= search->distance)
        return;
    search->distance = found;
    snprintf(search->meant, SUGGESTION_SIZE, "%s%s", in_front, candidate);
}

/* The verb for a word of another kind: for a recording, or for an interpreter. */
static const char *by_kind(const char *word)
{
    static const char recording[] = ".pyreel";
    const size_t size = strlen(word);
    if (size > strlen(recording) && strcmp(word + size - strlen(recording), recording) == 0)
        return "report";
    return begins(word, "python") ? "record" : NULL;
}

bool suggestion_find(char *meant, const char *word)
{
    const char *const kind = by_kind(word);
    if (kind)
        snprintf(meant, SUGGESTION_SIZE, "%s", kind);
    if (strncmp(word, VERB_PREFIX, strlen(VERB_PREFIX)) == 0)
        word += strlen(VERB_PREFIX);
    if (kind || strlen(word) >= VERB_SIZE)
        return kind;
    struct suggestion_search search = { .word = word, .meant = meant, .distance = FAR };
    struct other_verbs others;
    places_find_others(&others);
    for (const struct verb *verb = verbs; verb->name; verb++)
        consider(&search, verb->name, "");
    consider(&search, "help", "");
    for (const struct topic *topic = topics; topic->name; topic++)
        consider(&search, topic->name, "help ");
    for (size_t i = 0; i < others.count; i++)
        consider(&search, others.names[i], "");
    return search.distance < FAR;
}
