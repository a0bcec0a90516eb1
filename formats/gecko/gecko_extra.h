/* SPDX-License-Identifier: MIT */
/* The rows of ours in the viewer's Profile Info, under "show more": a section for the whole profile, and one for each
 * recording when several were merged. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_EXTRA_H
#define PYREEL_FORMATS_GECKO_GECKO_EXTRA_H

#include "formats/model/tables.h"

#include <jansson.h>

struct gecko;

#define GECKO_EXTRA_RECORDINGS 50 /* merged recordings with a section of their own */

/* The sections of the merged recordings. `= {0}` is empty. */
struct gecko_extra {
    json_t *sections; /* NULL: none */
    size_t left_out;  /* recordings without a section */
};

/* Adds a section for a recording that was read to its end and merged. `name` is unique among the recordings. */
void gecko_extra_add(struct gecko_extra *extra, const struct tables *tables, struct text name);

/* All sections. */
json_t *gecko_extra_values(const struct gecko *gecko);

/* Whether the recording has a process and a descendant of it. */
bool gecko_extra_has_tree(const struct gecko *gecko);

void gecko_extra_free(struct gecko_extra *extra);

#endif
