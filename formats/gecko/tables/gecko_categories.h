/* SPDX-License-Identifier: MIT */
/* Categories: where the code of a frame comes from, or what its thread waits for. The category decides the colour in
 * each of the viewer's drawings, and the viewer can leave the frames of all other categories out of its stacks ("focus
 * on category"). A function always has one category, because the viewer greys a call tree node that has several. So
 * what a thread does at a moment, such as waiting, is a frame of its own at the leaf of the stack (gecko_leaves.h). */
#ifndef PYREEL_FORMATS_GECKO_TABLES_GECKO_CATEGORIES_H
#define PYREEL_FORMATS_GECKO_TABLES_GECKO_CATEGORIES_H

#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/frames/code_kind.h"
#include "formats/intern/intern.h"

#include <stddef.h>
#include <stdint.h>

struct gecko;

/* Rows of meta.categories: the kinds of code, and instructions. */
enum gecko_category {
    CATEGORY_OTHER = CODE_OTHER,
    CATEGORY_PROGRAM = CODE_PROGRAM,
    CATEGORY_PACKAGE = CODE_PACKAGE,
    CATEGORY_LIBRARY = CODE_LIBRARY,
    CATEGORY_IMPORT = CODE_IMPORT,
    CATEGORY_NATIVE = CODE_NATIVE,
    CATEGORY_GC = CODE_GC,
    CATEGORY_ASYNCIO = CODE_ASYNCIO,
    CATEGORY_WAITING = CODE_WAITING,
    CATEGORY_IDLE = CODE_IDLE,
    CATEGORY_INSTRUCTION = CODE_KINDS, /* exists only when instructions are frames */
    CATEGORIES
};

/* The subcategories behind "Other", by category: their names have the numbers 1, 2, 3, ... `= {0}` is empty. */
struct gecko_categories {
    struct intern names[CATEGORIES];
};

/* The category of a function of the tables. */
enum gecko_category gecko_categories_of(const struct gecko *gecko, uint32_t function);

/* The number of a subcategory; adds the subcategory if absent. Returns 0, "Other", when the category has as many as the
 * viewer takes. */
uint32_t gecko_categories_subcategory(struct gecko *gecko, enum gecko_category category, struct text name);

/* The categories for the viewer. */
json_t *gecko_categories_list(const struct gecko *gecko);

void gecko_categories_free(struct gecko_categories *categories);

#endif
