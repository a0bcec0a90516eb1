/* SPDX-License-Identifier: MIT */
/* Reads many small ranges of the target's memory with few system calls. Ranges that lie close together are read as one
 * part, with the bytes between them, because a further part costs more than some more bytes. The bytes that were read
 * are not trusted. */
#ifndef PYREEL_RECORD_ASYNCIO_TASK_MEMORY_H
#define PYREEL_RECORD_ASYNCIO_TASK_MEMORY_H

#include "record/process/remote.h"

/* A range that the caller asked for. */
struct memory_range {
    uint64_t address;
    uint32_t size;
    uint32_t at;   /* offset in the bytes */
    uint32_t part; /* index of the part that has the range; UINT32_MAX: none, the bytes would be too many */
};

/* A part of memory that is read as one piece. It has one range or more. */
struct memory_part {
    uint64_t address;
    uint32_t size, at; /* `at`: offset in the bytes */
    bool there;        /* the part could be read */
};

/* `= {0}` has no ranges. */
struct task_memory {
    struct memory_range *ranges; /* in the order in which they were added */
    size_t count, ranges_room;
    struct memory_key {
        uint64_t address;
        uint32_t index;
    } * order; /* indexes of the ranges, sorted by address */
    size_t order_room;
    struct memory_part *parts; /* sorted by address */
    size_t parts_count, parts_room;
    unsigned char *bytes;
    size_t size, bytes_room;
    size_t lost;  /* number of parts that the last reading could not read */
    bool planned; /* the parts are those of the present ranges */
};

/* Removes all ranges. */
void task_memory_clear(struct task_memory *memory);

/* Adds a range. Its index is the number of ranges before it. Nothing is read yet. */
void task_memory_add(struct task_memory *memory, uint64_t address, uint32_t size);

/* Finds which ranges are read together. task_memory_read() does so, if the caller did not before. */
void task_memory_plan(struct task_memory *memory);

/* Reads all ranges. A part that cannot be read is left out. Returns REMOTE_READ, unless the process is gone or may not
 * be read. */
enum remote_state task_memory_read(struct task_memory *memory, struct remote *remote);

/* The bytes of a range in the last reading; NULL: the range could not be read. Valid until the ranges change. */
const unsigned char *task_memory_at(const struct task_memory *memory, size_t index);

/* Frees the memory, and leaves no ranges. */
void task_memory_free(struct task_memory *memory);

#endif
