/* SPDX-License-Identifier: MIT */
#include "record/names/dict.h"

#include "formats/base/alloc.h"
#include "record/python/unicode.h"

#include <stdlib.h>

/* struct _dictkeysobject, in all versions: refcount, then the bytes log2_size, log2_index_bytes, kind; two words
 * further the number of entries; then the indices. */
#define KEYS_LOG_SIZE    8
#define KEYS_LOG_INDICES 9
#define KEYS_KIND        10
#define KEYS_ENTRIES     24
#define LOG_MOST         32 /* largest logarithm of a size that is believed */

enum { KIND_GENERAL, KIND_STRS, KIND_SPLIT, KINDS };

#define GENERAL_WORDS 3 /* hash, key, value */
#define STRS_WORDS    2 /* key, value */

/* Bits of a type's flags: its objects are strs, dicts, ints. */
#define TYPE_INT  (UINT64_C(1) << 24)
#define TYPE_STR  (UINT64_C(1) << 28)
#define TYPE_DICT (UINT64_C(1) << 29)

#define NAME_MOST   32  /* most characters of a key that is searched for */
#define KEYS_ONCE   256 /* keys that one system call reads */
#define VALUES_MOST 8   /* attributes that are found at once */
#define VALUES_LAST 256 /* most values of an object */

static bool read_bytes(struct dict_reader *r, uint64_t address, void *into, size_t size)
{
    return remote_read(r->remote, address, into, size) == REMOTE_READ;
}

static bool read_word(struct dict_reader *r, uint64_t address, uint64_t *word)
{
    return read_bytes(r, address, word, sizeof(*word));
}

/* Behind the head of an object: the first member of an int, a str, a dict. */
static uint32_t head(const struct layout *l)
{
    return l->object_type + 8;
}

/* Whether the object's type has one of these flags. */
static bool is_a(struct dict_reader *r, uint64_t object, uint64_t flags)
{
    uint64_t type, of_type;
    return read_word(r, object + r->layout->object_type, &type) &&
           read_word(r, type + r->layout->type_flags, &of_type) && of_type & flags;
}

bool dict_take_table(const unsigned char *bytes, uint64_t keys, struct dict_table *table)
{
    const unsigned log_size = bytes[KEYS_LOG_SIZE], log_indices = bytes[KEYS_LOG_INDICES];
    const uint64_t count = word_at(bytes, KEYS_ENTRIES);
    const unsigned char kind = bytes[KEYS_KIND];
    if (log_size > LOG_MOST || log_indices > LOG_MOST || kind >= KINDS || count > DICT_ENTRIES_LIMIT ||
        count > (uint64_t)1 << log_size)
        return false;
    *table = (struct dict_table){ .entries = keys + DICT_KEYS_HEAD + ((uint64_t)1 << log_indices),
                                  .words = kind == KIND_GENERAL ? GENERAL_WORDS : STRS_WORDS,
                                  .key = kind == KIND_GENERAL,
                                  .count = (uint32_t)count,
                                  .kind = kind };
    return true;
}

static bool read_table(struct dict_reader *r, uint64_t keys, struct dict_table *table)
{
    unsigned char bytes[DICT_KEYS_HEAD];
    return keys && read_bytes(r, keys, bytes, sizeof(bytes)) && dict_take_table(bytes, keys, table) &&
           (!r->entries_most || table->count <= r->entries_most);
}

static bool read_entries(struct dict_reader *r, const struct dict_table *table)
{
    const size_t words = (size_t)table->count * table->words;
    r->entries = alloc_grow(r->entries, &r->entries_room, words + 1, sizeof(*r->entries));
    return table->count > 0 && read_bytes(r, table->entries, r->entries, words * sizeof(*r->entries));
}

static uint64_t key_at(const struct dict_reader *r, const struct dict_table *table, uint32_t i)
{
    return r->entries[(size_t)i * table->words + table->key];
}

/* Of the keys from `first` on, whether each of the next `count` is this str. A str that is shorter may end where the
 * memory ends, so a key that cannot be read is another one. */
