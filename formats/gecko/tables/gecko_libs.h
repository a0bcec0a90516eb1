/* SPDX-License-Identifier: MIT */
/* Libs: the programs and libraries whose native code is in the profile, and the native symbols, which are the functions
 * of this code. By them the viewer shows the library of a frame, and asks for the assembly of a function. Addresses
 * are relative to the first byte of the file, as it is mapped. A module of which only the path is known is no lib. */
#ifndef PYREEL_FORMATS_GECKO_TABLES_GECKO_LIBS_H
#define PYREEL_FORMATS_GECKO_TABLES_GECKO_LIBS_H

#include <stddef.h>
#include <stdint.h>

struct gecko;

/* Rows, and who has them. `= {0}` is empty. */
struct gecko_libs {
    uint32_t *by_module; /* by string: index of the lib + 1 */
    uint32_t *modules;   /* by lib: the string */
    size_t count, room;
    uint32_t *by_function; /* by function of the tables: index of the native symbol + 1 */
    uint32_t *functions;   /* by native symbol */
    size_t symbols_count, symbols_room;
    uint32_t *by_resource; /* by resource: index of the lib + 1 */
};

/* Collects the modules of all functions that have a row. Call it after gecko_sources_find(). */
void gecko_libs_find(struct gecko *gecko);

/* Writes the libs. */
void gecko_libs_emit(struct gecko *gecko);

/* The index of the lib of a resource; -1: none. Below: of the native symbol of a function. */
int64_t gecko_libs_of_resource(const struct gecko *gecko, size_t resource);
int64_t gecko_libs_symbol(const struct gecko *gecko, uint32_t function);

/* An address of a function's module, as the viewer counts it; -1: there is none. */
int64_t gecko_libs_address(const struct gecko *gecko, uint32_t function, uint64_t address);

void gecko_libs_free(struct gecko_libs *libs);

#endif
