/* SPDX-License-Identifier: MIT */
/* Text that came from elsewhere, made into the UTF-8 that all our formats promise. */
#ifndef PYREEL_FORMATS_BASE_UTF8_H
#define PYREEL_FORMATS_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the bytes are UTF-8 without surrogates and without NUL. */
bool utf8_valid(const char *bytes, size_t size);

/* Writes one code point, at most 4 bytes, and returns how many. What UTF-8 cannot hold becomes readable text instead
 * (at most 6 bytes): a lone surrogate that stands for an undecodable byte as Python writes it, "\xNN"; any other
 * surrogate, NUL or number above 0x10FFFF as U+FFFD. `to` has room for 6 bytes. */
size_t utf8_put(char *to, uint32_t code_point);

/* Copies bytes that should be UTF-8; each byte that is not becomes "\xNN". Returns a string of *result_size bytes that
 * the caller frees. */
char *utf8_clean(const char *bytes, size_t size, size_t *result_size);

#endif
