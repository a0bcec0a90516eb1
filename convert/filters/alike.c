/* SPDX-License-Identifier: MIT */
#include "convert/filters/alike.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* Whether many functions of a module may have this name: f.<locals>.<lambda>. There is one <module>. */
static bool is_anonymous(struct text name)
{
    const char *dot = name.size ? memrchr(name.bytes, '.', name.size) : NULL;
    const size_t before = dot ? (size_t)(dot - name.bytes) + 1 : 0;
    const struct text last = { name.bytes + before, name.size - before };
    return text_begins(last, TEXT("<")) && !text_equal(last, TEXT("<module>"));
}

/* The row of functions that are like this one; NULL: functions of this name are never alike. */
static struct alike_row *alike_row_of(struct alike *alike, const struct tables *from, const struct function *function,
                                      bool *added)
{
    const struct text name = tables_string(from, function->name), file = tables_string(from, function->file);
    struct bytes key = { 0 };
    if (name.size == 0 || file.size == 0 || is_anonymous(name))
        return NULL;
    paths_find(&alike->paths, from);
    put_bytes(&key, name.bytes, name.size);
    put_bytes(&key, "", 1);
    paths_put_module(&key, &alike->paths, file);
    const uint32_t number = intern_number(&alike->keys, key.at, key.size, added);
    bytes_free(&key);
    alike->rows = alloc_grow(alike->rows, &alike->room, (size_t)number + 1, sizeof(*alike->rows));
    return &alike->rows[number];
}

void alike_next(struct alike *alike)
{
    alike->recording++;
    paths_free(&alike->paths);
    alike->paths = (struct paths){ 0 };
}

void alike_note(struct alike *alike, const struct tables *from, const struct function *function, uint32_t number)
{
    bool added;
    struct alike_row *row = alike_row_of(alike, from, function, &added);
    if (!row)
        return;
    if (row->function == 0)
        *row = (struct alike_row){ .function = number, .first = alike->recording };
    else if (row->function != number && row->first == alike->recording)
        row->several = true;
}

uint32_t alike_find(struct alike *alike, const struct tables *from, const struct function *function)
{
    bool added;
    struct alike_row *row = alike_row_of(alike, from, function, &added);
    if (!row || row->function == 0 || row->several || row->first == alike->recording)
        return 0;
    if (row->recording == alike->recording && row->line != function->first_line)
        return 0;
    row->recording = alike->recording;
    row->line = function->first_line;
    return row->function;
}

void alike_free(struct alike *alike)
{
    intern_free(&alike->keys);
    free(alike->rows);
    paths_free(&alike->paths);
    *alike = (struct alike){ 0 };
}