static void compare_keys(struct dict_reader *r, const struct dict_table *table, uint32_t first, uint32_t count,
                         struct text name, bool *is)
{
    unsigned char bytes[KEYS_ONCE][LAYOUT_OBJECT_MAX + NAME_MOST];
    const struct layout *l = r->layout;
    const uint32_t size = l->string_ascii + (uint32_t)name.size + 1;
    for (uint32_t i = 0; i < count;) {
        struct piece pieces[KEYS_ONCE];
        size_t asked = 0, good = 0;
        for (; i + asked < count; asked++)
            pieces[asked] = (struct piece){ key_at(r, table, first + i + (uint32_t)asked), size, bytes[asked] };
        if (remote_read_pieces(r->remote, pieces, asked, &good) == REMOTE_READ)
            good = asked;
        for (size_t k = 0; k < good; k++)
            is[i + k] = word_at(bytes[k], l->string_length) == name.size &&
                        memcmp(bytes[k] + l->string_ascii, name.bytes, name.size) == 0;
        i += (uint32_t)good;
        if (i < count && good < asked)
            is[i++] = false;
    }
}

/* The index of a str key + 1; 0: none. The entries are read. */
static uint32_t find_key(struct dict_reader *r, const struct dict_table *table, struct text name)
{
    bool is[KEYS_ONCE];
    if (name.size > NAME_MOST || r->layout->string_ascii > LAYOUT_OBJECT_MAX - 1)
        return 0;
    for (uint32_t first = 0; first < table->count; first += KEYS_ONCE) {
        const uint32_t left = table->count - first, count = left < KEYS_ONCE ? left : KEYS_ONCE;
        compare_keys(r, table, first, count, name, is);
        for (uint32_t i = 0; i < count; i++)
            if (is[i])
                return first + i + 1;
    }
    return 0;
}

/* Where the value of an index is. The values of a split table are in an array of their own. 0: not known. */
static uint64_t place_of_value(const struct dict_reader *r, const struct dict_table *table, uint32_t index,
                               uint64_t values)
{
    if (table->kind != KIND_SPLIT)
        return table->entries + ((uint64_t)index * table->words + table->key + 1) * 8;
    return values && index < VALUES_LAST ? values + r->layout->values_first + (uint64_t)index * 8 : 0;
}

/* The value of an index. */
static uint64_t value_at(struct dict_reader *r, const struct dict_table *table, uint32_t index, uint64_t values)
{
    uint64_t value = 0;
    if (table->kind != KIND_SPLIT)
        return r->entries[(size_t)index * table->words + table->key + 1];
    const uint64_t place = place_of_value(r, table, index, values);
    return place && read_word(r, place, &value) ? value : 0;
}

/* Reads the table of a dict, its entries, and where its values are. */
static bool read_dict(struct dict_reader *r, uint64_t dict, struct dict_table *table, uint64_t *values)
{
    uint64_t words[2]; /* ma_keys, ma_values; behind ma_used and a version tag */
    if (!dict || !is_a(r, dict, TYPE_DICT) || !read_bytes(r, dict + head(r->layout) + 16, words, sizeof(words)))
        return false;
    *values = words[1];
    return read_table(r, words[0], table) && read_entries(r, table);
}

uint64_t dict_find_name(struct dict_reader *r, uint64_t dict, struct text key)
{
    struct dict_table table;
    uint64_t values;
    if (!read_dict(r, dict, &table, &values))
        return 0;
    const uint32_t index = find_key(r, &table, key);
    return index ? value_at(r, &table, index - 1, values) : 0;
}

/* The hash of such an int is the int itself. */
uint64_t dict_find_number(struct dict_reader *r, uint64_t dict, uint64_t key)
{
    struct dict_table table;
    uint64_t values;
    if (!read_dict(r, dict, &table, &values) || table.kind != KIND_GENERAL)
        return 0;
    for (uint32_t i = 0; i < table.count; i++) {
        const uint64_t *entry = &r->entries[(size_t)i * GENERAL_WORDS];
        if (entry[0] == key && entry[2])
            return entry[2];
    }
    return 0;
}

