/* SPDX-License-Identifier: MIT */
#include "formats/base/json.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t size)
{
    return alloc_resize(NULL, size, 1);
}

void json_use_alloc(void)
{
    json_set_alloc_funcs(allocate, free);
}

static void emit_key(struct json_emitter *json, const char *key)
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

void emit_open(struct json_emitter *json, const char *key, char bracket)
{
    emit_key(json, key);
    output_bytes(json->to, &bracket, 1);
    json->comma = false;
}

void emit_close(struct json_emitter *json, char bracket)
{
    output_bytes(json->to, &bracket, 1);
    json->comma = true;
}

/* Writes what stands before a number: mostly the comma between items of a long array. Returns how many bytes of the
 * output's room that took. */
static size_t begin_number(struct json_emitter *json, const char *key)
{
    if (key)
        emit_key(json, key);
    const bool comma = !key && json->comma;
    *output_room(json->to) = ',';
    json->comma = true;
    return comma;
}

void emit_integer(struct json_emitter *json, const char *key, int64_t value)
{
    size_t size = begin_number(json, key);
    unsigned char *at = output_room(json->to);
    if (value < 0)
        at[size++] = '-';
    size += output_put_digits(at + size, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    output_filled(json->to, size);
}

void emit_again(struct json_emitter *json, uint64_t value, uint64_t count)
{
    unsigned char text[24] = ",";
    const size_t size = 1 + output_put_digits(text + 1, value);
    if (count > 0 && !json->comma) {
        emit_integer(json, NULL, (int64_t)value);
        count--;
    }
    for (; count > 0; count--) { /* copies all of `text`: a copy of constant length is fastest */
        memcpy(output_room(json->to), text, sizeof(text));
        output_filled(json->to, size);
    }
}

/* Writes a point and `digits` digits of `value` behind it, without zeros at the end. Returns the number of bytes. */
static size_t put_fraction(unsigned char *to, uint64_t value, unsigned digits)
{
    for (; value % 10 == 0; value /= 10)
        digits--;
    to[0] = '.';
    for (unsigned i = digits; i > 0; i--, value /= 10)
        to[i] = (unsigned char)('0' + value % 10);
    return digits + 1;
}

void emit_decimal(struct json_emitter *json, const char *key, uint64_t value, unsigned digits)
{
    static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
    assert(digits <= 9);
    size_t size = begin_number(json, key);
    unsigned char *at = output_room(json->to);
    const uint64_t whole = value / powers[digits], rest = value % powers[digits];
    size += output_put_digits(at + size, whole);
    if (rest)
        size += put_fraction(at + size, rest, digits);
    output_filled(json->to, size);
}

void emit_literal(struct json_emitter *json, const char *key, const char *literal)
{
    emit_key(json, key);
    output_string(json->to, literal);
}

/* Writes the two halves of a character beyond 16 bits, or the character. */
static void put_unicode_escape(struct output *to, uint32_t code_point)
{
    if (code_point >= 0x10000) {
        output_format(to, "\\u%04x", 0xD7C0 + (code_point >> 10));
        code_point = 0xDC00 + (code_point & 0x3FF);
    }
    output_format(to, "\\u%04x", code_point);
}

/* jansson gives whole characters, and all beyond ASCII stand in strings. */
int json_dump_printable(const char *bytes, size_t size, void *output)
{
    struct text left = { bytes, size };
    size_t plain = 0;
    while (plain < left.size) {
        size_t taken = 1;
        const bool ascii = (unsigned char)left.bytes[plain] < 0x7F;
        const uint32_t code_point = ascii ? 0
                                          : utf8_next((struct text){ left.bytes + plain, left.size - plain }, &taken);
        if (ascii || code_point == UINT32_MAX || !utf8_is_hidden(code_point)) {
            plain += taken;
            continue;
        }
        output_bytes(output, left.bytes, plain);
        put_unicode_escape(output, code_point);
        left = (struct text){ left.bytes + plain + taken, left.size - plain - taken };
        plain = 0;
    }
    output_bytes(output, left.bytes, left.size);
    return 0;
}

void emit_flag(struct json_emitter *json, const char *key, bool flag)
{
    emit_literal(json, key, flag ? "true" : "false");
}

void emit_text(struct json_emitter *json, const char *key, struct text text)
{
    emit_value(json, key, json_stringn(text.size ? text.bytes : "", text.size));
}

void emit_text_or_null(struct json_emitter *json, const char *key, struct text text)
{
    if (text.size)
        emit_text(json, key, text);
    else
        emit_literal(json, key, "null");
}

/* A value that could not be made is written as "null", so that the JSON stays well formed until the caller looks at
 * `bad`. */
void emit_value(struct json_emitter *json, const char *key, json_t *value)
{
    emit_key(json, key);
    if (!value || json_dump_callback(value, json_dump_printable, json->to, JSON_COMPACT | JSON_ENCODE_ANY) != 0) {
        json->bad = true;
        output_string(json->to, "null");
    }
    json_decref(value);
}
