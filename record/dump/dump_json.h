/* SPDX-License-Identifier: MIT */
/* Writes dumps as JSON. schemas/dump.schema.json describes the format. */
#ifndef PYREEL_RECORD_DUMP_DUMP_JSON_H
#define PYREEL_RECORD_DUMP_DUMP_JSON_H

#include "formats/base/json.h"
#include "record/dump/source_lines.h"

/* Writes the beginning, up to the list of processes. */
void dump_json_begin(struct json_emitter *json);

/* Writes one process of the list. */
void dump_json_process(struct json_emitter *json, const struct dumped *dumped, struct source_lines *lines);

/* Writes the end: `others`, which jansson made, is the list of the processes that were not dumped, and is released. */
void dump_json_end(struct json_emitter *json, json_t *others);

#endif
