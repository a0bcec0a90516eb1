/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The package of a path: numpy for numpy/_core/numeric.py, six for six.py. */
static struct text first_name(struct text path)
{
    const char *slash = memchr(path.bytes, '/', path.size);
    if (slash)
        return (struct text){ path.bytes, (size_t)(slash - path.bytes) };
    if (path.size > 3 && memcmp(path.bytes + path.size - 3, ".py", 3) == 0)
        path.size -= 3;
    return path;
}

/* The package of a file; empty for the program itself. */
static struct text package_of(enum origin origin, struct text rest)
{
    if (origin == ORIGIN_PACKAGE)
        return first_name(rest);
    return origin == ORIGIN_LIBRARY ? TEXT("stdlib") : (struct text){ 0 };
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
    struct text rest;
    const enum origin origin = paths_origin(tables_string(tables, file), &rest);
    sources->rows = alloc_grow(sources->rows, &sources->room, sources->count + 1, sizeof(*sources->rows));
    sources->rows[sources->count] = (struct gecko_source){
        .file = file, .origin = origin, .package = package_number(sources, package_of(origin, rest))
    };
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
