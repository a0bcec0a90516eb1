/* SPDX-License-Identifier: MIT */
#include "tests/fakes/fake_names.h"

#include <assert.h>
#include <string.h>

#define TYPE_ROOM  1200
#define LOG_ROOM   4 /* a table has room for 16 entries, ... */
#define LOG_LARGE  8 /* ... that of the modules for 256 */
#define OTHERS     200
#define BASIC_SIZE 48

enum { GENERAL, STRS, SPLIT }; /* kinds of tables */

static uint64_t make_type(struct fake_python *p, uint64_t flags)
{
    const uint64_t type = fake_room(p, TYPE_ROOM);
    fake_poke(p, type + fake_layout(p)->type_flags, flags);
    return type;
}

static uint32_t head(const struct fake_python *p)
{
    return fake_layout(p)->object_type + 8;
}

/* An empty table of keys. */
static uint64_t make_keys(struct fake_python *p, unsigned kind, unsigned log_size)
{
    const uint64_t keys = fake_room(p, 32 + ((size_t)1 << log_size) + ((size_t)24 << log_size));
    unsigned char *bytes = fake_bytes(p, keys);
    bytes[8] = (unsigned char)log_size;
    bytes[9] = (unsigned char)log_size;
    bytes[10] = (unsigned char)kind;
    return keys;
}

/* Adds an entry to a table. Returns the address of its value, which a split table does not use. */
static uint64_t add_entry(struct fake_python *p, uint64_t keys, uint64_t hash, uint64_t key, uint64_t value)
{
    const unsigned char *bytes = fake_bytes(p, keys);
    const uint64_t count = fake_peek(p, keys + 24), words = bytes[10] == GENERAL ? 3 : 2;
    uint64_t at = keys + 32 + ((uint64_t)1 << bytes[9]) + count * words * 8;
    assert(count < (uint64_t)1 << bytes[8]);
    if (bytes[10] == GENERAL) {
        fake_poke(p, at, hash);
        at += 8;
    }
    fake_poke(p, at, key);
    fake_poke(p, at + 8, value);
    fake_poke(p, keys + 24, count + 1);
    return at + 8;
}

static uint64_t make_dict(struct fake_python *p, const struct fake_names *names, uint64_t keys, uint64_t values)
{
    const uint64_t dict = fake_room(p, head(p) + 32);
    fake_poke(p, dict + fake_layout(p)->object_type, names->dict_type);
    fake_poke(p, dict + head(p) + 16, keys);
    fake_poke(p, dict + head(p) + 24, values);
    return dict;
}

uint64_t fake_names_string(struct fake_python *p, const struct fake_names *names, const char *text)
{
    const uint64_t string = fake_string(p, text);
    fake_poke(p, string + fake_layout(p)->object_type, names->string_type);
    return string;
}

uint64_t fake_names_int(struct fake_python *p, const struct fake_names *names, uint64_t number)
{
    const uint64_t object = fake_room(p, head(p) + 16), high = number >> 30;
    fake_poke(p, object + fake_layout(p)->object_type, names->int_type);
    fake_poke(p, object + head(p), (uint64_t)(high ? 2 : 1) << fake_layout(p)->int_count_bit);
    fake_poke4(p, object + head(p) + 8, number & 0x3FFFFFFF);
    fake_poke4(p, object + head(p) + 12, (uint32_t)high);
    return object;
}

struct fake_names fake_names_make(struct fake_python *p, size_t others)
{
    const struct layout *l = fake_layout(p);
    struct fake_names names = { .dict_type = make_type(p, 1u << 29),
                                .int_type = make_type(p, 1u << 24),
                                .string_type = make_type(p, 1u << 28),
                                .thread_type = make_type(p, l->type_managed_dict | l->type_inline_values) };
    assert(others <= OTHERS);
    names.thread_keys = make_keys(p, SPLIT, LOG_ROOM);
    static const char *const attributes[] = { "_target", "_name", "_ident", "_native_id" };
    for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
        add_entry(p, names.thread_keys, 0, fake_names_string(p, &names, attributes[i]), 0);
    fake_poke(p, names.thread_type + l->type_basic_size, BASIC_SIZE);
    fake_poke(p, names.thread_type + l->type_cached_keys, names.thread_keys);

