/* SPDX-License-Identifier: MIT */
#include "formats/gecko_parts.h"

#include "formats/alloc.h"

#include <stdlib.h>
#include <string.h>

/* What stands behind the first `mark` in `path`; empty when it isn't there. */
static struct text behind(struct text path, const char *mark)
{
    const char *found = memmem(path.bytes, path.size, mark, strlen(mark));
    if (!found)
        return (struct text){ 0 };
    const char *rest = found + strlen(mark);
    return (struct text){ rest, path.size - (size_t)(rest - path.bytes) };
}

static bool begins_with(struct text text, const char *with)
{
    return text.size >= strlen(with) && memcmp(text.bytes, with, strlen(with)) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What stands behind "lib/python3.15" with its slash: all but installed packages is the standard library there. */
static struct text behind_library(struct text path)
{
    static const char *const folders[] = { "lib/python3.", "lib64/python3." };
    for (size_t i = 0; i < countof(folders); i++) {
        struct text rest = behind(path, folders[i]);
        while (rest.size > 0 && (is_digit(*rest.bytes) || *rest.bytes == 't')) /* 3.14t has no GIL */
            rest = (struct text){ rest.bytes + 1, rest.size - 1 };
        if (begins_with(rest, "/"))
            return rest;
    }
    return (struct text){ 0 };
}

/* numpy for numpy/_core/numeric.py, six for six.py. */
static struct text first_name(struct text path)
{
    const char *slash = memchr(path.bytes, '/', path.size);
    if (slash)
        return (struct text){ path.bytes, (size_t)(slash - path.bytes) };
    if (path.size > 3 && memcmp(path.bytes + path.size - 3, ".py", 3) == 0)
        path.size -= 3;
    return path;
}

enum gecko_origin gecko_origin(struct text path, struct text *package)
{
    *package = (struct text){ 0 };
    if (path.size == 0)
        return ORIGIN_UNKNOWN;
    static const char *const folders[] = { "site-packages/", "dist-packages/" };
    for (size_t i = 0; i < countof(folders); i++) {
        const struct text rest = behind(path, folders[i]);
        if (rest.size == 0)
            continue;
        *package = first_name(rest);
        return ORIGIN_PACKAGE;
    }
    /* Modules that are compiled into the interpreter have no path: <frozen importlib._bootstrap>. */
    if (!begins_with(path, "<frozen ") && behind_library(path).size == 0)
        return ORIGIN_PROGRAM;
    *package = TEXT("stdlib");
    return ORIGIN_LIBRARY;
}

static uint32_t package_number(struct gecko_sources *sources, struct text package)
{
    if (package.size == 0)
        return 0;
    bool added;
    const uint32_t number = intern_number(&sources->package_numbers, package.bytes, package.size, &added);
    if (!added)
        return number;
    sources->packages = alloc_grow(sources->packages, &sources->packages_room, (size_t)number + 1,
                                   sizeof(*sources->packages));
    sources->packages[number] = package;
    return number;
}

static void add_source(struct gecko_sources *sources, const struct tables *tables, uint32_t file)
{
    struct text package;
    const enum gecko_origin origin = gecko_origin(tables_string(tables, file), &package);
    sources->rows = alloc_grow(sources->rows, &sources->room, sources->count + 1, sizeof(*sources->rows));
    sources->rows[sources->count] = (struct gecko_source){ .file = file,
                                                           .origin = origin,
                                                           .package = package_number(sources, package) };
    sources->by_file[file] = (uint32_t)++sources->count;
}

void gecko_sources_find(struct gecko_sources *sources, const struct tables *tables)
{
    sources->by_file = alloc_zeroed(tables->strings_count, sizeof(*sources->by_file));
    for (size_t i = 1; i < tables->functions_count; i++) {
        const uint32_t file = tables->functions[i].file;
        if (file && !sources->by_file[file])
            add_source(sources, tables, file);
    }
}

void gecko_sources_free(struct gecko_sources *sources)
{
    free(sources->by_file);
    free(sources->rows);
    free(sources->packages);
    intern_free(&sources->package_numbers);
    *sources = (struct gecko_sources){ 0 };
}
