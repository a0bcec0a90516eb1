/* SPDX-License-Identifier: MIT */
#include "formats/base/alloc.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK_BYTES ((size_t)256 << 10) /* after requests of so many bytes, the memory is looked at again */

#define LARGE_ITEM 256 /* bytes; the first room of an array of such items is small: many arrays have one or two */

int alloc_failure_exit_code = 1;

static struct {
    uint64_t bytes; /* 0: no limit */
    const char *program, *way_out;
    int statm; /* /proc/self/statm */
    uint64_t page_bytes;
} limit;

static _Thread_local size_t asked; /* bytes that were asked for since the last look */

static void *or_end(void *memory, size_t count, size_t size)
{
    if (memory || count == 0 || size == 0)
        return memory;
    fprintf(stderr, "pyreel: out of memory (asked for %zu x %zu bytes)\n", count, size);
    exit(alloc_failure_exit_code);
}

void alloc_limit(uint64_t bytes, const char *program, const char *way_out)
{
    if (!limit.program) /* fuzzing sets the limit often */
        limit.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    limit.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    limit.program = program;
    limit.way_out = way_out;
    limit.bytes = limit.statm >= 0 ? bytes : 0;
}

/* The memory of the program that is in RAM and not of a file. */
static uint64_t resident_bytes(void)
{
    char text[128] = { 0 };
    unsigned long long resident, of_files;
    if (pread(limit.statm, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "%*u %llu %llu", &resident, &of_files) != 2)
        return 0;
    return (resident - of_files) * limit.page_bytes;
}

/* Ends the program if `more` bytes are too many. */
static void check_limit(size_t more)
{
    if (resident_bytes() + more <= limit.bytes)
        return;
    fprintf(stderr, "%s: %s\n", limit.program, limit.way_out);
    exit(alloc_failure_exit_code);
}

/* Notes a request for `count` items of `size` bytes, which replace `had` bytes. */
static void alloc_note_request(size_t count, size_t size, size_t had)
{
    size_t bytes;
    if (limit.bytes == 0)
        return;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX / 2;
    asked += bytes > had ? bytes - had : 0;
    if (asked < CHECK_BYTES)
        return;
    check_limit(asked);
    asked = 0;
}

void *alloc_zeroed(size_t count, size_t size)
{
    alloc_note_request(count, size, 0);
    return or_end(calloc(count, size), count, size);
}

void *alloc_resize(void *old, size_t count, size_t size)
{
    alloc_note_request(count, size, limit.bytes ? malloc_usable_size(old) : 0);
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
