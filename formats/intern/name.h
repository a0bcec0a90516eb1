/* SPDX-License-Identifier: MIT */
/* How long a name may be. The recorded program chooses the names of functions, files, threads and tasks, and a name of
 * 125 kB repeats so well that a file of 2 MB may hold 5 GB of such names. So a longer name is cut: by the recorder when
 * the name is read from the program, and by each reader of recordings, since a file may come from anybody.
 *
 *     "ffff ... f1" (125,001 bytes)    the first 1,000 bytes of it, and "...#40d2c5ae96b1e0f3"
 *
 * The digits are a hash, so cut names that differ stay different. The hash is the same in all runs. */
#ifndef PYREEL_FORMATS_INTERN_NAME_H
#define PYREEL_FORMATS_INTERN_NAME_H

#include "formats/base/text.h"

#include <stdint.h>

#define NAME_LIMIT 1024u /* bytes of the name of a function, a file, a thread or a task */
#define TEXT_LIMIT 4096u /* bytes of other texts, such as command lines, programs, folders */

#define NAME_HASH_START UINT64_C(0xcbf29ce484222325)

/* Continues a hash with more bytes. The first call gets NAME_HASH_START. */
uint64_t name_hash(uint64_t hash, struct text more);

/* Writes the beginning of a name, cut at a character, and the mark of `hash` into `room` (`limit` bytes). The name must
 * have at least `limit` - 24 bytes. Returns the text in `room`. */
struct text name_marked(struct text name, uint64_t hash, char *room, size_t limit);

/* Returns the name, if it has at most `limit` bytes. Otherwise cuts the name into `room`, which has `limit` bytes. */
struct text name_cut(struct text name, char *room, size_t limit);

#endif
