/* SPDX-License-Identifier: MIT */
/* Writes values of Python in the format of its module `marshal`. Python's own classes need no import to be read from
 * this format, so profiles of `cProfile` are in it. Only codes that mean the same in CPython 3.11 to 3.16 are used, and
 * no references:
 *
 *     {          begins a dictionary: keys and values in turn, then 0
 *     ) n        a tuple of n values follows
 *     z n u n    a text of n bytes: of ASCII (n has one byte), or of UTF-8 (n has four)
 *     i l g T    a number of 32 bits, a longer one, a floating-point number, True
 */
#ifndef PYREEL_FORMATS_EXCHANGE_MARSHAL_H
#define PYREEL_FORMATS_EXCHANGE_MARSHAL_H

#include "formats/base/output.h"

/* Begins a dictionary, and ends it. */
void marshal_begin_dict(struct output *to);
void marshal_end_dict(struct output *to);

/* Begins a tuple; its `size` values follow. */
void marshal_begin_tuple(struct output *to, uint8_t size);

void marshal_text(struct output *to, struct text text);
void marshal_number(struct output *to, uint64_t value);
void marshal_float(struct output *to, double value);

#endif
