/* SPDX-License-Identifier: MIT */
#include "record/native/names/methods.h"

#include "formats/base/alloc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_LIMIT     (16u << 20) /* bytes of a module's data that are searched */
#define METHODS_LIMIT  65536
#define SEARCHES_LIMIT 512   /* for the owners of slots: each looks at all data */
#define ROW_WORDS      4     /* of a PyMethodDef */
#define FLAGS_LIMIT    0x800 /* the flags of methods are below; 0 is none */
#define TYPE_NAME      (-26) /* words from tp_methods to tp_name, between ob_size and tp_basicsize, ... */
#define OBJECT_LEAST   16    /* bytes of an object, ... */
#define OBJECT_MOST    (1u << 20)
#define MODULE_NAME    (-3)       /* ... from m_methods, behind m_size, to m_name, ... */
#define MODULE_HEAD    (-8)       /* ... and to the head of the PyModuleDef, ... */
#define MODULE_MOST    (1u << 24) /* bytes of the state of a module; m_size may be -1 */
#define SPEC_NAME      (-3)       /* ... and from `slots` of a PyType_Spec to its name */
#define SLOT_METHODS   64         /* Py_tp_methods */
#define SLOTS_MOST     90         /* numbers of slots are below, and a type has no more of them */
#define NAMES_MOST     64         /* rows of one function that are looked at */
#define PART_MAX       64         /* bytes of an owner, and of a method */

/* The data of a module, while it is searched. */
struct module_data {
    const struct image_file *image;
    uint64_t begin; /* address in the process */
    const uint64_t *words;
    size_t count;
};

/* Whether an address of the process is in a loaded segment with these flags. */
static bool is_in_image(const struct image_file *image, uint64_t address, uint32_t flags)
{
    for (size_t i = 0; i < image->segments_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags &&
            address - image->bias - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}

/* Reads an identifier, or several with dots between them, and its NUL. */
static bool read_identifier(const struct image_file *image, uint64_t address, char text[PART_MAX])
{
    memset(text, 0, PART_MAX);
    if (!image_file_read(image, address - image->bias, text, PART_MAX) &&
        remote_read(image->remote, address, text, PART_MAX) != REMOTE_READ)
        return false;
    size_t size = 0;
    while (size < PART_MAX && (isalnum((unsigned char)text[size]) || text[size] == '_' || text[size] == '.'))
        size++;
    return size > 0 && size < PART_MAX && text[size] == '\0' && !isdigit((unsigned char)text[0]);
}

/* ---- tables ---- */

static bool is_row(const struct image_file *image, const uint64_t *words)
{
    return words[2] > 0 && words[2] < FLAGS_LIMIT && is_in_image(image, words[0], PF_R) &&
           !is_in_image(image, words[0], PF_X) && is_in_image(image, words[1], PF_X) &&
           (words[3] == 0 || is_in_image(image, words[3], PF_R));
}

static void add_row(struct methods *m, const uint64_t *words)
{
    m->rows = alloc_grow(m->rows, &m->room, m->count + 1, sizeof(*m->rows));
    m->rows[m->count++] = (struct method){ words[1], words[0], (uint32_t)m->tables_count - 1 };
}

static void find_tables(struct methods *m, const struct module_data *data)
{
    for (size_t i = 0; i + ROW_WORDS <= data->count && m->count < METHODS_LIMIT;) {
        if (!is_row(data->image, data->words + i)) {
            i++;
            continue;
        }
        m->tables = alloc_grow(m->tables, &m->tables_room, m->tables_count + 1, sizeof(*m->tables));
        m->tables[m->tables_count++] = (struct method_table){ .begin = data->begin + i * 8 };
        for (; i + ROW_WORDS <= data->count && is_row(data->image, data->words + i); i += ROW_WORDS)
            add_row(m, data->words + i);
    }
}

/* The table that begins at an address; NULL: none does. Tables are in the order of their addresses. */
static struct method_table *table_at(const struct methods *m, uint64_t address)
{
    size_t low = 0, high = m->tables_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->tables[middle].begin < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->tables_count && m->tables[low].begin == address ? &m->tables[low] : NULL;
}

/* ---- owners ---- */

/* The word at a distance from word `i`; 0: the data has no such word. */
static uint64_t word_near(const struct module_data *data, size_t i, ptrdiff_t distance)
{
    const size_t at = i + (size_t)distance;
    return at < data->count ? data->words[at] : 0;
}

static bool is_name(const struct image_file *image, uint64_t address)
{
    char text[PART_MAX];
    return is_in_image(image, address, PF_R) && !is_in_image(image, address, PF_X) &&
           read_identifier(image, address, text);
}

/* The address of the first of the slots among which is that at word `i`. */
static uint64_t first_slot(const struct module_data *data, size_t i)
{
    size_t first = i;
    for (int count = 0; count < SLOTS_MOST && first >= 2; count++, first -= 2) {
        const uint64_t number = data->words[first - 2];
        if (number == 0 || number >= SLOTS_MOST)
            break;
    }
    return data->begin + first * 8;
}

/* The name of the type that has these slots; 0: not found. */
static uint64_t owner_of_slots(const struct module_data *data, uint64_t slots)
{
    for (size_t i = 3; i < data->count; i++)
        if (data->words[i] == slots && is_name(data->image, data->words[i + SPEC_NAME]))
            return data->words[i + SPEC_NAME];
    return 0;
}

/* The name of what refers to a table by word `i`; 0: not known. */
static uint64_t owner_by(const struct module_data *data, size_t i)
{
    if (word_near(data, i, -1) == SLOT_METHODS)
        return owner_of_slots(data, first_slot(data, i - 1));
    const uint64_t type = word_near(data, i, TYPE_NAME), module = word_near(data, i, MODULE_NAME);
    const uint64_t items = word_near(data, i, TYPE_NAME - 1), object = word_near(data, i, TYPE_NAME + 1);
    if (items == 0 && object >= OBJECT_LEAST && object < OBJECT_MOST && is_name(data->image, type))
        return type;
    const uint64_t references = word_near(data, i, MODULE_HEAD), size = word_near(data, i, -1);
    return references > 0 && size + 1 < MODULE_MOST && is_name(data->image, module) ? module : 0;
}

static void methods_find_owners(struct methods *m, const struct module_data *data)
{
    size_t searches = 0;
    for (size_t i = 0; i < data->count; i++) {
        struct method_table *table = table_at(m, data->words[i]);
        if (!table || table->owner || searches == SEARCHES_LIMIT)
            continue;
        searches += word_near(data, i, -1) == SLOT_METHODS;
        table->owner = owner_by(data, i);
    }
}

/* ---- a module ---- */

static int method_order(const void *a, const void *b)
{
    const struct method *one = a, *other = b;
    if (one->function != other->function)
        return one->function < other->function ? -1 : 1;
    return one->table < other->table ? -1 : one->table > other->table;
}

void methods_read(struct methods *m, const struct image_file *image)
{
    *m = (struct methods){ 0 };
    size_t left = DATA_LIMIT;
    for (size_t i = 0; i < image->segments_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        const size_t size = segment->p_memsz < left ? segment->p_memsz & ~(uint64_t)7 : left;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W) || size == 0 || segment->p_vaddr % 8 != 0)
            continue;
        left -= size;
        uint64_t *words = alloc_zeroed(size / 8, 8);
        const struct module_data data = { image, segment->p_vaddr + image->bias, words, size / 8 };
        if (remote_read(image->remote, data.begin, words, size) == REMOTE_READ) {
            find_tables(m, &data);
            methods_find_owners(m, &data);
        }
        free(words);
    }
    if (m->count > 0)
        qsort(m->rows, m->count, sizeof(*m->rows), method_order);
}

