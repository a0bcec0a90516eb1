/* SPDX-License-Identifier: MIT */
/* How many columns a text takes on a terminal, and texts that fit into so many. A letter takes one column, an East
 * Asian wide character or an emoji two, an accent that stands on another character none. Texts are printable
 * (printable.h). */
#ifndef PYREEL_FORMATS_TERMINAL_WIDTH_H
#define PYREEL_FORMATS_TERMINAL_WIDTH_H

#include "formats/base/bytes.h"

/* The columns of a text. */
size_t width_of(struct text text);

/* Appends a text that takes at most `columns`: a longer one loses its middle, where "..." stands in ASCII and else one
 * character. The end, which tells files and methods apart, gets the larger half. Returns the columns that were used.
 *
 *     width_put_shortened(to, TEXT("Request.handle_everything"), 15, true)     Reque...rything */
size_t width_put_shortened(struct bytes *to, struct text text, size_t columns, bool ascii);

/* The same for a path, whose last part matters most: it stays whole if it fits, with a mark and as much of the
 * beginning as fits in front.
 *
 *     width_put_path(to, TEXT("mesonbuild/compilers/compilers.py:17"), 24, true)     meson.../compilers.py:17 */
size_t width_put_path(struct bytes *to, struct text path, size_t columns, bool ascii);

/* The same, filled with blanks to all of the columns. */
void width_put_cell(struct bytes *to, struct text text, size_t columns, bool ascii);
void width_put_path_cell(struct bytes *to, struct text path, size_t columns, bool ascii);

/* Appends the beginning of a text, at most so many columns of it. */
void width_put_beginning(struct bytes *to, struct text text, size_t columns);

/* Appends so many blanks. */
void width_put_blanks(struct bytes *to, size_t count);

#endif
