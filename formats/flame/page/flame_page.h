/* SPDX-License-Identifier: MIT */
/* The page of pyreel-flame: what stands in the HTML file in front of the data, and what stands behind the data. The
 * data is described in schemas/flame.md. The arrays are made by embed.py when pyreel is built. */
#ifndef PYREEL_FORMATS_FLAME_PAGE_FLAME_PAGE_H
#define PYREEL_FORMATS_FLAME_PAGE_FLAME_PAGE_H

#include <stddef.h>

extern const unsigned char flame_page_head[], flame_page_tail[];
extern const size_t flame_page_head_size, flame_page_tail_size; /* bytes */

#endif