void methods_free(struct methods *m)
{
    free(m->rows);
    free(m->tables);
    *m = (struct methods){ 0 };
}

/* The index of the first row of a function, if it has one. */
static size_t first_row(const struct methods *m, uint64_t function)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->rows[middle].function < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The name of a row's method, and that of its owner; empty: not known. */
struct method_name {
    char called[PART_MAX], owner[PART_MAX];
};

static bool read_method(const struct methods *m, const struct image_file *image, const struct method *method,
                        struct method_name *name)
{
    const uint64_t owner = m->tables[method->table].owner;
    if (!owner || !read_identifier(image, owner, name->owner))
        name->owner[0] = '\0';
    return read_identifier(image, method->name, name->called);
}

/* A function of several types has no owner: BufferedReader.read is BufferedRandom.read, too. One that Python knows by
 * several names has none here. */
bool methods_name(const struct methods *m, const struct image_file *image, uint64_t function,
                  char name[METHOD_NAME_MAX])
{
    struct method_name first, other;
    const size_t row = first_row(m, function + image->bias);
    bool one_owner = true;
    for (size_t i = row; i < m->count && m->rows[i].function == function + image->bias; i++) {
        if (i - row == NAMES_MOST)
            return false;
        if (!read_method(m, image, &m->rows[i], i == row ? &first : &other) ||
            (i > row && strcmp(first.called, other.called) != 0))
            return false;
        one_owner &= i == row || strcmp(first.owner, other.owner) == 0;
    }
    if (row == m->count || m->rows[row].function != function + image->bias)
        return false;
    const char *dot = strrchr(first.owner, '.'), *owner = dot ? dot + 1 : first.owner; /* collections.deque */
    const bool owned = one_owner && owner[0];
    snprintf(name, METHOD_NAME_MAX, "%s%s%s", owned ? owner : "", owned ? "." : "", first.called);
    return true;
}
