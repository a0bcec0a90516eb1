/* SPDX-License-Identifier: MIT */
/* Debug information of a program or library tells of each address in its code: the function, the line, and the
 * functions that the compiler has inlined there.
 *
 *     address     machine code of     the sources say                            places
 *     0x1b2c7     deflate_slow        deflate_slow: 1932 calls flush_pending,    deflate_slow:1932, flush_pending:790,
 *                                     which calls zmemcpy                        zmemcpy:21
 *
 * The information is of one build and of no other: it counts only if it has the build id of the module that was
 * recorded. libdw reads it; a pyreel that was built without libdw has none (debug_info_absent.c). */
#ifndef PYREEL_CONVERT_SYMBOLS_DEBUG_INFO_H
#define PYREEL_CONVERT_SYMBOLS_DEBUG_INFO_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEBUG_PLACES 64 /* most places of an address; inner ones are left out */

struct debug_place {
    struct text name;    /* of the function, as the linker knows it; empty: not known */
    struct text file;    /* the source of the function; empty: not known */
    uint32_t first_line; /* of the function; 0: not known */
    uint32_t line; /* in that file: of the address in the innermost place, else of the call of the next one; 0: not
                    * known, or in another file */
};

struct debug_info;

/* Whether this pyreel can read debug information. */
bool debug_info_exists(void);

/* Opens the debug information of the module that had this path when it was recorded. The information is in the file
 * itself, in that of its .gnu_debuglink or in /usr/lib/debug/.build-id; with `fetch` also on the servers of
 * DEBUGINFOD_URLS, which else are not asked. `build_id`: hexadecimal digits. NULL: there is none. */
struct debug_info *debug_info_open(struct text path, struct text build_id, bool fetch);

/* Finds the places of an address, as the file counts addresses, outermost first. Returns how many; 0: nothing is known.
 * The texts are valid until debug_info_close(). */
size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_place places[DEBUG_PLACES]);

/* Frees the information. NULL is safe. */
void debug_info_close(struct debug_info *info);

#endif
