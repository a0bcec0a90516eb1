/* SPDX-License-Identifier: MIT */
/* Memory allocation that never fails: when memory runs out, the program reports that once, here, and exits, so callers
 * need no error path. A caller bounds each size that comes from a file or another process before the call. */
#ifndef PYREEL_FORMATS_BASE_ALLOC_H
#define PYREEL_FORMATS_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit code of the program when memory runs out. */
extern int alloc_failure_exit_code;

/* Ends the program in the same way when its memory would grow beyond `bytes`, with the message "PROGRAM: " and
 * `way_out`, which live as long as the program. A file may ask for any amount, by definitions and stacks without end.
 *
 * The memory is what the kernel counts as resident, without mapped files: what libraries allocate counts, too, as soon
 * as the program itself asks for some. The kernel is asked once for each 256 kB that the program asks for, so the
 * limit holds with this tolerance. A limit by setrlimit() would make libraries fail in their own ways, and a damaged
 * file would look the same as one that is too large. Without /proc there is no limit. */
void alloc_limit(uint64_t bytes, const char *program, const char *way_out);

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
