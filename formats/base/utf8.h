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

/* ---- text for people's eyes ---- */

/* A text that is not trusted may hold commands to a terminal, forge lines, or turn the direction in which a line is
 * read. Names that a recorded program chose are such texts, and so are names of files and arguments of a command line.
 * Everything that is printed goes through the functions below:
 *
 *     "a\033[2Jb"            a\x1b[2Jb              control characters: C0, DEL, C1
 *     "admin\u202Efdp.exe"   admin\u202efdp.exe     characters that turn the direction of text, and invisible ones
 *     "a\xFF"                a\xff                 bytes that are not UTF-8
 *     "a\\x1b"               a\x1b                 a backslash stays
 *
 * A backslash stays as it is, as with Python's "backslashreplace": arguments, source lines and values of variables are
 * full of backslashes, and doubling them would show most texts wrong for the sake of few. So a name that looks like an
 * escape may be one letter by letter. The JSON outputs have each name as it is. */

#define UTF8_SHOWN 12 /* the most bytes of a shown character, and a NUL */

/* Whether a character shows nothing, or changes how the text around it is shown. */
bool utf8_is_hidden(uint32_t code_point);

/* The code point at the start of `text`, and in *size how many bytes the code point has. A byte that begins no
 * well-formed sequence gives UINT32_MAX and size 1. The text must not be empty. */
uint32_t utf8_next(struct text text, size_t *size);

/* Takes the first character of a text, which must not be empty, and writes the character as it may be shown at `to`
 * (UTF8_SHOWN bytes). `ascii`: also escapes characters beyond ASCII. Returns the number of bytes. */
size_t utf8_show(struct text *text, bool ascii, char *to);

/* Writes a string as it may be shown, with a NUL, into `room`. A string that does not fit is cut. */
void utf8_show_string(char *room, size_t room_size, const char *string);

/* Returns a string as it may be shown, for the arguments of a message: fprintf(stderr, "%s: ...", utf8_shown(path)).
 * The result is valid until the eighth further call of the thread. */
const char *utf8_shown(const char *string);

/* Prints a text as it may be shown. */
void utf8_print(FILE *to, struct text text);

#endif
