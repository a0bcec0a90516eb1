/* SPDX-License-Identifier: MIT */
/* Values of pyreel-info, as its text and its JSON show them. */
#ifndef PYREEL_CONVERT_INFO_INFO_JSON_H
#define PYREEL_CONVERT_INFO_INFO_JSON_H

#include "formats/base/text.h"

#include <jansson.h>
#include <stdint.h>

/* The version of the objects that --json prints: schemas/info.schema.json. */
#define INFO_JSON_VERSION 1

/* A time in seconds. */
static inline double info_seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* A time in seconds, with microseconds. The caller owns the value; so below. */
static inline json_t *info_json_seconds(uint64_t ns)
{
    return json_real((double)(ns / 1000) / 1e6);
}

/* A count. A count that JSON cannot hold becomes the largest one: a file may say any number. */
static inline json_t *info_json_count(uint64_t count)
{
    return json_integer((json_int_t)(count <= INT64_MAX ? count : INT64_MAX));
}

/* A text, which is UTF-8. */
static inline json_t *info_json_text(struct text text)
{
    return json_stringn_nocheck(text.size ? text.bytes : "", text.size);
}

#endif
