/* SPDX-License-Identifier: MIT */
/* Text for people's eyes, made of text that is not trusted. A recording names functions, files, threads and commands,
 * and the recorded program chose the names: they may hold commands to a terminal, or turn the direction in which a line
 * is read. All text outputs print such a name through the one function here.
 *
 *     "a\033[2Jb"            a\x1b[2Jb              control characters: C0, DEL, C1
 *     "admin\u202Efdp.exe"   admin\u202efdp.exe     characters that turn the direction of text, and invisible ones
 *     "caf\xC3\xA9"          caf\u00e9              with `ascii`: a character beyond ASCII */
#ifndef PYREEL_FORMATS_TERMINAL_PRINTABLE_H
#define PYREEL_FORMATS_TERMINAL_PRINTABLE_H

#include "formats/base/bytes.h"
#include "formats/base/output.h"

/* Appends the text; what must not be printed as it is becomes an escape as Python writes it. A byte that is not UTF-8
 * becomes "\xNN". */
void put_printable(struct bytes *to, struct text text, bool ascii);

/* Writes the text, as above; `ascii` is false. */
void printable_write(struct output *to, struct text text);

/* The code point at the start of `text`, and in *size how many bytes the code point has. A byte that begins no
 * well-formed sequence gives UINT32_MAX and size 1. The text must not be empty. */
uint32_t printable_next(struct text text, size_t *size);

#endif
