/* SPDX-License-Identifier: MIT */
/* Memory allocation that never fails: when memory runs out, the program reports that once, here, and exits, so callers
 * need no error path. A caller bounds each size that comes from a file or another process before the call. */
#ifndef PYREEL_FORMATS_BASE_ALLOC_H
#define PYREEL_FORMATS_BASE_ALLOC_H

#include <stddef.h>

/* The exit code of the program when memory runs out. */
extern int alloc_failure_exit_code;

#define countof(array) (sizeof(array) / sizeof((array)[0]))

/* Zeroed memory for `count` items of `size` bytes. The caller frees it with free(). */
void *alloc_zeroed(size_t count, size_t size);

/* Memory for `count` items of `size` bytes that keeps the contents of `old`, as realloc() does. The caller frees the
 * memory with free(). */
void *alloc_resize(void *old, size_t count, size_t size);

/* A copy of the `size` bytes at `bytes`. A NUL follows the copy and does not count as a part of it. The caller frees
 * the copy with free(). */
char *alloc_copy(const void *bytes, size_t size);

/* Grows an array to twice *room items, or to `wanted` items if that is more. New items are zero. Updates *room and
 * returns the array, which may have moved. */
void *alloc_more(void *array, size_t *room, size_t wanted, size_t size);

/* Grows an array, as alloc_more() does, if the array has room for fewer than `wanted` items. Inline, because the room
 * mostly suffices. */
static inline void *alloc_grow(void *array, size_t *room, size_t wanted, size_t size)
{
    return wanted <= *room ? array : alloc_more(array, room, wanted, size);
}

#endif
