/* SPDX-License-Identifier: MIT */
/* The function that libFuzzer calls, for the one target of the program. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return __start_fuzz_targets->run(bytes, size);
}
