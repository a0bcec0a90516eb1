/* SPDX-License-Identifier: MIT */
/* A program that runs at random in a thread of a small CPython: it calls and returns, drives generators, comes through
 * C, raises exceptions. It remembers each stack that it had, to tell whether what was seen was there. */
#ifndef PYREEL_TESTS_FAKES_FAKE_PROGRAM_H
#define PYREEL_TESTS_FAKES_FAKE_PROGRAM_H

#include "tests/fakes/fake_python.h"

#define FAKE_HISTORY 4096
#define FAKE_DEEPEST 32

struct fake_program {
    struct fake_python *p;
    size_t thread;
    uint64_t random;
    uint64_t functions[6], generators[3];
    size_t functions_count, most; /* the latter: its deepest stack */
    bool off_stack;               /* it drives generators, and comes through C */
    struct fake_frame frames[FAKE_FRAMES];
    size_t count;
    uint64_t steps;
    uint64_t (
        *history)[FAKE_DEEPEST]; /* what the last stacks looked like: each, and what is left without its leaf, ... */
};

struct fake_program fake_program_start(struct fake_python *p, size_t thread, uint64_t seed, bool off_stack);
void fake_program_end(struct fake_program *program);

/* A number below `limit`. */
uint32_t fake_program_random(struct fake_program *program, uint32_t limit);

/* It does something. */
void fake_program_step(struct fake_program *program);

/* How well this stack fits to those that it had since the step with this number. */
enum fit {
    FIT_NONE,
    FIT_CUT, /* it is one of them without frames at the leaf */
    FIT_RIGHT,
};
enum fit fake_program_had(const struct fake_program *program, const char *text, uint64_t since);

/* The stack that it has. Valid until the next call. */
const char *fake_program_text(const struct fake_program *program);

#endif