/* Where the values of an object are: in an array (*values), or in a dict of its own. 0 in both: not known. */
static bool find_values(struct dict_reader *r, uint64_t object, uint64_t type, uint64_t *values, uint64_t *dict)
{
    const struct layout *l = r->layout;
    uint64_t flags, size, word = 0;
    *values = 0;
    if (!read_word(r, type + l->type_flags, &flags) || !read_word(r, type + l->type_basic_size, &size) ||
        !read_word(r, object - l->object_dict_before, dict) || !(flags & l->type_managed_dict))
        return false;
    if (l->object_values_before && !read_word(r, object - l->object_values_before, values))
        return false;
    if (l->dict_word_is_tagged && *dict & 1) {
        *values = *dict + 1; /* the word has the address of the values, minus 1 */
        *dict = 0;
    }
    if (l->type_inline_values && !*dict && flags & l->type_inline_values && size < LAYOUT_BASIC_SIZE_MAX) {
        *values = object + size;
        /* the bytes capacity, size, embedded, valid */
        return read_word(r, *values, &word) && word >> 24 & 0xFF;
    }
    return true;
}

/* Reads the table of an object's attributes, and finds the array that has their values, if they are in one. */
static bool read_attributes(struct dict_reader *r, uint64_t object, struct dict_table *table, uint64_t *array)
{
    uint64_t type, dict, keys;
    if (!read_word(r, object + r->layout->object_type, &type) || !find_values(r, object, type, array, &dict))
        return false;
    if (dict)
        return read_dict(r, dict, table, array);
    return read_word(r, type + r->layout->type_cached_keys, &keys) && read_table(r, keys, table) &&
           table->kind == KIND_SPLIT && read_entries(r, table);
}

uint64_t dict_find_place(struct dict_reader *r, uint64_t object, struct text name)
{
    struct dict_table table;
    uint64_t array;
    const uint32_t index = read_attributes(r, object, &table, &array) ? find_key(r, &table, name) : 0;
    return index ? place_of_value(r, &table, index - 1, array) : 0;
}

bool dict_find_attributes(struct dict_reader *r, uint64_t object, const struct text *names, size_t count,
                          uint64_t *values)
{
    struct dict_table table;
    uint64_t array;
    if (count > VALUES_MOST || !read_attributes(r, object, &table, &array))
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = find_key(r, &table, names[i]);
        values[i] = index ? value_at(r, &table, index - 1, array) : 0;
    }
    return true;
}

/* From 3.12 on the digits' count is behind three bits of flags, before it is a word of its own. */
bool dict_read_int(struct dict_reader *r, uint64_t object, uint64_t *number)
{
    uint64_t words[2];
    if (!object || !is_a(r, object, TYPE_INT) || !read_bytes(r, object + head(r->layout), words, sizeof(words)))
        return false;
    const uint64_t count = words[0] >> r->layout->int_count_bit;
    const uint64_t low = words[1] & UINT32_MAX, high = words[1] >> 32;
    *number = count == 0 ? 0 : count == 1 ? low : low | high << 30;
    return count <= 2;
}

bool dict_read_string(struct dict_reader *r, uint64_t object, uint32_t limit, struct text *text)
{
    const struct layout *l = r->layout;
    uint64_t length;
    uint32_t state;
    struct characters from;
    if (!object || !is_a(r, object, TYPE_STR) || !read_word(r, object + l->string_length, &length) ||
        !read_bytes(r, object + l->string_state, &state, sizeof(state)) ||
        !unicode_find(l, length, state, limit, &from))
        return false;
    unsigned char *raw = alloc_zeroed((size_t)from.count + 1, from.kind);
    const bool good = from.count == 0 || read_bytes(r, object + from.offset, raw, (size_t)from.count * from.kind);
    *text = good ? unicode_text(&from, raw) : (struct text){ 0 };
    free(raw);
    return good;
}

void dict_reader_free(struct dict_reader *r)
{
    free(r->entries);
    r->entries = NULL;
    r->entries_room = 0;
}