    names.active = make_dict(p, &names, make_keys(p, GENERAL, LOG_ROOM), 0);
    const uint64_t globals = make_keys(p, STRS, LOG_ROOM), modules = make_keys(p, STRS, LOG_LARGE);
    add_entry(p, globals, 0, fake_names_string(p, &names, "_actives"), names.dict_type);
    add_entry(p, globals, 0, fake_names_string(p, &names, "_active"), names.active);
    names.module = fake_room(p, head(p) + 8);
    fake_poke(p, names.module + head(p), make_dict(p, &names, globals, 0));
    for (size_t i = 0; i < others; i++)
        add_entry(p, modules, 0, fake_names_string(p, &names, i % 2 ? "threadinG" : "os"), names.module);
    add_entry(p, modules, 0, fake_names_string(p, &names, "threading"), names.module);
    names.modules = make_dict(p, &names, modules, 0);
    fake_poke(p, p->interpreter + l->interpreter_modules, names.modules);
    return names;
}

/* Puts the values of a Thread into an array. Returns the address of the name. */
static uint64_t put_values(struct fake_python *p, uint64_t array, uint64_t name, uint64_t ident, uint64_t native)
{
    const uint64_t first = array + fake_layout(p)->values_first;
    if (fake_layout(p)->values_first)
        fake_bytes(p, array)[3] = 1; /* valid */
    fake_poke(p, first + 8, name);
    fake_poke(p, first + 16, ident);
    fake_poke(p, first + 24, native);
    return first + 8;
}

/* Gives an object its values, in an array, as the version has it. */
static uint64_t set_array(struct fake_python *p, uint64_t object, uint64_t name, uint64_t ident, uint64_t native)
{
    const struct layout *l = fake_layout(p);
    const uint64_t array = l->type_inline_values ? object + BASIC_SIZE : fake_room(p, 64);
    if (l->object_values_before)
        fake_poke(p, object - l->object_values_before, array);
    if (l->dict_word_is_tagged)
        fake_poke(p, object - l->object_dict_before, array - 1);
    return put_values(p, array, name, ident, native);
}

void fake_names_add(struct fake_python *p, struct fake_names *names, uint64_t ident, const char *name,
                    enum fake_attributes attributes)
{
    const struct layout *l = fake_layout(p);
    const uint64_t object = fake_room(p, 128) + 32;
    const uint64_t text = fake_names_string(p, names, name), number = fake_names_int(p, names, ident);
    const uint64_t native = fake_names_int(p, names, FAKE_NATIVE + names->count);
    uint64_t name_at, dict = 0;
    assert(names->count < FAKE_NAMED);
    fake_poke(p, object + l->object_type, names->thread_type);
    if (attributes == FAKE_ARRAY) {
        name_at = set_array(p, object, text, number, native);
    } else if (attributes == FAKE_SPLIT_DICT) {
        const uint64_t array = fake_room(p, 64);
        name_at = put_values(p, array, text, number, native);
        dict = make_dict(p, names, names->thread_keys, array);
    } else {
        const uint64_t keys = make_keys(p, STRS, LOG_ROOM);
        name_at = add_entry(p, keys, 0, fake_names_string(p, names, "_name"), text);
        add_entry(p, keys, 0, fake_names_string(p, names, "_ident"), number);
        add_entry(p, keys, 0, fake_names_string(p, names, "_native_id"), native);
        dict = make_dict(p, names, keys, 0);
    }
    if (dict)
        fake_poke(p, object - l->object_dict_before, dict);
    add_entry(p, fake_peek(p, names->active + head(p) + 16), ident, number, object);
    names->threads[names->count].object = object;
    names->threads[names->count++].name_at = name_at;
}

uint64_t fake_names_dict(struct fake_python *p, const struct fake_names *names, const char *const *keys,
                         const uint64_t *values, size_t count)
{
    const uint64_t table = make_keys(p, STRS, LOG_ROOM);
    for (size_t i = 0; i < count; i++)
        add_entry(p, table, 0, fake_names_string(p, names, keys[i]), values[i]);
    return make_dict(p, names, table, 0);
}

void fake_names_module(struct fake_python *p, const struct fake_names *names, const char *name, uint64_t dict)
{
    const uint64_t module = fake_room(p, head(p) + 8);
    fake_poke(p, module + head(p), dict);
    add_entry(p, fake_peek(p, names->modules + head(p) + 16), 0, fake_names_string(p, names, name), module);
}

uint64_t fake_names_object(struct fake_python *p, const struct fake_names *names, uint64_t dict)
{
    const uint64_t object = fake_room(p, 128) + 32;
    fake_poke(p, object + fake_layout(p)->object_type, names->thread_type);
    fake_poke(p, object - fake_layout(p)->object_dict_before, dict);
    return object;
}
