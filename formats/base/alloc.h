/* SPDX-License-Identifier: MIT */
/* Memory that is there or ends the program: running out is reported once, here, so that no caller needs an error path
 * for it. A size that a file or another process asks for is bounded by the caller before it comes here. */
#ifndef PYREEL_FORMATS_BASE_ALLOC_H
#define PYREEL_FORMATS_BASE_ALLOC_H

#include <stddef.h>

/* What the program exits with when memory runs out. */
extern int alloc_failure_exit_code;

#define countof(array) (sizeof(array) / sizeof((array)[0]))

/* Zeroed memory for `count` items of `size` bytes. The caller frees it with free(). */
void *alloc_zeroed(size_t count, size_t size);

/* Memory for `count` items of `size` bytes that keeps what `old` held, as realloc(). */
void *alloc_resize(void *old, size_t count, size_t size);

/* A copy of the `size` bytes at `bytes`, with a NUL behind it that is not part of it. */
char *alloc_copy(const void *bytes, size_t size);

/* Gives an array more room than *room, at least for `wanted` items: twice as much, and what is new is zeroed. */
void *alloc_more(void *array, size_t *room, size_t wanted, size_t size);

/* The same if it has less than that. Mostly it has enough. */
static inline void *alloc_grow(void *array, size_t *room, size_t wanted, size_t size)
{
    return wanted <= *room ? array : alloc_more(array, room, wanted, size);
}

#endif
