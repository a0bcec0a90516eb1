/* SPDX-License-Identifier: MIT */
/* What a receiver of OpenTelemetry's protocol answers to a request that it took. */
#include "formats/otlp/otlp.h"

#include "formats/base/alloc.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

FUZZ_TARGET(otlp_answer)
{
    char *exact = alloc_copy((const char *)bytes, size); /* the sanitizers see a read behind the end */
    const struct otlp_answer answer = otlp_answer_read((struct text){ exact, size });
    require(answer.words && strlen(answer.words) <= size);
    require(answer.refused <= INT64_MAX);
    free(answer.words);
    free(exact);
    return 0;
}
