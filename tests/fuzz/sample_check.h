/* SPDX-License-Identifier: MIT */
/* A sample of a stream refers to nothing that is not in the tables. */
#ifndef PYREEL_TESTS_FUZZ_SAMPLE_CHECK_H
#define PYREEL_TESTS_FUZZ_SAMPLE_CHECK_H

#include "formats/model/tables.h"
#include "tests/fuzz/fuzz.h"

/* Follows the stack from the leaf to the root. The stack is not lost. */
static inline void check_references(const struct tables *tables, const struct run *run)
{
    require(run->stack < tables->stacks_count || run->stack == 0);
    uint32_t depth = 0;
    for (uint32_t stack = run->stack; stack; stack = tables->stacks[stack].caller, depth++) {
        require(tables->stacks[stack].caller < stack);
        const uint32_t frame = tables->stacks[stack].frame;
        require(frame < tables->frames_count && tables->frames[frame].number == frame);
        require(tables->frames[frame].function < tables->functions_count);
    }
    require(depth == tables->threads[run->thread].depth);
    require(run->task == tables_task(tables, run->task)->task.number);
    require(run->callback_ns <= run->time_ns);
}

#endif
