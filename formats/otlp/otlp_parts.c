/* SPDX-License-Identifier: MIT */
#include "formats/otlp/otlp_parts.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void *otlp_parts_new(struct otlp_parts *parts, size_t count, size_t size)
{
    parts->rows = alloc_grow(parts->rows, &parts->room, parts->count + 1, sizeof(*parts->rows));
    return parts->rows[parts->count++] = alloc_zeroed(count ? count : 1, size);
}

void *otlp_parts_list(struct otlp_parts *parts, void *messages, size_t count, size_t size)
{
    void **list = otlp_parts_new(parts, count, sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = (char *)messages + i * size;
    return list;
}

char *otlp_parts_string(struct otlp_parts *parts, const char *bytes, size_t size)
{
    char *string = otlp_parts_new(parts, size + 1, 1);
    if (size)
        memcpy(string, bytes, size);
    return string;
}

void otlp_parts_free(struct otlp_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->rows[i]);
    free(parts->rows);
    *parts = (struct otlp_parts){ 0 };
}
