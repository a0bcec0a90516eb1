/* SPDX-License-Identifier: MIT */
/* Where code comes from: categories, subcategories, resources and names of functions. */
#include "formats/gecko/gecko.h"

#include "formats/base/alloc.h"
#include "tests/fakes/profile_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct origin_case {
    const char *function, *file, *wanted; /* wanted: name, category/subcategory, resource, file in the viewer */
    enum frame_kind kind;
} cases[] = {
    { "main", "/srv/app/app.py", "main, Your code/Other, app.py, /srv/app/app.py", KIND_PYTHON },
    { "<module>", "/srv/app/app.py", "<module> app, Your code/Other, app.py, /srv/app/app.py", KIND_PYTHON },
    { "<lambda>", "/srv/app/app.py", "<lambda> in app, Your code/Other, app.py, /srv/app/app.py", KIND_PYTHON },
    { "f.<locals>.<lambda>", "/srv/app/app.py", "f.<locals>.<lambda>, Your code/Other, app.py, /srv/app/app.py",
      KIND_PYTHON },
    { "get", "/v/lib/python3.15/site-packages/requests/api.py",
      "get, Packages/requests, requests, /v/lib/python3.15/site-packages/requests/api.py", KIND_PYTHON },
    { "six", "/usr/lib/python3/dist-packages/six.py", "six, Packages/six, six, /usr/lib/python3/dist-packages/six.py",
      KIND_PYTHON },
    { "loads", "/usr/lib/python3.15/json/__init__.py",
      "loads, Standard library/json, json, git:github.com/python/cpython:Lib/json/__init__.py:v3.15.2", KIND_PYTHON },
    { "<module>", "<frozen os>",
      "<module> os, Standard library/os, os, git:github.com/python/cpython:Lib/os.py:v3.15.2", KIND_PYTHON },
    { "_run_once", "/usr/lib/python3.15/asyncio/base_events.py",
      "_run_once, Asyncio/Other, asyncio, git:github.com/python/cpython:Lib/asyncio/base_events.py:v3.15.2",
      KIND_PYTHON },
    { "_find_and_load", "<frozen importlib._bootstrap>",
      "_find_and_load, Imports/Other, importlib, git:github.com/python/cpython:Lib/importlib/_bootstrap.py:v3.15.2",
      KIND_PYTHON },
    { "find_module", "/usr/lib/python3.15/importlib/_bootstrap.py",
      "find_module, Imports/Other, importlib, git:github.com/python/cpython:Lib/importlib/_bootstrap.py:v3.15.2",
      KIND_PYTHON },
    { "version", "/usr/lib/python3.15/importlib/metadata/__init__.py",
      "version, Standard library/importlib, importlib, "
      "git:github.com/python/cpython:Lib/importlib/metadata/__init__.py:v3.15.2",
      KIND_PYTHON },
    { "__init__", "<string>", "__init__, Your code/Other, app.py, <string>", KIND_PYTHON },
    { "<GC>", "", "<GC>, Garbage collection/Other, none, none", KIND_GC },
    { "<GC>", "/srv/app/app.py", "<GC>, Your code/Other, app.py, /srv/app/app.py", KIND_PYTHON },
    { "<native>", "", "<native>, Other/Other, none, none", KIND_PYTHON },
    { "<native>", "", "<native>, C code/Other, none, none", KIND_NATIVE },
    { "<task fetch>", "", "<task fetch>, Asyncio/Other, none, none", KIND_TASK },
    { "<truncated>", "", "<truncated>, Other/Other, none, none", KIND_HOLE },
};

struct profile {
    struct output output;
    struct tables tables;
    struct gecko *gecko;
    char path[40];
};

static void take(struct profile *profile, struct event event)
{
    assert_true(tables_take(&profile->tables, &event, NULL));
    assert_true(gecko_take(profile->gecko, &event, NULL));
}

static void begin(struct profile *profile, struct gecko_style style)
{
    *profile = (struct profile){ .path = "/tmp/pyreel-gecko.XXXXXX" };
    close(mkstemp(profile->path));
    assert_true(output_open(&profile->output, profile->path, false, NULL));
    profile->gecko = gecko_start(&profile->tables, &profile->output, style);
    take(profile, (struct event){ EVENT_RECORDING, .recording = { .interval_ns = 10 * MS } });
    take(profile, (struct event)PROCESS(1, 4242, "/srv/app"));
    take(profile, (struct event)THREAD(1, 1, 4242, "python3"));
}

