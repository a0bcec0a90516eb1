/* SPDX-License-Identifier: MIT */
/* Texts of a bounded length: a program can give a function or a thread a name of any length, and nobody reads it to its
 * end. */
#ifndef PYREEL_FORMATS_FLAME_SHORT_TEXT_H
#define PYREEL_FORMATS_FLAME_SHORT_TEXT_H

#include "formats/base/bytes.h"

#define SHORT_TEXT_MOST 4096 /* bytes; as many as a path has at most */

/* The text itself, or the beginning of a text that is longer, cut between two characters, with an ellipsis behind it.
 * `room` has the bytes of the latter, until it changes. */
struct text short_text(struct text text, struct bytes *room);

#endif
