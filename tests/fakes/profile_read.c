/* SPDX-License-Identifier: MIT */
#include "tests/fakes/profile_read.h"

#include "tests/fakes/testing.h"

#include <string.h>
#include <unistd.h>

json_t *profile_load(const char *path)
{
    json_error_t error;
    json_t *profile = json_load_file(path, 0, &error);
    unlink(path);
    if (!profile)
        fail_msg("line %d column %d: %s", error.line, error.column, error.text);
    return profile;
}

const json_t *at(const json_t *from, const char *key, size_t i)
{
    const json_t *value = json_array_get(json_object_get(from, key), i);
    if (!value)
        fail_msg("%s has no %zu", key, i);
    return value;
}

size_t number(const json_t *value)
{
    assert_true(json_is_integer(value));
    return (size_t)json_integer_value(value);
}

const char *string(const json_t *profile, const json_t *of)
{
    return json_string_value(at(json_object_get(profile, "shared"), "stringArray", number(of)));
}

const json_t *cell(const json_t *profile, const char *table, const char *column, size_t row)
{
    return at(json_object_get(json_object_get(profile, "shared"), table), column, row);
}

const json_t *schema_of(const json_t *profile, const char *marker)
{
    size_t i;
    const json_t *schema;
    json_array_foreach(json_object_get(json_object_get(profile, "meta"), "markerSchema"), i, schema)
    {
        if (strcmp(json_string_value(json_object_get(schema, "name")), marker) == 0)
            return schema;
    }
    return NULL;
}
