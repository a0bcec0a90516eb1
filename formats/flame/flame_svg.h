/* SPDX-License-Identifier: MIT */
/* Writes an aggregate as one SVG picture of a flame graph: what the page (flame.h) shows first, without its script.
 * Each box has a title with its time. Boxes that are too narrow to be seen are left out; their callers have their time.
 *
 *     <g><title>main (app.py:52)
 *     4.555 s, 99.4 %</title><rect .../><text ...>main</text></g> */
#ifndef PYREEL_FORMATS_FLAME_FLAME_SVG_H
#define PYREEL_FORMATS_FLAME_FLAME_SVG_H

#include "formats/flame/flame.h"

/* Writes the picture. Sets made->empty when the style leaves out all stacks; then nothing is written. Write errors are
 * kept in `to`. */
void flame_svg_write(struct output *to, const struct tables *tables, const struct flame_samples *samples,
                     const struct flame_style *style, struct flame_made *made);

/* Whether a file that begins so is such a picture. */
bool flame_svg_recognises(struct text head);

#endif
