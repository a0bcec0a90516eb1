/* SPDX-License-Identifier: MIT */
/* The ways in which a file is damaged, each at random. */
#ifndef PYREEL_TESTS_TOOLS_DAMAGE_KINDS_H
#define PYREEL_TESTS_TOOLS_DAMAGE_KINDS_H

#include "formats/base/bytes.h"

/* A whole recording and where its blocks stand, by sequence. */
struct original {
    const char *name;
    struct bytes file;
    size_t *at; /* and one more: where the last one ends */
    size_t room;
    uint32_t blocks;
};

struct randomness {
    uint64_t state;
};

/* A number below `limit`, which is not 0. */
uint64_t below(struct randomness *random, uint64_t limit);

/* A file that is being damaged. */
struct damaging {
    struct bytes file;
    const struct original *original, *other; /* blocks of the other may get into it */
    struct randomness *random;
};

struct damage_kind {
    const char *name;
    void (*damage)(struct damaging *damaging);
    bool early; /* a block may come too early: the blocks that it overtakes are lost */
};

extern const struct damage_kind damage_kinds[];
extern const size_t damage_kinds_count;

/* Finds the blocks of a recording without damage. False: there are none, or too many. */
bool original_look(struct original *original);
/* The block's size; 0 for one that the file has not. */
size_t original_block_size(const struct original *original, uint32_t block);

#endif
