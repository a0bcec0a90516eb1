/* SPDX-License-Identifier: MIT */
/* What a reader tells of a recording, in a form that can be compared: each sample with its stack, thread and task by
 * their names. Read whole, a recording also says which of its blocks each sample needs: the one that it stands in, and
 * those that define what it names. So it is known beforehand what must be told when some blocks are lost. */
#ifndef PYREEL_TESTS_TOOLS_DAMAGE_TOLD_H
#define PYREEL_TESTS_TOOLS_DAMAGE_TOLD_H

#include "formats/model/tables.h"
#include "formats/stream/stream_read.h"

#define BLOCKS_MOST 1024 /* of a recording that is looked at */

struct block_set {
    uint64_t bits[BLOCKS_MOST / 64];
};

struct told_sample {
    uint64_t time_ns;
    uint64_t stack, thread, task; /* hashes of all that is shown of them; task 0: none */
    uint64_t cpu_ns, stands_ns;
    uint32_t status;
    uint32_t number; /* of the thread */
    uint32_t block;
    uint32_t needs, task_needs; /* sets; 0: nothing */
};

/* A name that a thread had. */
struct told_name {
    uint32_t thread, block;
    uint64_t name;
};

/* What a block holds. */
struct told_block {
    bool timeless; /* the end block: it says nothing of the time before */
    uint64_t ticks, missed, failed;
    uint64_t first_ns, last_ns; /* of its ticks */
};

struct told {
    struct stream_reader reader;
    struct tables tables;
    struct told_sample *samples;
    size_t samples_count, samples_room;
    struct told_name *names;
    size_t names_count, names_room;
    struct told_block *blocks; /* by sequence; only when read whole */
    size_t blocks_room;
    uint64_t *stack_hashes; /* by stack of the tables */
    size_t stack_hashes_room;
    uint64_t last_tick_ns;
    bool opened, refused, backwards; /* the tables refused something; time went back */
    struct fault why;

    bool ahead; /* blocks are found ahead */
    bool whole; /* what blocks define and need is looked at */
    struct block_set *sets;
    size_t sets_count, sets_room;
    uint32_t *string_blocks, *function_blocks, *frame_blocks, *process_blocks, *thread_blocks, *task_blocks;
    size_t string_room, function_room, frame_room, process_room, thread_room, task_room;
    uint32_t *stack_sets; /* by stack: the set that it needs */
    size_t stack_sets_room;
};

bool set_has(const struct block_set *set, uint32_t block);
void set_add(struct block_set *set, uint32_t block);
/* Whether all of `part` is in `set`. */
bool set_covers(const struct block_set *set, const struct block_set *part);

/* Reads a recording; `told` is zeroed, but for `whole`. */
void told_read(struct told *told, const void *bytes, size_t size);
void told_free(struct told *told);

#endif
