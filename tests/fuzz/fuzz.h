/* SPDX-License-Identifier: MIT */
/* A fuzz target takes any bytes, ends soon, and leaves nothing behind. A crash, a sanitizer or abort() tells what the
 * target has found. */
#ifndef PYREEL_TESTS_FUZZ_FUZZ_H
#define PYREEL_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Ends the program when something does not hold that must hold for all bytes. */
static inline void require(bool held)
{
    if (!held)
        abort();
}

/* The file NAME.c ends in `FUZZ_TARGET(NAME) { ... return 0; }`. The target is found in this section of the program: by
 * its name in a program of several targets (replay.c), the only one in libFuzzer's (libfuzzer.c). */
struct fuzz_target {
    const char *name;
    int (*run)(const uint8_t *bytes, size_t size);
};

#define FUZZ_TARGET(name)                                                                                              \
    static int run_##name(const uint8_t *bytes, size_t size);                                                          \
    static const struct fuzz_target target_##name                                                                      \
        __attribute__((section("fuzz_targets"), used)) = { #name, run_##name };                                        \
    static int run_##name(const uint8_t *bytes, size_t size)

extern const struct fuzz_target __start_fuzz_targets[], __stop_fuzz_targets[]; /* the linker's */

#endif
