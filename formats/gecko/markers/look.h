/* SPDX-License-Identifier: MIT */
/* A look at a thread, as the files of this room take it. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_LOOK_H
#define PYREEL_FORMATS_GECKO_MARKERS_LOOK_H

#include "formats/gecko/markers/marker_store.h"
#include "formats/gecko/markers/stack_facts.h"

struct look {
    const struct run *run;
    const struct stack_fact *fact; /* of the sample's stack */
    uint32_t thread;               /* on whose line the sample is */
    uint64_t ns;                   /* the time of the look */
    uint64_t width_ns;             /* how long it stands for */
    uint64_t last_ns;              /* the time of the look before; 0: there was none */
    uint64_t since_ns;             /* what held at the look before ends here: at this look; or an interval behind the
                                    * look before, when the thread was absent since then */
    bool after;                    /* the thread was not absent since the look before */
};

/* The function at the leaf of a stack; 0: the stack has no frames. */
static inline uint32_t look_leaf(const struct tables *tables, uint32_t stack)
{
    return stack && stack < tables->stacks_count ? tables->frames[tables->stacks[stack].frame].function : 0;
}

#endif
