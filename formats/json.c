/* SPDX-License-Identifier: MIT */
#include "formats/json.h"

#include <assert.h>

static void emit_key(struct emitter *json, const char *key)
{
    if (json->comma)
        output_bytes(json->to, ",", 1);
    json->comma = true;
    if (!key)
        return;
    output_bytes(json->to, "\"", 1);
    output_string(json->to, key);
    output_bytes(json->to, "\":", 2);
}

void emit_open(struct emitter *json, const char *key, char bracket)
{
    emit_key(json, key);
    output_bytes(json->to, &bracket, 1);
    json->comma = false;
}

void emit_close(struct emitter *json, char bracket)
{
    output_bytes(json->to, &bracket, 1);
    json->comma = true;
}

void emit_integer(struct emitter *json, const char *key, int64_t value)
{
    emit_key(json, key);
    if (value < 0)
        output_bytes(json->to, "-", 1);
    output_number(json->to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* `digits` digits of `value` behind a point. */
static void emit_fraction(struct emitter *json, uint64_t value, unsigned digits)
{
    for (; value % 10 == 0; value /= 10)
        digits--;
    char text[10] = ".";
    for (unsigned i = digits; i > 0; i--, value /= 10)
        text[i] = (char)('0' + value % 10);
    output_bytes(json->to, text, digits + 1);
}

void emit_decimal(struct emitter *json, const char *key, uint64_t value, unsigned digits)
{
    static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
    assert(digits <= 9);
    emit_key(json, key);
    output_number(json->to, value / powers[digits]);
    if (value % powers[digits])
        emit_fraction(json, value % powers[digits], digits);
}

void emit_literal(struct emitter *json, const char *key, const char *literal)
{
    emit_key(json, key);
    output_string(json->to, literal);
}

static int emit_dumped(const char *bytes, size_t size, void *output)
{
    output_bytes(output, bytes, size);
    return 0;
}

void emit_text(struct emitter *json, const char *key, struct text text)
{
    emit_value(json, key, json_stringn(text.size ? text.bytes : "", text.size));
}

/* Writes "null" for what could not be made, so that the rest stays in its place until the caller looks at `bad`. */
void emit_value(struct emitter *json, const char *key, json_t *value)
{
    emit_key(json, key);
    if (!value || json_dump_callback(value, emit_dumped, json->to, JSON_COMPACT | JSON_ENCODE_ANY) != 0) {
        json->bad = true;
        output_string(json->to, "null");
    }
    json_decref(value);
}