static json_t *end(struct profile *profile)
{
    struct fault why = { 0 };
    if (!gecko_finish(profile->gecko, &why))
        fail_msg("%s", why.text);
    gecko_drop(profile->gecko);
    tables_free(&profile->tables);
    assert_true(output_close(&profile->output, NULL, NULL));
    return profile_load(profile->path);
}

/* Tells a function with one frame, with the numbers `i`, and a sample of the frame. */
static void tell(struct profile *profile, uint32_t i, const struct origin_case *it, uint32_t instruction)
{
    take(profile, (struct event){ EVENT_STRING, .string = { 2 * i - 1, text_of(it->function) } });
    take(profile, (struct event){ EVENT_STRING, .string = { 2 * i, text_of(it->file) } });
    take(profile,
         (struct event){ EVENT_FUNCTION, .function = { i, 2 * i - 1, *it->file ? 2 * i : 0, 1, it->kind, 0, 0 } });
    take(profile, (struct event){ EVENT_FRAME, .frame = { i, i, 1, 1, -1, -1, instruction, instruction, 0, 0, 0 } });
    take(profile, (struct event)SAMPLE(i * 10 * MS, 1, 0, i));
    take(profile, (struct event)TICK(i * 10 * MS));
}

/* What the viewer shows of the frame in a row. */
static void describe(char *room, size_t size, const json_t *profile, size_t row)
{
    const size_t function = number(cell(profile, "frameTable", "func", row));
    const json_t *category = at(json_object_get(profile, "meta"), "categories",
                                number(cell(profile, "frameTable", "category", row)));
    const json_t *resource = cell(profile, "funcTable", "resource", function);
    const json_t *source = cell(profile, "funcTable", "source", function);
    const bool has_resource = json_integer_value(resource) >= 0;
    snprintf(room, size, "%s, %s/%s, %s, %s", string(profile, cell(profile, "funcTable", "name", function)),
             json_string_value(json_object_get(category, "name")),
             json_string_value(at(category, "subcategories", number(cell(profile, "frameTable", "subcategory", row)))),
             has_resource ? string(profile, cell(profile, "resourceTable", "name", number(resource))) : "none",
             json_is_null(source) ? "none" : string(profile, cell(profile, "sources", "filename", number(source))));
}

static void each_function_says_where_it_is_from(void **state)
{
    (void)state;
    struct profile writing;
    begin(&writing, (struct gecko_style){ 0 });
    for (uint32_t i = 0; i < countof(cases); i++)
        tell(&writing, i + 1, &cases[i], 0);
    json_t *profile = end(&writing);
    for (uint32_t i = 0; i < countof(cases); i++) {
        char text[512];
        describe(text, sizeof(text), profile, i);
        assert_string_equal(text, cases[i].wanted);
    }
    json_decref(profile);
}

/* Two files with one name in the viewer are one source. */
static void a_text_is_one_source(void **state)
{
    (void)state;
    struct profile writing;
    begin(&writing, (struct gecko_style){ 0 });
    tell(&writing, 1, &(struct origin_case){ "fspath", "<frozen os>", "", KIND_PYTHON }, 0);
    tell(&writing, 2, &(struct origin_case){ "walk", "/usr/lib/python3.15/os.py", "", KIND_PYTHON }, 0);
    json_t *profile = end(&writing);
    const json_t *sources = json_object_get(json_object_get(profile, "shared"), "sources");
    assert_int_equal(json_integer_value(json_object_get(sources, "length")), 1);
    json_decref(profile);
}

static void full_paths_are_as_recorded(void **state)
{
    (void)state;
    struct profile writing;
    begin(&writing, (struct gecko_style){ .full_paths = true });
    tell(&writing, 1, &(struct origin_case){ "walk", "/usr/lib/python3.15/os.py", "", KIND_PYTHON }, 0);
    json_t *profile = end(&writing);
    char text[512];
    describe(text, sizeof(text), profile, 0);
    assert_string_equal(text, "walk, Standard library/os, os, /usr/lib/python3.15/os.py");
    json_decref(profile);
}

