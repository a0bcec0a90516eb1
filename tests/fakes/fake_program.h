/* SPDX-License-Identifier: MIT */
/* A program that runs at random in a thread of a small CPython: it calls and returns, drives generators, comes through
 * C. */
#ifndef PYREEL_TESTS_FAKES_FAKE_PROGRAM_H
#define PYREEL_TESTS_FAKES_FAKE_PROGRAM_H

#include "tests/fakes/fake_python.h"

struct fake_program {
    struct fake_python *p;
    size_t thread;
    uint64_t random;
    uint64_t functions[6], generators[3];
    size_t functions_count, most; /* the latter: its deepest stack */
    bool off_stack;               /* it drives generators, and comes through C */
    struct fake_frame frames[FAKE_FRAMES];
    size_t count;
};

struct fake_program fake_program_start(struct fake_python *p, size_t thread, uint64_t seed, bool off_stack);

/* A number below `limit`. */
uint32_t fake_program_random(struct fake_program *program, uint32_t limit);

/* It does something. */
void fake_program_step(struct fake_program *program);

/* The stack that it has. Valid until the next call. */
const char *fake_program_text(const struct fake_program *program);

#endif
