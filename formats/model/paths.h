/* SPDX-License-Identifier: MIT */
/* Short names of files for people: relative to the folder in which Python finds the module, instead of to the root of
 * the file system. The first rule that fits is used; any other path stays whole:
 *
 *     behind the last `site-packages/` (or Debian's `dist-packages/`)         requests/api.py
 *     behind the last `lib/python3.N/`                                        json/decoder.py
 *     relative to the working folder of the first process that contains it    app.py, tools/make.py
 *     relative to the folder of a program: of the file of a root <module>     app.py
 *
 * The same folders give the name of the module that the code in a file belongs to. */
#ifndef PYREEL_FORMATS_MODEL_PATHS_H
#define PYREEL_FORMATS_MODEL_PATHS_H

#include "formats/base/bytes.h"
#include "formats/model/tables.h"

struct paths {
    struct text *folders; /* without a slash at the end; the bytes belong to the tables */
    size_t count, room;
    size_t processes, stacks; /* the tables had so many when the folders were collected */
};

/* Collects the working folders and the folders of programs; when the tables have grown since the last call, the new
 * ones only. The tables must outlive `paths`. */
void paths_find(struct paths *paths, const struct tables *tables);

/* The origin of the code in a file. */
enum origin { ORIGIN_UNKNOWN, ORIGIN_PROGRAM, ORIGIN_LIBRARY, ORIGIN_PACKAGE };

/* The origin of a file by its path. *rest is the path relative to the folder of installed packages or of Python's own
 * modules; it points into `file`. *rest is empty for other origins and for built-in modules. */
enum origin paths_origin(struct text file, struct text *rest);

/* The part of a path behind its last slash. It points into `path`. */
struct text paths_last_part(struct text path);

/* The part of `file` that is enough for people. It points into `file`. */
struct text paths_shorten(const struct paths *paths, struct text file);

/* Where people find the code of a function: the short name of its Python file, or the file name of the program or
 * library that has it, and of the source of that, if it is known: "libz.so.1/deflate.c". With `full`, all as recorded.
 * Empty: nobody knows, or the frame is no function, as <GC>. The text is in `room`, or lives as long as the tables. */
struct text paths_place(const struct paths *paths, const struct tables *tables, uint32_t function, bool full,
                        struct bytes *room);

/* Whether nobody knew the name of a C function: it is called by where it begins, as libz.so.1+0x1b2c0. */
bool paths_is_nameless(const struct tables *tables, const struct function *function);

/* Appends the name of the module whose code is in `file`; nothing when `file` is empty. The folder in which Python
 * finds the module is the packages' or the library's folder, or else the deepest of the working folders and the folders
 * of programs, because the folder of a program comes first in sys.path. A part of a path that cannot be a package's
 * name, such as app.zip or my-project, ends such a folder, too. Of a path outside of all folders only the file name
 * counts.
 *
 *     /usr/lib/python3.15/json/decoder.py     json.decoder
 *     /usr/lib/python3.15/json/__init__.py    json
 *     <frozen importlib._bootstrap>           importlib._bootstrap
 *     /srv/app.py                             app             a script, whose module is called __main__ while it runs
 *     <string>                                <string>        code that has no module's file */
void paths_put_module(struct bytes *to, const struct paths *paths, struct text file);

/* Frees the list of folders. */
void paths_free(struct paths *paths);

#endif
