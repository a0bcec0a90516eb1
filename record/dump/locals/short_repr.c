/* SPDX-License-Identifier: MIT */
#include "record/dump/locals/short_repr.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_MOST 80   /* characters of a str that are shown, ... */
#define BYTES_MOST  40   /* ... and bytes of a bytes object */
#define CLASS_MOST  64   /* bytes of the name of a class */
#define PAGE        4096 /* bytes of the smallest page */
#define INT_BITS    30   /* bits of a digit of an int */

/* Where a class has the number of its items, from the end of the object's head on; all are words. */
static const struct {
    const char *name;
    uint32_t length;
} containers[] = {
    { "list", 0 }, { "tuple", 0 }, { "bytearray", 0 }, { "dict", 0 }, { "set", 8 }, { "frozenset", 8 },
};

static bool repr_read_at(struct dict_reader *r, uint64_t address, void *into, size_t size)
{
    return remote_read(r->remote, address, into, size) == REMOTE_READ;
}

/* ---- simple values ---- */

/* Before 3.12 the number of digits is negative for a negative int; later the two lowest bits are 2. */
static bool put_int(struct bytes *to, struct dict_reader *r, uint64_t object)
{
    uint64_t words[2];
    char text[32];
    if (!repr_read_at(r, object + r->layout->object_type + 8, words, sizeof(words)))
        return false;
    const bool has_sign_bits = r->layout->int_count_bit > 0;
    const bool negative = has_sign_bits ? (words[0] & 3) == 2 : (int64_t)words[0] < 0;
    const uint64_t digits = has_sign_bits ? words[0] >> r->layout->int_count_bit : negative ? 0 - words[0] : words[0];
    const uint64_t low = words[1] & UINT32_MAX, high = words[1] >> 32;
    const uint64_t number = digits == 0 ? 0 : digits == 1 ? low : low | high << INT_BITS;
    if (digits <= 2)
        snprintf(text, sizeof(text), "%s%" PRIu64, negative ? "-" : "", number);
    else if (digits < UINT32_MAX)
        snprintf(text, sizeof(text), "<int of %s%" PRIu64 " bits>", negative ? "-" : "", digits * INT_BITS);
    else
        return false;
    put_string(to, text);
    return true;
}

/* The shortest digits that give the same number. */
static bool put_float(struct bytes *to, struct dict_reader *r, uint64_t object)
{
    double number;
    char text[40];
    if (!repr_read_at(r, object + r->layout->object_type + 8, &number, sizeof(number)))
        return false;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    put_string(to, isnan(number) ? "nan" : text);
    if (isfinite(number) && !strpbrk(text, ".e"))
        put_string(to, ".0");
    return true;
}

/* Appends the inside of a literal: what would end it is escaped. */
static void literal_put_escaped(struct bytes *to, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char *escape = bytes[i] == '\'' ? "\\'" : bytes[i] == '\\' ? "\\\\" : bytes[i] == '\n' ? "\\n" : NULL;
        if (escape)
            put_string(to, escape);
        else
            put_bytes(to, &bytes[i], 1);
    }
}

static bool put_str(struct bytes *to, struct dict_reader *r, uint64_t object)
{
    struct text text = { 0 };
    if (!dict_read_string(r, object, STRING_MOST, &text))
        return false;
    put_string(to, "'");
    literal_put_escaped(to, text.bytes, text.size);
    put_string(to, "'");
    text_free(text);
    return true;
}

static bool put_bytes_object(struct bytes *to, struct dict_reader *r, uint64_t object)
{
    const struct layout *l = r->layout;
    uint64_t size;
    char bytes[BYTES_MOST], hex[8];
    if (!repr_read_at(r, object + l->bytes_size, &size, sizeof(size)))
        return false;
    const size_t shown = size < BYTES_MOST ? (size_t)size : BYTES_MOST;
    if (shown > 0 && !repr_read_at(r, object + l->bytes_data, bytes, shown))
        return false;
    put_string(to, "b'");
    for (size_t i = 0; i < shown; i++) {
        snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)bytes[i]);
        if (bytes[i] >= ' ' && bytes[i] <= '~')
            literal_put_escaped(to, &bytes[i], 1);
        else
            put_string(to, hex);
    }
    put_string(to, size > shown ? "...'" : "'");
    return true;
}

static bool put_bool(struct bytes *to, struct dict_reader *r, uint64_t object)
{
    uint64_t words[2];
    if (!repr_read_at(r, object + r->layout->object_type + 8, words, sizeof(words)))
        return false;
    put_string(to, words[1] & UINT32_MAX ? "True" : "False");
    return true;
}

/* ---- classes ---- */

/* Reads the name of the object's class. */
static bool read_class(struct dict_reader *r, uint64_t object, char name[CLASS_MOST + 1])
{
    uint64_t type, address;
    if (object % 8 != 0 || !repr_read_at(r, object + r->layout->object_type, &type, sizeof(type)) ||
        !repr_read_at(r, type + r->layout->type_name, &address, sizeof(address)))
        return false;
    /* The name may end where the memory ends, which is the end of a page. */
    const size_t page = PAGE - address % PAGE, size = page < CLASS_MOST ? page : CLASS_MOST;
    memset(name, 0, CLASS_MOST + 1);
    if (!repr_read_at(r, address, name, size))
        return false;
    const size_t length = strlen(name);
    if (length == size && size < CLASS_MOST && !repr_read_at(r, address + size, name + size, CLASS_MOST - size))
        name[size] = '\0';
    return length > 0;
}

static void put_class(struct bytes *to, struct dict_reader *r, uint64_t object, const char *name)
{
    uint64_t length;
    char text[40];
    snprintf(text, sizeof(text), " at 0x%" PRIx64, object); /* tells whether two names are one object */
    for (size_t i = 0; i < countof(containers); i++)
        if (strcmp(name, containers[i].name) == 0 &&
            repr_read_at(r, object + r->layout->object_type + 8 + containers[i].length, &length, sizeof(length)))
            snprintf(text, sizeof(text), " of %" PRIu64, length);
    const struct text clean = utf8_clean(text_of(name));
    put_string(to, "<");
    put_bytes(to, clean.bytes, clean.size);
    put_string(to, text);
    put_string(to, ">");
    text_free(clean);
}

void short_repr(struct bytes *to, struct dict_reader *r, uint64_t object)
{
    static const struct {
        const char *name;
        bool (*put)(struct bytes *to, struct dict_reader *reader, uint64_t object);
    } simple[] = {
        { "int", put_int },   { "float", put_float }, { "str", put_str }, { "bytes", put_bytes_object },
        { "bool", put_bool },
    };
    char name[CLASS_MOST + 1];
    if (!read_class(r, object, name)) {
        put_string(to, "<not readable>");
        return;
    }
    if (strcmp(name, "NoneType") == 0) {
        put_string(to, "None");
        return;
    }
    const size_t before = to->size;
    for (size_t i = 0; i < countof(simple); i++)
        if (strcmp(name, simple[i].name) == 0 && simple[i].put(to, r, object))
            return;
    to->size = before;
    put_class(to, r, object, name);
}
