/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_sources.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_internal.h"
#include "formats/model/program_name.h"

#include <stdlib.h>
#include <string.h>

/* ---- resources ---- */

/* The first name of a path: numpy for numpy/_core/numeric.py, six for six.py. */
static struct text first_name(struct text path)
{
    const char *slash = memchr(path.bytes, '/', path.size);
    if (slash)
        return (struct text){ path.bytes, (size_t)(slash - path.bytes) };
    if (path.size > 3 && memcmp(path.bytes + path.size - 3, ".py", 3) == 0)
        path.size -= 3;
    return path;
}

/* The first name of a frozen module: importlib for <frozen importlib._bootstrap>. */
static struct text frozen_name(struct text file)
{
    const struct text frozen = TEXT("<frozen ");
    struct text name = { file.bytes + frozen.size, file.size - frozen.size };
    for (size_t i = 0; i < name.size; i++)
        if (name.bytes[i] == '.' || name.bytes[i] == '>')
            name.size = i;
    return name;
}

/* The name of the deepest folder of the program that contains the file; the file's own folder when none does. */
static struct text folder_name(const struct paths *paths, struct text file)
{
    struct text folder = file;
    while (folder.size > 0 && folder.bytes[folder.size - 1] != '/')
        folder.size--;
    size_t deepest = 0;
    for (size_t i = 0; i < paths->count; i++)
        if (paths->folders[i].size > deepest && paths->folders[i].size < folder.size &&
            text_begins(file, paths->folders[i]) && file.bytes[paths->folders[i].size] == '/')
            deepest = paths->folders[i].size;
    struct text name = { folder.bytes, deepest ? deepest : folder.size };
    while (name.size > 0 && name.bytes[name.size - 1] == '/')
        name.size--;
    for (size_t i = name.size; i-- > 0;)
        if (name.bytes[i] == '/')
            return (struct text){ name.bytes + i + 1, name.size - i - 1 };
    return name;
}

static struct text gecko_sources_resource_name(const struct gecko_sources *sources, struct text file)
{
    struct text rest, name;
    const enum origin origin = paths_origin(file, &rest);
    if (origin == ORIGIN_PACKAGE || origin == ORIGIN_LIBRARY)
        name = rest.size ? first_name(rest) : frozen_name(file);
    else
        name = sources->title ? text_of(sources->title) : folder_name(&sources->paths, file);
    return name.size ? name : file;
}

/* The resource with this key, which is its name unless resources of two kinds may have the name. */
static uint32_t resource_of(struct gecko *gecko, struct text key, struct text name)
{
    bool added;
    struct gecko_sources *sources = &gecko->sources;
    const uint32_t number = intern_number(&sources->resources, key.bytes, key.size, &added);
    if (added) {
        sources->resource_names = alloc_grow(sources->resource_names, &sources->resource_names_room, number,
                                             sizeof(*sources->resource_names));
        sources->resource_names[number - 1] = gecko_tables_string(gecko, name);
    }
    return number - 1;
}

/* The title of the program; NULL when the processes have different titles. */
static char *common_title(const struct tables *tables)
{
    char *title = NULL;
    for (size_t i = 1; i < tables->processes_count; i++) {
        const struct process *process = &tables->processes[i].process;
        if (process->number == 0)
            continue;
        char *other = program_name_title(process->command.size ? process->command : process->executable);
        const bool differs = title && strcmp(title, other) != 0;
        free(title);
        title = other;
        if (!differs)
            continue;
        free(title);
        return NULL;
    }
    return title;
}

/* ---- sources ---- */

/* Packages and modules of the standard library are subcategories, unless instructions are. */
static uint32_t subcategory_of(struct gecko *gecko, enum gecko_category category, struct text resource)
{
    const bool divided = category == CATEGORY_PACKAGE || category == CATEGORY_LIBRARY;
    return divided && gecko->style.opcodes != GECKO_OPCODES_SUBCATEGORIES
               ? gecko_categories_subcategory(gecko, category, resource)
               : 0;
}

/* The name of a file in the viewer. */
static size_t gecko_sources_source_name(struct gecko *gecko, uint32_t file)
{
    struct bytes name = { 0 };
    const struct text path = tables_string(gecko->tables, file);
    const bool is_public = source_put_repository_name(&name, &gecko->style.repositories, path) ||
                           (!gecko->style.full_paths && source_put_library_name(&name, gecko->tables, path));
    const struct text full = { (const char *)name.at, name.size };
    const size_t string = is_public ? gecko_tables_string(gecko, full) : file;
    bytes_free(&name);
    return string;
}

