/* SPDX-License-Identifier: MIT */
/* Where the text of a source file is: in a public repository, by a name that the Firefox Profiler fetches, or on this
 * machine, in another folder than on the machine that was recorded.
 *
 *     git:github.com/python/cpython:Lib/json/decoder.py:v3.15.2     the standard library, by its public tag
 *     git:github.com/me/app:tools/make.py:1f3a                      a folder that the user named
 */
#ifndef PYREEL_FORMATS_SOURCES_SOURCE_NAME_H
#define PYREEL_FORMATS_SOURCES_SOURCE_NAME_H

#include "formats/base/bytes.h"
#include "formats/model/tables.h"

#define SOURCE_FOLDERS_MOST 64

/* A folder, and what stands for the folder. The texts belong to the command line. */
struct source_folder {
    struct text folder;   /* without a slash at its end */
    struct text other;    /* another folder, or HOST/ORG/REPO */
    struct text revision; /* of a repository */
};

/* `= {0}` is empty. */
struct source_folders {
    struct source_folder rows[SOURCE_FOLDERS_MOST];
    size_t count;
};

/* Adds FROM=TO: files below the folder FROM lie below the folder TO on this machine, or the file FROM is the file TO.
 * FROM is a path from the root, or the made-up name of a file in angle brackets: <stdin>. False when `value` has
 * another form, or when there are too many. */
bool source_folders_add_map(struct source_folders *maps, const char *value);

/* Adds HOST/ORG/REPO@REV=FOLDER: files below FOLDER are in this repository. False as above. */
bool source_folders_add_repository(struct source_folders *repositories, const char *value);

/* Whether a map is that of this very file: then the user has said which file it is. */
bool source_is_mapped(const struct source_folders *maps, struct text file);

/* Appends the path of a file on this machine: by the map of the file, by the deepest folder of `maps` that contains the
 * file, else the path itself. */
void source_put_path(struct bytes *to, const struct source_folders *maps, struct text file);

/* Appends the public name of a file, by the deepest folder of `repositories` that contains the file. Returns false, and
 * appends nothing, when no folder does. */
bool source_put_repository_name(struct bytes *to, const struct source_folders *repositories, struct text file);

/* Appends the public name of a file of the standard library, by the version of the process that has the file. Returns
 * false, and appends nothing, when CPython's repository has no such file, or the version is not known. */
bool source_put_library_name(struct bytes *to, const struct tables *tables, struct text file);

#endif
