/* SPDX-License-Identifier: MIT */
/* What a fuzz target is: the name is libFuzzer's. It takes any bytes, ends soon, and leaves nothing behind; what it
 * finds out is told by a crash, a sanitizer or abort(). */
#ifndef PYREEL_TESTS_FUZZ_FUZZ_H
#define PYREEL_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
