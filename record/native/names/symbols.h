/* SPDX-License-Identifier: MIT */
/* The names of the functions of a program or library, by address: from the symbol tables of its file. .symtab has all
 * functions, and is missing where programs are "stripped". Then it may be in a file of its own (debug_file.h). Else
 * .dynsym has the functions that others may call, and .gnu_debugdata, a file that is packed into the file (Fedora), has
 * the others. The names are those of the linker: names of C++ and Rust are mangled.
 *
 * A library may have a million symbols. A thread of its own reads a large table, so that the recorder misses no tick.
 *
 * The file is not trusted: sizes are bounded, and what is beyond a bound has no name. */
#ifndef PYREEL_RECORD_NATIVE_NAMES_SYMBOLS_H
#define PYREEL_RECORD_NATIVE_NAMES_SYMBOLS_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol {
    uint64_t address;
    uint32_t size : 28, rank : 4; /* rank: of several names of one function the lowest is told */
    uint32_t name;                /* offset in `names` */
};

struct symbols_reader;

/* `= {0}` has none. */
struct symbols {
    struct symbol *rows; /* by address */
    size_t count, room;
    char *names; /* the texts of all tables, each with a NUL behind it */
    size_t names_size;
    struct symbols_reader *reader; /* a table that is being read; NULL: none is */
};

/* Reads the symbols of functions of an open file. `debug`: an open file that has its .symtab; -1: there is none. */
void symbols_read(struct symbols *symbols, int file, int debug);
/* The same, but a thread reads a large table: it is there when symbols_ready() says so. `file` stays open until then;
 * `debug` is closed. */
void symbols_begin(struct symbols *symbols, int file, int debug);
bool symbols_ready(struct symbols *symbols);
/* The same, but waits for it. */
bool symbols_wait(struct symbols *symbols);
/* Waits for the thread, if there is one. */
void symbols_free(struct symbols *symbols);

/* The symbol of the function that has an address of the file; NULL: none. Of a function with
 * several names, that by which others call it: close, and neither __close nor __GI___close. */
const struct symbol *symbols_find(const struct symbols *symbols, uint64_t address);

/* The name of a symbol, as the file has it. */
const char *symbols_name(const struct symbols *symbols, const struct symbol *symbol);

#endif
