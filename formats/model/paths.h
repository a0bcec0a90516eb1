/* SPDX-License-Identifier: MIT */
/* Files as a person calls them: told from where Python finds its modules instead of from the root of the file system.
 * The first of these that fits is taken, anything else stays whole:
 *
 *     behind the last `site-packages/` (or Debian's `dist-packages/`)        requests/api.py
 *     behind the last `lib/python3.N/`                                       json/decoder.py
 *     from the working folder of a process, the first that has it            app.py, tools/make.py
 *     from the folder of a program: of the file whose <module> nobody called  app.py */
#ifndef PYREEL_FORMATS_MODEL_PATHS_H
#define PYREEL_FORMATS_MODEL_PATHS_H

#include "formats/model/tables.h"

struct paths {
    struct text *folders; /* without a slash at the end; the bytes belong to the tables */
    size_t count, room;
};

/* Finds the folders that files may be told from. The tables must outlive `paths`. */
void paths_find(struct paths *paths, const struct tables *tables);

/* Where the code in a file comes from. */
enum origin { ORIGIN_UNKNOWN, ORIGIN_PROGRAM, ORIGIN_LIBRARY, ORIGIN_PACKAGE };

/* The origin of a file by its path. *rest is its path from the folder of installed packages or of Python's own
 * modules; it points into `file`, and is empty for other origins and for modules that are built in. */
enum origin path_origin(struct text file, struct text *rest);

/* The part of `file` that is enough for a person. It points into `file`. */
struct text paths_shorten(const struct paths *paths, struct text file);

void paths_free(struct paths *paths);

#endif
