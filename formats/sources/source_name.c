/* SPDX-License-Identifier: MIT */
#include "formats/sources/source_name.h"

#include "formats/model/paths.h"

#include <string.h>

/* ---- folders ---- */

static struct text text_between(const char *from, const char *to)
{
    return (struct text){ from, (size_t)(to - from) };
}

static struct text without_slash(struct text folder)
{
    while (folder.size > 0 && folder.bytes[folder.size - 1] == '/')
        folder.size--;
    return folder;
}

static bool source_folders_add(struct source_folders *folders, struct source_folder row)
{
    if (folders->count == SOURCE_FOLDERS_MOST || row.folder.size == 0)
        return false;
    folders->rows[folders->count++] = row;
    return true;
}

/* The sign behind FROM. A made-up name may have one in itself. */
static const char *end_of_from(const char *value)
{
    const char *end = value[0] == '<' ? strstr(value, ">=") : strchr(value, '=');
    return end && value[0] == '<' ? end + 1 : end;
}

bool source_folders_add_map(struct source_folders *maps, const char *value)
{
    const char *equals = end_of_from(value);
    if (!equals || (value[0] != '/' && value[0] != '<') || equals[1] == '\0')
        return false;
    const struct text folder = without_slash(text_between(value, equals));
    return source_folders_add(maps,
                              (struct source_folder){ .folder = folder, .other = without_slash(text_of(equals + 1)) });
}

/* Whether a text is a part of a public name: the viewer splits the name at colons. */
static bool is_plain(struct text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.bytes[i] == ':' || (unsigned char)text.bytes[i] <= ' ')
            return false;
    return text.size > 0;
}

bool source_folders_add_repository(struct source_folders *repositories, const char *value)
{
    const char *equals = strchr(value, '='), *at = strchr(value, '@');
    if (!equals || !at || at > equals || equals[1] != '/')
        return false;
    const struct source_folder row = { .folder = without_slash(text_of(equals + 1)),
                                       .other = text_between(value, at),
                                       .revision = text_between(at + 1, equals) };
    const char *slash = memchr(row.other.bytes, '/', row.other.size);
    const bool good = slash && memchr(slash + 1, '/', row.other.size - (size_t)(slash + 1 - row.other.bytes));
    return good && is_plain(row.other) && is_plain(row.revision) && source_folders_add(repositories, row);
}

/* The deepest folder that contains the file; NULL: none does. */
static const struct source_folder *deepest(const struct source_folders *folders, struct text file)
{
    const struct source_folder *found = NULL;
    for (size_t i = 0; i < folders->count; i++) {
        const struct source_folder *row = &folders->rows[i];
        const bool inside = file.size > row->folder.size + 1 && text_begins(file, row->folder) &&
                            file.bytes[row->folder.size] == '/';
        if (inside && (!found || row->folder.size > found->folder.size))
            found = row;
    }
    return found;
}

static void name_put_text(struct bytes *to, struct text text)
{
    put_bytes(to, text.bytes, text.size);
}

/* The row of this very file; NULL: none is. */
static const struct source_folder *row_of_file(const struct source_folders *maps, struct text file)
{
    for (size_t i = 0; i < maps->count; i++)
        if (text_equal(maps->rows[i].folder, file))
            return &maps->rows[i];
    return NULL;
}

bool source_is_mapped(const struct source_folders *maps, struct text file)
{
    return row_of_file(maps, file) != NULL;
}

void source_put_path(struct bytes *to, const struct source_folders *maps, struct text file)
{
    const struct source_folder *own = row_of_file(maps, file), *row = own ? own : deepest(maps, file);
    if (row) {
        name_put_text(to, row->other);
        file = text_between(file.bytes + row->folder.size, file.bytes + file.size);
    }
    name_put_text(to, file);
}