/* Adds a source. Files with the same name are one source: <frozen os> and os.py have one text. */
static void add_source(struct gecko *gecko, const struct function *function)
{
    const uint32_t file = function->file;
    struct gecko_sources *sources = &gecko->sources;
    const struct text path = tables_string(gecko->tables, file);
    bool added;
    const size_t name = gecko_sources_source_name(gecko, file);
    sources->by_file[file] = intern_pairs_number(&sources->by_name, (uint32_t)name, 0, &added);
    if (!added)
        return;
    sources->rows = alloc_grow(sources->rows, &sources->room, sources->count + 1, sizeof(*sources->rows));
    if (function->module) { /* the resource of its functions is their library */
        sources->rows[sources->count++] = (struct gecko_source){
            .file = file, .name = name, .category = CATEGORY_NATIVE
        };
        return;
    }
    const enum gecko_category category = (enum gecko_category)code_kind_of_file(path);
    const struct text resource = gecko_sources_resource_name(sources, path);
    sources->rows[sources->count] = (struct gecko_source){ .file = file,
                                                           .name = name,
                                                           .category = category,
                                                           .subcategory = subcategory_of(gecko, category, resource),
                                                           .resource = resource_of(gecko, resource, resource) };
    sources->count++;
}

/* ---- names of functions ---- */

/* Whether a name is one of those that each module may have: <module>, <lambda>, <listcomp>, <genexpr>. */
static bool is_common(struct text name)
{
    if (name.size < 3 || name.bytes[0] != '<' || name.bytes[name.size - 1] != '>')
        return false;
    for (size_t i = 1; i + 1 < name.size; i++)
        if (name.bytes[i] < 'a' || name.bytes[i] > 'z')
            return false;
    return true;
}

static size_t gecko_sources_name_of(struct gecko *gecko, const struct function *function)
{
    const struct text name = tables_string(gecko->tables, function->name);
    const struct text file = tables_string(gecko->tables, function->file);
    if (function->kind != KIND_PYTHON || !is_common(name) || file.size == 0)
        return 0;
    struct bytes full = { 0 };
    const struct text in = text_equal(name, TEXT("<module>")) ? TEXT(" ") : TEXT(" in ");
    put_bytes(&full, name.bytes, name.size);
    put_bytes(&full, in.bytes, in.size);
    paths_put_module(&full, &gecko->sources.paths, file);
    const size_t string = gecko_tables_string(gecko, (struct text){ (const char *)full.at, full.size });
    bytes_free(&full);
    return string;
}

size_t gecko_sources_function_name(const struct gecko *gecko, uint32_t function)
{
    const size_t name = gecko->sources.names[function];
    return name ? name : gecko->tables->functions[function].name;
}

/* Adds the resource of a program or library. It is none of Python files, even where both have one name. */
static void add_module(struct gecko *gecko, uint32_t module)
{
    struct bytes key = { 0 };
    const struct text path = tables_string(gecko->tables, module), name = paths_last_part(path);
    if (name.size == 0)
        return;
    put_bytes(&key, "", 1);
    put_bytes(&key, path.bytes, path.size);
    gecko->sources.by_module[module] = 1 + resource_of(gecko, bytes_text(&key), name);
    bytes_free(&key);
}

void gecko_sources_find(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    struct gecko_sources *sources = &gecko->sources;
    paths_find(&sources->paths, tables);
    sources->title = common_title(tables);
    sources->by_file = alloc_zeroed(tables->strings_count, sizeof(*sources->by_file));
    sources->by_module = alloc_zeroed(tables->strings_count, sizeof(*sources->by_module));
    sources->names = alloc_zeroed(tables->functions_count, sizeof(*sources->names));
    for (size_t row = 0; row < gecko->rows.functions.count; row++) {
        const uint32_t number = gecko->rows.functions.number[row];
        const struct function *function = &tables->functions[number];
        if (function->file && tables_string(tables, function->file).size && !sources->by_file[function->file])
            add_source(gecko, function);
        if (function->module && !sources->by_module[function->module])
            add_module(gecko, function->module);
        sources->names[number] = gecko_sources_name_of(gecko, function);
    }
}

const struct gecko_source *gecko_sources_of(const struct gecko *gecko, uint32_t function)
{
    const uint32_t file = gecko->tables->functions[function].file;
    const uint32_t index = file ? gecko->sources.by_file[file] : 0;
    return index ? &gecko->sources.rows[index - 1] : NULL;
}

int64_t gecko_sources_resource(const struct gecko *gecko, uint32_t function)
{
    const struct gecko_source *source = gecko_sources_of(gecko, function);
    const uint32_t module = gecko->tables->functions[function].module;
    if (module)
        return (int64_t)gecko->sources.by_module[module] - 1;
    return source ? (int64_t)source->resource : -1;
}

void gecko_sources_free(struct gecko_sources *sources)
{
    free(sources->by_file);
    free(sources->by_module);
    intern_pairs_free(&sources->by_name);
    free(sources->rows);
    free(sources->resource_names);
    free(sources->names);
    free(sources->title);
    intern_free(&sources->resources);
    paths_free(&sources->paths);
    *sources = (struct gecko_sources){ 0 };
}
