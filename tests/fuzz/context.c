/* SPDX-License-Identifier: MIT */
/* The payload of a process context. */
#include "record/labels/process_context.h"
#include "record/names/attributes.h"

#include "formats/base/utf8.h"
#include "tests/fuzz/fuzz.h"

FUZZ_TARGET(context)
{
    struct bytes lines = { 0 }, attributes = { 0 };
    process_context_put(&lines, (struct text){ (const char *)bytes, size });
    require(lines.size <= 2 * size); /* "NAME=VALUE": two bytes more than a pair has, and a pair has four more */
    attributes_put_published(&attributes, bytes_text(&lines));
    require(attributes.size <= ATTRIBUTES_MOST + 64 && utf8_valid((const char *)attributes.at, attributes.size));
    bytes_free(&lines);
    bytes_free(&attributes);
    return 0;
}
