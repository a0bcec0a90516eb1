/* SPDX-License-Identifier: MIT */
/* Makes valid UTF-8, which all formats of this project promise, of text from elsewhere. */
#ifndef PYREEL_FORMATS_BASE_UTF8_H
#define PYREEL_FORMATS_BASE_UTF8_H

#include "formats/base/text.h"

#include <stdint.h>
#include <stdio.h>

/* Whether the bytes are UTF-8 without surrogates and without NUL. */
bool utf8_valid(const char *bytes, size_t size);

/* Writes one code point at `to`, which has room for 6 bytes. Returns the number of bytes, at most 4 for a character. A
 * value that UTF-8 cannot hold becomes readable text of at most 6 bytes: a lone surrogate that stands for an
 * undecodable byte becomes "\xNN", as Python writes the byte; any other surrogate, NUL, and a number above 0x10FFFF
 * become U+FFFD. */
size_t utf8_put(char *to, uint32_t code_point);

/* Copies bytes that should be UTF-8. Each byte that is not becomes "\xNN". Returns an owned text with a NUL behind it.
 */
struct text utf8_clean(struct text bytes);

/* Prints a text that is not trusted, on a terminal perhaps. Each control character becomes a question mark, and so does
 * each byte beyond ASCII when the text is not UTF-8. */
void utf8_print(FILE *to, struct text text);

#endif
