/* SPDX-License-Identifier: MIT */
#include "convert/info/info_table.h"

#include <stdlib.h>

static int more_first(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

struct info_choice info_choose(uint64_t *samples, size_t count, size_t most)
{
    struct info_choice choice = { .ties = count };
    if (count <= most)
        return choice;
    qsort(samples, count, sizeof(*samples), more_first);
    choice = (struct info_choice){ .least = samples[most - 1] };
    for (size_t i = most; i-- > 0 && samples[i] == choice.least;)
        choice.ties++;
    return choice;
}

bool info_is_chosen(struct info_choice *choice, uint64_t samples)
{
    if (samples != choice->least || choice->ties == 0)
        return samples > choice->least;
    choice->ties--;
    return true;
}
