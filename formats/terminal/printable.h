/* SPDX-License-Identifier: MIT */
/* Text for people's eyes, made of text that is not trusted (formats/base/utf8.h). A recording names functions, files,
 * threads and commands, and the recorded program chose the names: they may hold commands to a terminal, or turn the
 * direction in which a line is read. All text outputs print such a name through the functions here. */
#ifndef PYREEL_FORMATS_TERMINAL_PRINTABLE_H
#define PYREEL_FORMATS_TERMINAL_PRINTABLE_H

#include "formats/base/bytes.h"
#include "formats/base/output.h"

/* Appends the text; what must not be printed as it is becomes an escape as Python writes it. A byte that is not UTF-8
 * becomes "\xNN". */
void put_printable(struct bytes *to, struct text text, bool ascii);

/* Writes the text, as above; `ascii` is false. */
void printable_write(struct output *to, struct text text);

#endif
