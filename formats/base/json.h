/* SPDX-License-Identifier: MIT */
/* Writes JSON as it comes: objects and arrays are opened, filled and closed, and nothing is kept. Whatever is small is
 * jansson's, which also escapes every text; numbers, the bulk of a profile, are written digit by digit.
 *
 *     emit_open(json, "samples", '{');
 *     emit_open(json, "stack", '[');
 *     emit_integer(json, NULL, 7);
 *     emit_close(json, ']');                 "samples":{"stack":[7]}
 *     emit_close(json, '}');
 *
 * `key` names a member of an object and is NULL in an array; keys are ours and need no escape. `= { .to = output }` is
 * ready to write; write errors are the output's to keep. */
#ifndef PYREEL_FORMATS_BASE_JSON_H
#define PYREEL_FORMATS_BASE_JSON_H

#include "formats/base/output.h"

#include <jansson.h>

struct emitter {
    struct output *to;
    bool comma; /* a value came before on this level */
    bool bad;   /* something could not be JSON: a text that is not UTF-8. Look once, at the end */
};

/* Begins an object '{' or an array '[', and ends it with '}' or ']'. */
void emit_open(struct emitter *json, const char *key, char bracket);
void emit_close(struct emitter *json, char bracket);

void emit_integer(struct emitter *json, const char *key, int64_t value);
/* The same number so many times, in an array. */
void emit_again(struct emitter *json, uint64_t value, uint64_t count);

/* `value` / 10^`digits` without zeros at its end: 12340 with 3 digits is 12.34. `digits` is at most 9. */
void emit_decimal(struct emitter *json, const char *key, uint64_t value, unsigned digits);

/* What is JSON already: "null", "true", "{}". */
void emit_literal(struct emitter *json, const char *key, const char *literal);

/* A text of UTF-8. */
void emit_text(struct emitter *json, const char *key, struct text text);

/* A value of jansson's, which is released here. NULL turns the emitter bad: jansson makes none of a bad text. */
void emit_value(struct emitter *json, const char *key, json_t *value);

#endif
