/* SPDX-License-Identifier: MIT */
/* A text: bytes and their number. Who keeps a text says whether it owns the bytes: an owned text comes from
 * text_copy(), or from a function that says so, and goes with text_free(); any other is borrowed from somebody who
 * keeps it. */
#ifndef PYREEL_FORMATS_BASE_TEXT_H
#define PYREEL_FORMATS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* UTF-8 without a NUL inside; not ended by one. */
struct text {
    const char *bytes;
    size_t size;
};

#define TEXT(literal) ((struct text){ (literal), sizeof(literal) - 1 })

bool text_equal(struct text a, struct text b);

/* An owned copy. */
struct text text_copy(struct text text);

/* Frees the bytes of an owned text. Safe on an empty one. */
void text_free(struct text text);

#endif