/* The viewer keeps the number of a subcategory in a byte. */
static void too_many_packages_are_other(void **state)
{
    (void)state;
    struct profile writing;
    begin(&writing, (struct gecko_style){ 0 });
    for (uint32_t i = 1; i <= 300; i++) {
        char file[64];
        snprintf(file, sizeof(file), "/v/site-packages/p%u.py", i);
        tell(&writing, i, &(struct origin_case){ "f", file, "", KIND_PYTHON }, 0);
    }
    json_t *profile = end(&writing);
    char text[512];
    describe(text, sizeof(text), profile, 254);
    assert_string_equal(text, "f, Packages/p255, p255, /v/site-packages/p255.py");
    describe(text, sizeof(text), profile, 255);
    assert_string_equal(text, "f, Packages/Other, p256, /v/site-packages/p256.py");
    json_decref(profile);
}

static void instructions_are_subcategories(void **state)
{
    (void)state;
    struct profile writing;
    begin(&writing, (struct gecko_style){ .opcodes = GECKO_OPCODES_SUBCATEGORIES });
    tell(&writing, 1, &(struct origin_case){ "f", "/srv/app/app.py", "", KIND_PYTHON }, 0);
    tell(&writing, 2, &(struct origin_case){ "LOAD_ATTR", "/v/site-packages/six.py", "", KIND_PYTHON },
         3); /* string 3 is this name */
    json_t *profile = end(&writing);
    char text[512];
    describe(text, sizeof(text), profile, 0);
    assert_string_equal(text, "f, Your code/Other, app.py, /srv/app/app.py");
    describe(text, sizeof(text), profile, 1);
    assert_string_equal(text, "LOAD_ATTR, Packages/LOAD_ATTR, six, /v/site-packages/six.py");
    json_decref(profile);
}

static void the_users_code_is_known(void **state)
{
    (void)state;
    struct profile writing;
    begin(&writing, (struct gecko_style){ 0 });
    tell(&writing, 1, &(struct origin_case){ "f", "/srv/app/app.py", "", KIND_PYTHON }, 0);
    json_t *profile = end(&writing);
    assert_int_equal(number(cell(profile, "frameTable", "category", 0)), gecko_own_code_category());
    json_decref(profile);
}

/* What a mode leaves out has no row: here, the first function. */
static void what_is_not_shown_has_no_row(void **state)
{
    (void)state;
    struct profile writing;
    begin(&writing, (struct gecko_style){ 0 });
    take(&writing, (struct event)STRING(1, "unseen"));
    take(&writing, (struct event)STRING(2, "/srv/app/unseen.py"));
    take(&writing, (struct event)FUNCTION(1, 1, 2, 1));
    take(&writing, (struct event)FRAME(1, 1, 1));
    struct event left_out = SAMPLE(10 * MS, 1, 0, 1);
    assert_true(tables_take(&writing.tables, &left_out, NULL));
    tell(&writing, 2, &(struct origin_case){ "f", "/srv/app/app.py", "", KIND_PYTHON }, 0);
    json_t *profile = end(&writing);
    const char *const tables[] = { "stackTable", "frameTable", "funcTable", "sources", "resourceTable" };
    for (size_t i = 0; i < countof(tables); i++) {
        const json_t *table = json_object_get(json_object_get(profile, "shared"), tables[i]);
        assert_int_equal(json_integer_value(json_object_get(table, "length")), 1);
    }
    char text[512];
    describe(text, sizeof(text), profile, 0);
    assert_string_equal(text, "f, Your code/Other, app.py, /srv/app/app.py");
    json_decref(profile);
}

TEST_FILE(gecko_origins)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_function_says_where_it_is_from), cmocka_unit_test(a_text_is_one_source),
        cmocka_unit_test(full_paths_are_as_recorded),          cmocka_unit_test(too_many_packages_are_other),
        cmocka_unit_test(instructions_are_subcategories),      cmocka_unit_test(the_users_code_is_known),
        cmocka_unit_test(what_is_not_shown_has_no_row),
    };
    return run_all(tests);
}
