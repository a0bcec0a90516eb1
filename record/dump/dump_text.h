/* SPDX-License-Identifier: MIT */
/* Writes a dump for people: a traceback of each thread in the form that Python prints, the most recent call last. */
#ifndef PYREEL_RECORD_DUMP_DUMP_TEXT_H
#define PYREEL_RECORD_DUMP_DUMP_TEXT_H

#include "formats/base/output.h"
#include "formats/terminal/screen.h"
#include "record/dump/source_lines.h"

/* Writes the dump of one process. */
void dump_text(struct output *to, const struct screen *screen, const struct dumped *dumped, struct source_lines *lines);

#endif