static void put_public_name(struct bytes *to, struct text repository, struct text folder, struct text path,
                            struct text revision)
{
    name_put_text(to, TEXT("git:"));
    name_put_text(to, repository);
    name_put_text(to, TEXT(":"));
    name_put_text(to, folder);
    name_put_text(to, path);
    name_put_text(to, TEXT(":"));
    name_put_text(to, revision);
}

bool source_put_repository_name(struct bytes *to, const struct source_folders *repositories, struct text file)
{
    const struct source_folder *row = deepest(repositories, file);
    if (!row)
        return false;
    const struct text path = text_between(file.bytes + row->folder.size + 1, file.bytes + file.size);
    if (memchr(path.bytes, ':', path.size))
        return false;
    put_public_name(to, row->other, TEXT(""), path, row->revision);
    return true;
}

/* ---- the standard library ---- */

/* The minor version in the name of the folder in front of `rest`: 15 for /usr/lib/python3.15/. */
static unsigned minor_of(struct text file, struct text rest)
{
    const struct text python = TEXT("python3.");
    for (size_t at = file.size - rest.size; at-- > 0;) {
        const struct text name = text_between(file.bytes + at, file.bytes + file.size);
        if (!text_begins(name, python))
            continue;
        unsigned minor = 0;
        for (size_t i = python.size; i < python.size + 3 && name.bytes[i] >= '0' && name.bytes[i] <= '9'; i++)
            minor = 10 * minor + (unsigned)(name.bytes[i] - '0');
        return minor;
    }
    return 0;
}

/* The version of the first process that has this minor version (0: any); 0 when there is none. */
static uint32_t version_of(const struct tables *tables, unsigned minor)
{
    for (size_t i = 1; i < tables->processes_count; i++) {
        const uint32_t version = tables->processes[i].process.python_version;
        if (version >> 24 == 3 && (minor == 0 || (version >> 16 & 0xff) == minor))
            return version;
    }
    return 0;
}

/* Whether CPython's repository has a tag of the version. Alpha 0 is what the main branch calls itself until alpha 1. */
static bool has_tag(uint32_t version)
{
    return version && (version & 0xff) != 0xa0;
}

/* Whether CPython's repository has a file of the library. Builds and systems add files of their own. */
static bool is_public(struct text rest)
{
    static const char *const own[] = { "_sysconfigdata", "_sysconfig_vars", "sitecustomize.", "usercustomize.",
                                       "lib-dynload/",   "config-",         "__phello__" };
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (text_begins(rest, text_of(own[i])))
            return false;
    return rest.size > 3 && memcmp(rest.bytes + rest.size - 3, ".py", 3) == 0 && !memchr(rest.bytes, ':', rest.size);
}

/* Appends the file of a frozen module: importlib/_bootstrap.py for <frozen importlib._bootstrap>. The module getpath
 * is not in Lib. */
static void put_frozen_path(struct bytes *to, struct text file)
{
    const struct text frozen = TEXT("<frozen ");
    if (!text_begins(file, frozen) || file.bytes[file.size - 1] != '>' || text_equal(file, TEXT("<frozen getpath>")))
        return;
    for (size_t i = frozen.size; i + 1 < file.size; i++)
        put_bytes(to, file.bytes[i] == '.' ? "/" : file.bytes + i, 1);
    name_put_text(to, TEXT(".py"));
}

bool source_put_library_name(struct bytes *to, const struct tables *tables, struct text file)
{
    struct text rest;
    if (paths_origin(file, &rest) != ORIGIN_LIBRARY)
        return false;
    struct bytes path = { 0 };
    if (rest.size)
        name_put_text(&path, rest);
    else
        put_frozen_path(&path, file);
    const struct text named = { (const char *)path.at, path.size };
    const uint32_t version = version_of(tables, rest.size ? minor_of(file, rest) : 0);
    const bool known = has_tag(version) && path.size && is_public(named);
    char tag[40] = "v";
    if (known) {
        event_python_version_text(tag + 1, version);
        put_public_name(to, TEXT("github.com/python/cpython"), TEXT("Lib/"), named, text_of(tag));
    }
    bytes_free(&path);
    return known;
}
