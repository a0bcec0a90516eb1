/* SPDX-License-Identifier: MIT */
/* Short texts for the values of objects, as Python's repr() has them where that is simple:
 *
 *     None  True  42  0.5  'abc'  b'abc'     the value itself; a long one is cut
 *     <list of 3>  <dict of 2>  <Connection>     the name of the class otherwise, and the length where it is known
 *
 * No code of the program runs. The memory is not trusted: all sizes are bounded, and a text may have any characters. */
#ifndef PYREEL_RECORD_DUMP_LOCALS_SHORT_REPR_H
#define PYREEL_RECORD_DUMP_LOCALS_SHORT_REPR_H

#include "formats/base/bytes.h"
#include "record/names/dict.h"

/* Appends the text of the object at an address. The program must stand still. */
void short_repr(struct bytes *to, struct dict_reader *reader, uint64_t object);

#endif
