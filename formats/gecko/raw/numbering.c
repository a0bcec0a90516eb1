/* SPDX-License-Identifier: MIT */
#include "formats/gecko/raw/numbering.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

bool numbering_has(const struct numbering *numbering, size_t row)
{
    return row < numbering->of_room && numbering->of[row];
}

uint32_t numbering_number(struct numbering *numbering, size_t row)
{
    if (numbering_has(numbering, row))
        return numbering->of[row] - 1;
    numbering->of = alloc_grow(numbering->of, &numbering->of_room, row + 1, sizeof(*numbering->of));
    numbering->rows = alloc_grow(numbering->rows, &numbering->room, numbering->count + 1, sizeof(*numbering->rows));
    numbering->rows[numbering->count++] = row;
    numbering->of[row] = (uint32_t)numbering->count;
    return numbering->of[row] - 1;
}

void numbering_reset(struct numbering *numbering)
{
    for (size_t i = 0; i < numbering->count; i++)
        numbering->of[numbering->rows[i]] = 0;
    numbering->count = 0;
}

void numbering_free(struct numbering *numbering)
{
    free(numbering->of);
    free(numbering->rows);
    *numbering = (struct numbering){ 0 };
}
