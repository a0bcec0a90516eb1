/* SPDX-License-Identifier: MIT */
/* What the recorder's definitions say of a function, by its index. */
#ifndef PYREEL_TESTS_FAKES_DEFINED_H
#define PYREEL_TESTS_FAKES_DEFINED_H

#include "record/emit/definitions.h"

static inline struct text defined_name(const struct definitions *definitions, uint32_t function)
{
    return definitions->strings.rows[definitions->functions.rows[function].function.name].text;
}

/* Empty when there is none. */
static inline struct text defined_file(const struct definitions *definitions, uint32_t function)
{
    const uint32_t file = definitions->functions.rows[function].function.file;
    return file ? definitions->strings.rows[file].text : (struct text){ 0 };
}

#endif
