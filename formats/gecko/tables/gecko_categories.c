/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_categories.h"

#include "formats/gecko/gecko_internal.h"

#define SUBCATEGORIES_LIMIT 255 /* the viewer keeps the number of a subcategory in a byte; 0 is "Other" */

/* The viewer needs a grey category. It takes samples of the transparent category that is named Idle out of the call
 * tree, unless the user wants to see them. */
static const char *const colors[CATEGORIES] = {
    [CATEGORY_OTHER] = "grey",       [CATEGORY_PROGRAM] = "yellow",       [CATEGORY_PACKAGE] = "lightblue",
    [CATEGORY_LIBRARY] = "green",    [CATEGORY_IMPORT] = "brown",         [CATEGORY_NATIVE] = "blue",
    [CATEGORY_GC] = "magenta",       [CATEGORY_ASYNCIO] = "purple",       [CATEGORY_WAITING] = "red",
    [CATEGORY_IDLE] = "transparent", [CATEGORY_INSTRUCTION] = "darkgrey",
};

static const char *gecko_categories_name_of(enum gecko_category category)
{
    return category == CATEGORY_INSTRUCTION ? "Instructions" : code_kind_label((enum code_kind)category);
}

enum gecko_category gecko_categories_of(const struct gecko *gecko, uint32_t function)
{
    const struct gecko_source *source = gecko_sources_of(gecko, function);
    return source ? source->category : (enum gecko_category)code_kind_of(gecko->tables, function);
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
            json_array_append_new(all, json_pack("{s:s, s:s, s:o}", "name",
                                                 gecko_categories_name_of((enum gecko_category)i), "color", colors[i],
                                                 "subcategories", subcategories_of(&gecko->categories.names[i])));
    return all;
}

void gecko_categories_free(struct gecko_categories *of)
{
    for (size_t i = 0; i < CATEGORIES; i++)
        intern_free(&of->names[i]);
}
