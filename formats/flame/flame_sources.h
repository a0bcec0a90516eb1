/* SPDX-License-Identifier: MIT */
/* The texts of source files in the page's data, on request: the files of the functions that the page has. */
#ifndef PYREEL_FORMATS_FLAME_FLAME_SOURCES_H
#define PYREEL_FORMATS_FLAME_FLAME_SOURCES_H

#include "formats/base/json.h"
#include "formats/calls/entries.h"
#include "formats/flame/flame.h"

/* Writes the array of sources. `codes` tells which codes of the entries the page has; strings are numbered by
 * `strings`, 1, 2, 3, ... Tells in *files what became of each file. */
void flame_sources_emit(struct json_emitter *json, const struct entries *entries, const bool *codes,
                        struct intern *strings, const struct flame_style *style, struct embedded_files *files);

#endif
