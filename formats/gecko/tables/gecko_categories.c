/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_categories.h"

#include "formats/gecko/gecko_internal.h"
#include "formats/model/task_frame.h"

#define SUBCATEGORIES_LIMIT 255 /* the viewer keeps the number of a subcategory in a byte; 0 is "Other" */

/* The viewer needs a grey category. It takes samples of the transparent category that is named Idle out of the call
 * tree, unless the user wants to see them. */
static const struct category {
    const char *name, *color;
} categories[CATEGORIES] = {
    [CATEGORY_OTHER] = { "Other", "grey" },
    [CATEGORY_PROGRAM] = { "Your code", "yellow" },
    [CATEGORY_PACKAGE] = { "Packages", "lightblue" },
    [CATEGORY_LIBRARY] = { "Standard library", "green" },
    [CATEGORY_IMPORT] = { "Imports", "brown" },
    [CATEGORY_NATIVE] = { "C code", "blue" },
    [CATEGORY_GC] = { "Garbage collection", "magenta" },
    [CATEGORY_ASYNCIO] = { "Asyncio", "purple" },
    [CATEGORY_WAITING] = { "Waiting for GIL", "red" },
    [CATEGORY_IDLE] = { "Idle", "transparent" },
    [CATEGORY_INSTRUCTION] = { "Instructions", "darkgrey" },
};

/* Whether a file belongs to the import machinery; `rest` is its path in the standard library. Metadata and resources of
 * packages are not part of an import. */
static bool is_import(struct text file, struct text rest)
{
    if (text_begins(file, TEXT("<frozen importlib.")) || text_begins(file, TEXT("<frozen zipimport>")))
        return true;
    if (text_begins(rest, TEXT("importlib/metadata")) || text_begins(rest, TEXT("importlib/resources")))
        return false;
    return text_begins(rest, TEXT("importlib/")) || text_equal(rest, TEXT("zipimport.py"));
}

enum gecko_category gecko_categories_of_file(struct text file)
{
    struct text rest;
    const enum origin origin = paths_origin(file, &rest);
    if (origin == ORIGIN_PACKAGE)
        return CATEGORY_PACKAGE;
    if (origin != ORIGIN_LIBRARY)
        return CATEGORY_PROGRAM;
    if (is_import(file, rest))
        return CATEGORY_IMPORT;
    return text_begins(rest, TEXT("asyncio/")) ? CATEGORY_ASYNCIO : CATEGORY_LIBRARY;
}

enum gecko_category gecko_categories_of(const struct gecko *gecko, uint32_t function)
{
    const struct text name = tables_function_name(gecko->tables, function);
    if (text_equal(name, TEXT("<native>")))
        return CATEGORY_NATIVE;
    if (text_equal(name, TEXT("<GC>")))
        return CATEGORY_GC;
    const struct gecko_source *source = gecko_sources_of(gecko, function);
    if (source)
        return source->category;
    return task_frame_is_name(name) ? CATEGORY_ASYNCIO : CATEGORY_OTHER;
}

unsigned gecko_own_code_category(void)
{
    return CATEGORY_PROGRAM;
}

uint32_t gecko_categories_subcategory(struct gecko *gecko, enum gecko_category category, struct text name)
{
    bool added;
    const char *bytes = name.size ? name.bytes : "";
    const uint32_t number = intern_number(&gecko->categories.names[category], bytes, name.size, &added);
    return number <= SUBCATEGORIES_LIMIT ? number : 0;
}

static json_t *subcategories_of(const struct intern *names)
{
    json_t *list = json_pack("[s]", "Other");
    for (uint32_t i = 1; i <= names->count && i <= SUBCATEGORIES_LIMIT; i++)
        json_array_append_new(list, json_stringn(names->texts[i].bytes, names->texts[i].size));
    return list;
}

json_t *gecko_categories_list(const struct gecko *gecko)
{
    json_t *all = json_array();
    for (size_t i = 0; i < CATEGORIES; i++)
        if (i != CATEGORY_INSTRUCTION || gecko->style.opcodes == GECKO_OPCODES_FRAMES)
            json_array_append_new(all,
                                  json_pack("{s:s, s:s, s:o}", "name", categories[i].name, "color", categories[i].color,
                                            "subcategories", subcategories_of(&gecko->categories.names[i])));
    return all;
}

void gecko_categories_free(struct gecko_categories *of)
{
    for (size_t i = 0; i < CATEGORIES; i++)
        intern_free(&of->names[i]);
}
