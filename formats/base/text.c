/* SPDX-License-Identifier: MIT */
#include "formats/base/text.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool text_equal(struct text a, struct text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

bool text_begins(struct text text, struct text start)
{
    return text.size >= start.size && memcmp(text.bytes, start.bytes, start.size) == 0;
}

struct text text_copy(struct text text)
{
    return (struct text){ alloc_copy(text.bytes, text.size), text.size };
}

void text_free(struct text text)
{
    free((char *)text.bytes);
}
