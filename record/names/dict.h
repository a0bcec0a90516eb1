/* SPDX-License-Identifier: MIT */
/* Python's dicts and the attributes of objects, in the memory of the target. A dict has a table of keys and values:
 *
 *     dict ─ keys ─▶ { size, kind } indices │ entries: (hash, key, value) of any keys, or (key, value) of str keys
 *     object of a Python class: its class has the keys, and the object has an array of the values, in the same order
 *
 * The program runs while it is read, and its memory is not trusted: all sizes are bounded, and whoever uses a value
 * checks what the value is. */
#ifndef PYREEL_RECORD_NAMES_DICT_H
#define PYREEL_RECORD_NAMES_DICT_H

#include "formats/base/text.h"
#include "record/process/remote.h"
#include "record/python/layout.h"

#include <stdbool.h>

#define DICT_ENTRIES_LIMIT (1u << 16) /* most entries of a dict that is read */

/* Objects of the target, and room to read them. `= {0}`, then set the first two. */
struct dict_reader {
    struct remote *remote;
    const struct layout *layout;
    uint32_t entries_most; /* of a dict that is read; 0: DICT_ENTRIES_LIMIT. A system call compares 256 keys */
    uint64_t *entries;     /* the entries that were read last */
    size_t entries_room;
};

/* Finds the value of a dict for a str key, which is ASCII. 0: there is none, or the dict cannot be read. */
uint64_t dict_find_name(struct dict_reader *reader, uint64_t dict, struct text key);

/* Finds the value of a dict for a key that is an int, from 0 to 2^61 - 2. 0: as above. The dict must have keys that are
 * no strs, as a dict with int keys has. */
uint64_t dict_find_number(struct dict_reader *reader, uint64_t dict, uint64_t key);

/* Finds the values of attributes of an object whose class is a Python class: values[i] for names[i]. At most 8. 0: the
 * object has no such attribute of its own. False when the object cannot be read. */
bool dict_find_attributes(struct dict_reader *reader, uint64_t object, const struct text *names, size_t count,
                          uint64_t *values);

/* The address of the word that has the value of such an attribute. 0: as above. */
uint64_t dict_find_place(struct dict_reader *reader, uint64_t object, struct text name);

#define DICT_KEYS_HEAD 32 /* bytes at the start of a table of keys that say what it has */

/* A table of keys. */
struct dict_table {
    uint64_t entries; /* address of the first */
    uint32_t words;   /* of an entry */
    uint32_t key;     /* the word of the key, in front of that of the value, if the table has the values */
    uint32_t count;
    unsigned char kind;
};

/* Takes the first DICT_KEYS_HEAD bytes of the table at the address `keys`. False when they make no sense. */
bool dict_take_table(const unsigned char *head, uint64_t keys, struct dict_table *table);

/* Reads an int that is not negative and below 2^60, and a str, of which at most `limit` characters. False when the
 * object is no such object. The caller frees the text. */
bool dict_read_int(struct dict_reader *reader, uint64_t object, uint64_t *number);
bool dict_read_string(struct dict_reader *reader, uint64_t object, uint32_t limit, struct text *text);

/* Frees the room. */
void dict_reader_free(struct dict_reader *reader);

#endif
