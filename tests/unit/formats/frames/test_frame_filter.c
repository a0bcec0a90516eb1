/* SPDX-License-Identifier: MIT */
#include "formats/frames/frame_filter.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module imports json, which decodes; a package that is installed calls the standard library. */
static const struct event story[] = {
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    STRING(1, "/home/u/a.py"),
    STRING(2, "<frozen importlib._bootstrap>"),
    STRING(3, "/usr/lib/python3.15/importlib/util.py"),
    STRING(4, "/usr/lib/python3.15/json/decoder.py"),
    STRING(5, "/usr/lib/python3.15/importlib/metadata/__init__.py"),
    STRING(6, "/home/u/venv/lib/python3.15/site-packages/requests/api.py"),
    STRING(7, "<GC>"),
    STRING(8, "<native>"),
    STRING(9, "f"),
    FUNCTION(1, 9, 1, 1),
    FUNCTION(2, 9, 2, 1),
    FUNCTION(3, 9, 3, 1),
    FUNCTION(4, 9, 4, 1),
    FUNCTION(5, 9, 5, 1),
    FUNCTION(6, 9, 6, 1),
    SYNTHETIC(7, 7, KIND_GC),
    SYNTHETIC(8, 8, KIND_NATIVE),
    FUNCTION(9, 7, 1, 0), /* has a file, so it is no synthetic frame */
    FRAME(1, 1, 3),
    FRAME(2, 2, 3),
    FRAME(3, 3, 3),
    FRAME(4, 4, 3),
    FRAME(5, 5, 3),
    FRAME(6, 6, 3),
    FRAME(7, 7, 0),
    FRAME(8, 8, 0),
    FRAME(9, 9, 0),
    SAMPLE(1, 1, 0, 1, 2, 3, 4),
    SAMPLE(2, 1, 1, 6, 5, 8, 7),
    SAMPLE(3, 1, 0, 9),
};

/* How outputs show the frames. */
static const char *const shown[] = { "<no Python frames>",
                                     "f (a.py:3)",
                                     "f (<frozen importlib._bootstrap>:3)",
                                     "f (importlib/util.py:3)",
                                     "f (json/decoder.py:3)",
                                     "f (importlib/metadata/__init__.py:3)",
                                     "f (requests/api.py:3)",
                                     "<GC>",
                                     "<native>",
                                     "<GC> (a.py)" };

#define FRAMES countof(shown)

struct world {
    struct tables tables;
    struct intern texts;
    uint32_t labels[FRAMES];
    uint32_t stack[FRAMES]; /* a stack whose leaf is this frame */
};

static void open_world(struct world *world)
{
    bool added;
    *world = (struct world){ 0 };
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(tables_take(&world->tables, &event, NULL));
    }
    for (size_t i = 0; i < FRAMES; i++)
        world->labels[i] = intern_number(&world->texts, shown[i], strlen(shown[i]), &added);
    for (uint32_t i = 1; i < world->tables.stacks_count; i++)
        world->stack[world->tables.stacks[i].frame] = i;
}

static void close_world(struct world *world)
{
    tables_free(&world->tables);
    intern_free(&world->texts);
}

/* The text of each label, "" for a dropped frame, with a star when the frame folds. */
static void assert_shown(const struct world *world, const char *const *wanted)
{
    for (size_t i = 0; i < FRAMES; i++) {
        const uint32_t label = world->labels[i];
        char text[100] = "";
        if (label != OUTLINE_DROPPED)
            snprintf(text, sizeof(text), "%s%s", world->texts.texts[label & ~OUTLINE_FOLDS].bytes,
                     label & OUTLINE_FOLDS ? "*" : "");
        assert_string_equal(text, wanted[i]);
    }
}

static void an_empty_filter_shows_everything(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    const struct frame_filter filter = { 0 };
    assert_null(frame_filter_apply(&filter, &world.tables, &world.texts, world.labels));
    assert_shown(&world, shown);
    close_world(&world);
}

static void frames_that_match_are_dropped(void **state)
{
    (void)state;
    static const char *const wanted[FRAMES] = { "<no Python frames>",
                                                "",
                                                "",
                                                "f (importlib/util.py:3)",
                                                "",
                                                "f (importlib/metadata/__init__.py:3)",
                                                "f (requests/api.py:3)",
                                                "",
                                                "",
                                                "<GC> (a.py)" };
    struct world world;
    struct frame_filter filter = { .no_gc = true, .no_native = true };
    open_world(&world);
    assert_true(patterns_add(&filter.hide, "^f \\((a.py|json/)", NULL));
    assert_true(patterns_add(&filter.hide, "<frozen", NULL));
    assert_null(frame_filter_apply(&filter, &world.tables, &world.texts, world.labels));
    assert_shown(&world, wanted);
    frame_filter_free(&filter);
    close_world(&world);
}

