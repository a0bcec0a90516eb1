/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_rows.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_internal.h"

#include <stdlib.h>

/* Gives rows to the entries whose cell in `of` is not 0. */
static void number_rows(struct gecko_rows *rows, size_t entries)
{
    for (size_t i = 0; i < entries; i++)
        rows->count += rows->of[i] != 0;
    rows->number = alloc_zeroed(rows->count + 1, sizeof(*rows->number));
    uint32_t row = 0;
    for (size_t i = 0; i < entries; i++) {
        if (rows->of[i] == 0)
            continue;
        rows->number[row] = (uint32_t)i;
        rows->of[i] = ++row;
    }
}

static uint32_t *cells(size_t count)
{
    return alloc_zeroed(count + 1, sizeof(uint32_t));
}

void gecko_rows_make(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    const struct gecko_leaves *leaves = &gecko->leaves;
    struct gecko_rows *stacks = &gecko->rows.stacks, *frames = &gecko->rows.frames;
    struct gecko_rows *functions = &gecko->rows.functions;
    stacks->of = cells(tables->stacks_count);
    frames->of = cells(tables->frames_count);
    functions->of = cells(tables->functions_count);
    for (size_t i = tables->stacks_count; i-- > 1;) { /* a caller's number is smaller than those of its callees */
        stacks->of[i] |= i < leaves->kinds_room && leaves->kinds[i];
        if (!stacks->of[i])
            continue;
        const uint32_t frame = tables->stacks[i].frame, caller = tables->stacks[i].caller;
        if (caller)
            stacks->of[caller] = 1;
        frames->of[frame] = 1;
        functions->of[tables->frames[frame].function] = 1;
    }
    number_rows(stacks, tables->stacks_count);
    number_rows(frames, tables->frames_count);
    number_rows(functions, tables->functions_count);
}

static void free_rows(struct gecko_rows *rows)
{
    free(rows->of);
    free(rows->number);
}

void gecko_rows_free(struct gecko_tables *tables)
{
    free_rows(&tables->stacks);
    free_rows(&tables->frames);
    free_rows(&tables->functions);
}
