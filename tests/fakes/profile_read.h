/* SPDX-License-Identifier: MIT */
/* What stands in a profile for the Firefox Profiler. A test fails where it asks for what is not there. */
#ifndef PYREEL_TESTS_FAKES_PROFILE_READ_H
#define PYREEL_TESTS_FAKES_PROFILE_READ_H

#include <jansson.h>
#include <stddef.h>

/* The profile in a file, which is removed. The caller decrefs it. */
json_t *profile_load(const char *path);

/* An entry of an array of an object. */
const json_t *at(const json_t *from, const char *key, size_t i);
size_t number(const json_t *value);
/* The text of a number of one. */
const char *string(const json_t *profile, const json_t *of);
/* An entry of a column of a table that threads share. */
const json_t *cell(const json_t *profile, const char *table, const char *column, size_t row);
/* What the profile says of markers of this name; NULL: nothing. */
const json_t *schema_of(const json_t *profile, const char *marker);

#endif
