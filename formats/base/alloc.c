/* SPDX-License-Identifier: MIT */
#include "formats/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_ITEM 256 /* bytes; the first room of an array of such items is small: many arrays have one or two */

int alloc_failure_exit_code = 1;

static void *or_end(void *memory, size_t count, size_t size)
{
    if (memory || count == 0 || size == 0)
        return memory;
    fprintf(stderr, "pyreel: out of memory (asked for %zu x %zu bytes)\n", count, size);
    exit(alloc_failure_exit_code);
}

void *alloc_zeroed(size_t count, size_t size)
{
    return or_end(calloc(count, size), count, size);
}

void *alloc_resize(void *old, size_t count, size_t size)
{
    return or_end(reallocarray(old, count, size), count, size);
}

char *alloc_copy(const void *bytes, size_t size)
{
    char *copy = alloc_zeroed(size + 1, 1);
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

void *alloc_more(void *array, size_t *room, size_t wanted, size_t size)
{
    size_t larger = *room ? *room * 2 : size < LARGE_ITEM ? 16 : 2;
    if (larger < wanted)
        larger = wanted;
    array = alloc_resize(array, larger, size);
    memset((char *)array + *room * size, 0, (larger - *room) * size);
    *room = larger;
    return array;
}
