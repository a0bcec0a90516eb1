/* SPDX-License-Identifier: MIT */
/* Writes JSON as a stream: objects and arrays are opened, filled and closed, and nothing is kept in memory. jansson
 * makes the small values and escapes each text. The code here writes numbers, the bulk of a profile, digit by digit.
 *
 *     emit_open(json, "samples", '{');
 *     emit_open(json, "stack", '[');
 *     emit_integer(json, NULL, 7);
 *     emit_close(json, ']');                 "samples":{"stack":[7]}
 *     emit_close(json, '}');
 *
 * `key` names a member of an object and is NULL in an array. Keys are constants of the program that need no escape.
 * `= { .to = output }` is ready to write. The output keeps write errors. */
#ifndef PYREEL_FORMATS_BASE_JSON_H
#define PYREEL_FORMATS_BASE_JSON_H

#include "formats/base/output.h"

#include <jansson.h>

struct json_emitter {
    struct output *to;
    bool comma; /* the next value on this level needs a comma */
    bool bad;   /* a value could not become JSON, for example a text that is not UTF-8. Check once, at the end */
};

/* Lets jansson allocate as alloc.h does: when memory runs out, the program ends. Call it before any other function. */
void json_use_alloc(void);

/* For json_dump_callback() to an output: writes JSON in which characters are escapes that a terminal takes for
 * commands, or that hide or turn text (utf8.h). For every reader of JSON that is the same text. */
int json_dump_printable(const char *bytes, size_t size, void *output);

/* Begins an object '{' or an array '[', and ends it with '}' or ']'. */
void emit_open(struct json_emitter *json, const char *key, char bracket);
void emit_close(struct json_emitter *json, char bracket);

/* Writes a whole number. */
void emit_integer(struct json_emitter *json, const char *key, int64_t value);
/* Writes `value` `count` times as items of an array. */
void emit_again(struct json_emitter *json, uint64_t value, uint64_t count);

/* Writes `value` / 10^`digits` without zeros at the end: 12340 with 3 digits is 12.34. `digits` is at most 9. */
void emit_decimal(struct json_emitter *json, const char *key, uint64_t value, unsigned digits);

/* Writes JSON text as it is: "null", "true", "{}". */
void emit_literal(struct json_emitter *json, const char *key, const char *literal);

/* Writes true or false. */
void emit_flag(struct json_emitter *json, const char *key, bool flag);

/* Writes a text of UTF-8. Any other text turns the emitter bad. */
void emit_text(struct json_emitter *json, const char *key, struct text text);
/* The same; null when the text is empty, which means that it is not known, or that there is none. */
void emit_text_or_null(struct json_emitter *json, const char *key, struct text text);

/* Writes a value of jansson's and releases it. NULL turns the emitter bad: jansson returns NULL for a text that is not
 * UTF-8. */
void emit_value(struct json_emitter *json, const char *key, json_t *value);

#endif
