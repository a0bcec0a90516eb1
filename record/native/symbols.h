/* SPDX-License-Identifier: MIT */
/* The names of the functions of a program or library, by address: from the symbol tables of its file. .symtab has all
 * functions, and is missing where programs are "stripped"; .dynsym has those that others may call. The names are those
 * of the linker: names of C++ and Rust are mangled.
 *
 * The file is not trusted: sizes are bounded, and what is beyond a bound has no name. */
#ifndef PYREEL_RECORD_NATIVE_SYMBOLS_H
#define PYREEL_RECORD_NATIVE_SYMBOLS_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
    uint64_t address;
    uint32_t size, name; /* name: offset in `names` */
};

/* `= {0}` has none. */
struct symbols {
    struct symbol *rows; /* by address */
    size_t count, room;
    char *names; /* the texts of all tables, each with a NUL behind it */
    size_t names_size;
};

/* Reads the symbols of functions of an open file. Returns whether the file has a .symtab. */
bool symbols_read(struct symbols *symbols, int file);
void symbols_free(struct symbols *symbols);

/* The symbol of the function that has an address of the file; NULL: none. A function with several names is called by
 * the one that comes first in the table. */
const struct symbol *symbols_find(const struct symbols *symbols, uint64_t address);

/* The name of a symbol, as the file has it. */
const char *symbols_name(const struct symbols *symbols, const struct symbol *symbol);

#endif
