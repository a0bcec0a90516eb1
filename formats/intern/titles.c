/* SPDX-License-Identifier: MIT */
#include "formats/intern/titles.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* How long the process had a title, when it has the current one until then. */
static uint64_t titled_ns(const struct titles *titles, size_t index, uint64_t until_ns)
{
    const bool grows = index == titles->current && until_ns > titles->since_ns;
    return titles->rows[index].ns + (grows ? until_ns - titles->since_ns : 0);
}

/* The row that a further title takes. The row of the current title stays: it has the latest time. */
static size_t titles_shortest(const struct titles *titles)
{
    size_t shortest = titles->current == 0;
    for (size_t i = 0; i < titles->count; i++)
        if (i != titles->current && titles->rows[i].ns < titles->rows[shortest].ns)
            shortest = i;
    return shortest;
}

static size_t titles_place(struct titles *titles, struct text title)
{
    for (size_t i = 0; i < titles->count; i++)
        if (text_equal(titles->rows[i].title, title))
            return i;
    const size_t place = titles->count < TITLES_MOST ? titles->count++ : titles_shortest(titles);
    titles->rows = alloc_grow(titles->rows, &titles->room, titles->count, sizeof(*titles->rows));
    text_free(titles->rows[place].title);
    titles->rows[place] = (struct titled){ text_copy(title), 0 };
    return place;
}

void titles_add(struct titles *titles, struct text title, uint64_t time_ns)
{
    if (titles->count > 0)
        titles->rows[titles->current].ns = titled_ns(titles, titles->current, time_ns);
    titles->current = titles_place(titles, title);
    titles->since_ns = time_ns;
}

struct text titles_longest(const struct titles *titles, uint64_t end_ns)
{
    size_t longest = 0;
    for (size_t i = 1; i < titles->count; i++)
        if (titled_ns(titles, i, end_ns) > titled_ns(titles, longest, end_ns))
            longest = i;
    return titles->count ? titles->rows[longest].title : (struct text){ 0 };
}

void titles_free(struct titles *titles)
{
    for (size_t i = 0; i < titles->count; i++)
        text_free(titles->rows[i].title);
    free(titles->rows);
    *titles = (struct titles){ 0 };
}