static void kinds_of_frames_are_folded(void **state)
{
    (void)state;
    const struct {
        const char *names[2];
        const char *shown[FRAMES];
    } cases[] = {
        { { "import", NULL },
          { shown[0], shown[1], "<import>*", "<import>*", shown[4], shown[5], shown[6], shown[7], shown[8],
            shown[9] } },
        { { "stdlib", NULL },
          { shown[0], shown[1], "<stdlib>*", "<stdlib>*", "<stdlib>*", "<stdlib>*", shown[6], shown[7], shown[8],
            shown[9] } },
        { { "site-packages,stdlib", "import" },
          { shown[0], shown[1], "<import>*", "<import>*", "<stdlib>*", "<stdlib>*", "<site-packages>*", shown[7],
            shown[8], shown[9] } },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct world world;
        struct frame_filter filter = { 0 };
        open_world(&world);
        for (size_t name = 0; name < 2 && cases[i].names[name]; name++)
            assert_true(frame_filter_fold(&filter, cases[i].names[name]));
        assert_null(frame_filter_apply(&filter, &world.tables, &world.texts, world.labels));
        assert_shown(&world, cases[i].shown);
        close_world(&world);
    }
}

/* C functions of the interpreter that only pass a call on are shown at the leaf alone. */
static void what_passes_a_call_on_is_folded(void **state)
{
    (void)state;
    static const struct {
        const char *name, *module;
        enum frame_kind kind;
        bool folded;
    } cases[] = {
        { "PyObject_Vectorcall", "/usr/bin/python3.11", KIND_NATIVE, true },
        { "python3.11+0x5bda50", "/usr/bin/python3.11", KIND_NATIVE, true },
        { "libpython3.13.so.1.0+0x86020", "/opt/lib/libpython3.13.so.1.0", KIND_NATIVE, true },
        { "object_vacall.constprop.0", "/opt/lib/libpython3.13.so.1.0", KIND_NATIVE, true },
        { "list.sort", "/opt/lib/libpython3.13.so.1.0", KIND_NATIVE, false },
        { "builtins.sorted", "/usr/bin/python3.13t", KIND_NATIVE, false },
        { "deflate", "/usr/lib/libz.so.1", KIND_NATIVE, false },
        { "PyObject_Vectorcall", "", KIND_NATIVE, false },
        { "<native>", "", KIND_NATIVE, false },
        { "run", "/home/u/python3", KIND_PYTHON, false },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        const struct event events[] = {
            { .kind = EVENT_STRING, .string = { 1, text_of(cases[i].name) } },
            { .kind = EVENT_STRING, .string = { 2, text_of(cases[i].module) } },
            { .kind = EVENT_FUNCTION, .function = { 1, 1, 0, 0, cases[i].kind, *cases[i].module ? 2 : 0, 0 } },
            FRAME(1, 1, 0),
        };
        struct tables tables = { 0 };
        struct intern texts = { 0 };
        struct frame_filter filter = { 0 };
        uint32_t labels[] = { 1, 2 };
        for (size_t k = 0; k < countof(events); k++) {
            struct event event = events[k];
            assert_true(tables_take(&tables, &event, NULL));
        }
        assert_true(frame_filter_fold(&filter, "interpreter"));
        assert_null(frame_filter_apply(&filter, &tables, &texts, labels));
        if ((labels[1] == (2 | OUTLINE_AT_LEAF)) != cases[i].folded)
            fail_msg("%s of %s has label %x", cases[i].name, cases[i].module, labels[1]);
        labels[1] = 2;
        assert_true(frame_filter_fold(&filter, "none"));
        assert_null(frame_filter_apply(&filter, &tables, &texts, labels));
        assert_int_equal(labels[1], 2);
        tables_free(&tables);
        intern_free(&texts);
    }
}

/* --focus sees frames that --hide drops. */
static void stacks_without_a_match_are_left_out(void **state)
{
    (void)state;
    struct world world;
    struct frame_filter filter = { 0 };
    open_world(&world);
    assert_true(patterns_add(&filter.focus, "requests", NULL));
    assert_true(patterns_add(&filter.focus, "json", NULL));
    assert_true(patterns_add(&filter.hide, "requests", NULL));
    bool *left_out = frame_filter_apply(&filter, &world.tables, &world.texts, world.labels);
    static const bool wanted[FRAMES] = { true, true, true, true, false, false, false, false, false, true };
    for (size_t i = 0; i < FRAMES; i++)
        assert_int_equal(left_out[world.stack[i]], wanted[i]);
    assert_int_equal(world.labels[6], OUTLINE_DROPPED);
    free(left_out);
    frame_filter_free(&filter);
    close_world(&world);
}

static void what_is_no_filter_is_refused(void **state)
{
    (void)state;
    struct frame_filter filter = { 0 };
    struct fault why = { 0 };
    assert_false(patterns_add(&filter.hide, "(", &why));
    assert_string_not_equal(why.text, "");
    assert_false(frame_filter_fold(&filter, "stdlib,imports"));
    assert_false(frame_filter_fold(&filter, ""));
    assert_false(frame_filter_fold(&filter, "import,"));
    frame_filter_free(&filter);
}

TEST_FILE(frame_filter)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_filter_shows_everything), cmocka_unit_test(frames_that_match_are_dropped),
        cmocka_unit_test(kinds_of_frames_are_folded),       cmocka_unit_test(stacks_without_a_match_are_left_out),
        cmocka_unit_test(what_passes_a_call_on_is_folded),  cmocka_unit_test(what_is_no_filter_is_refused),
    };
    return run_all(tests);
}
