/* SPDX-License-Identifier: MIT */
/* What a fuzz target is: the name is libFuzzer's. It takes any bytes, ends soon, and leaves nothing behind; what it
 * finds out is told by a crash, a sanitizer or abort(). */
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
