/* SPDX-License-Identifier: MIT */
/* The bytes as a grouped payload that may be of any size, and as a payload: what was grouped comes back. */
#include "formats/codec/codec_group.h"
#include "formats/codec/codec_ungroup.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

FUZZ_TARGET(group)
{
    struct grouping grouping = { 0 };
    struct bytes grouped = { 0 }, back = { 0 };
    for (size_t most = size / 4; most <= 4 * size && most > 0; most *= 2) {
        back.size = 0;
        if (codec_ungroup_payload(&grouping, bytes, size, most, &back))
            require(back.size == most);
    }
    back.size = 0;
    const struct bytes payload = { (unsigned char *)bytes, size, size };
    if (codec_group_payload(&grouping, &payload, &grouped)) {
        require(grouped.size <= GROUP_MOST(size));
        require(codec_ungroup_payload(&grouping, grouped.at, grouped.size, size, &back));
        require(back.size == size && memcmp(back.at, bytes, size) == 0);
    }
    bytes_free(&grouped);
    bytes_free(&back);
    codec_group_free(&grouping);
    return 0;
}
