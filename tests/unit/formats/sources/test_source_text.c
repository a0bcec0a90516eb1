/* SPDX-License-Identifier: MIT */
#include "formats/sources/source_text.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_YEAR_2020 UINT64_C(1577836800)

/* Writes a file, with a time of change in 2020, and reads the file. The caller frees *text. */
static enum source_outcome read_of(const char *name, const char *bytes, size_t size, struct source_facts facts,
                                   struct bytes *text)
{
    char folder[] = "/tmp/pyreel-source.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    const struct timespec times[2] = { { .tv_sec = NEW_YEAR_2020 }, { .tv_sec = NEW_YEAR_2020 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    const enum source_outcome outcome = source_text_read(path, &facts, text);
    unlink(path);
    rmdir(folder);
    return outcome;
}

static enum source_outcome outcome_of(const char *name, const char *bytes, struct source_facts facts)
{
    struct bytes text = { 0 };
    const enum source_outcome outcome = read_of(name, bytes, strlen(bytes), facts, &text);
    assert_int_equal(text.size > 0, outcome == SOURCE_READ);
    bytes_free(&text);
    return outcome;
}

static void assert_decoded(const char *bytes, const char *wanted)
{
    struct bytes text = { 0 };
    const enum source_outcome outcome = read_of("a.py", bytes, strlen(bytes), (struct source_facts){ 0 }, &text);
    assert_int_equal(outcome, wanted ? SOURCE_READ : SOURCE_FOREIGN);
    if (wanted) {
        put_bytes(&text, "", 1);
        assert_string_equal((const char *)text.at, wanted);
    }
    bytes_free(&text);
}

static void texts_become_utf_8(void **state)
{
    (void)state;
    assert_decoded("x = 'na\xC3\xAFve'\n", "x = 'na\xC3\xAFve'\n");
    assert_decoded("\xEF\xBB\xBFx = 1\n", "x = 1\n");
    assert_decoded("# -*- coding: latin-1 -*-\nx = 'na\xEFve'\n", "# -*- coding: latin-1 -*-\nx = 'na\xC3\xAFve'\n");
    assert_decoded("#!/bin/python\n# vim: set fileencoding=iso-8859-15 :\n\xA4\n",
                   "#!/bin/python\n# vim: set fileencoding=iso-8859-15 :\n\xE2\x82\xAC\n");
    assert_decoded("x = 'na\xEFve'\n", NULL);
    assert_decoded("# coding: nonsense\nx = '\xEF'\n", NULL);
    assert_decoded("# coding: utf-8\nx = '\xEF'\n", NULL);
    assert_decoded("\n\n# coding: latin-1\n\xEF\n", NULL); /* only the first two lines count */
}

static void a_file_must_fit_the_recording(void **state)
{
    (void)state;
    const char *const source = "import os\n\n@os\ndef f():\n    pass\nclass C:\n    x = 1\n";
    const uint32_t at_f[] = { 3, 6 }, elsewhere[] = { 1, 2, 3 };
    const uint64_t later = (NEW_YEAR_2020 + 1) * 1000000000, earlier = (NEW_YEAR_2020 - 1) * 1000000000;
    assert_int_equal(outcome_of("a.py", source, (struct source_facts){ later, 7, at_f, 2 }), SOURCE_READ);
    assert_int_equal(outcome_of("a.py", source, (struct source_facts){ 0, 7, at_f, 2 }), SOURCE_READ);
    assert_int_equal(outcome_of("a.py", source, (struct source_facts){ earlier, 7, at_f, 2 }), SOURCE_CHANGED);
    assert_int_equal(outcome_of("a.py", source, (struct source_facts){ later, 9, at_f, 2 }), SOURCE_CHANGED);
    assert_int_equal(outcome_of("a.py", source, (struct source_facts){ later, UINT32_MAX, at_f, 2 }), SOURCE_CHANGED);
    assert_int_equal(outcome_of("a.py", source, (struct source_facts){ later, 7, elsewhere, 3 }), SOURCE_CHANGED);
}

static void only_python_source_is_read(void **state)
{
    (void)state;
    const struct source_facts none = { 0 };
    assert_int_equal(outcome_of("shadow", "root:x:1\n", none), SOURCE_FOREIGN);
    assert_int_equal(outcome_of("app", "#!/usr/bin/env python3\nx = 1\n", none), SOURCE_READ);
    assert_int_equal(outcome_of("app", "#!/bin/sh\npython\n", none), SOURCE_FOREIGN);
    struct bytes text = { 0 };
    assert_int_equal(source_text_read("/tmp", &none, &text), SOURCE_FOREIGN);
    assert_int_equal(source_text_read("/dev/zero", &none, &text), SOURCE_FOREIGN);
    assert_int_equal(source_text_read("/nowhere/a.py", &none, &text), SOURCE_ABSENT);
    char pipe[] = "/tmp/pyreel-source.XXXXXX";
    close(mkstemp(pipe));
    unlink(pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0); /* nobody writes: reading would wait for ever */
    const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(watch, pipe, IN_OPEN) >= 0);
    assert_int_equal(source_text_read(pipe, &none, &text), SOURCE_FOREIGN);
    char event[256];
    assert_int_equal(read(watch, event, sizeof(event)), -1); /* and a writer that waits still waits */
    assert_int_equal(errno, EAGAIN);
    close(watch);
    unlink(pipe);
    assert_int_equal(text.size, 0);
}

/* Reads a link to a file with the name. */
static enum source_outcome outcome_of_link(const char *link_name, const char *name)
{
    char folder[] = "/tmp/pyreel-source.XXXXXX", path[64], link[64];
    const struct source_facts none = { 0 };
    struct bytes text = { 0 };
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(link, sizeof(link), "%s/%s", folder, link_name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("secret = 1\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(symlink(name, link), 0);
    const enum source_outcome outcome = source_text_read(link, &none, &text);
    unlink(link);
    unlink(path);
    rmdir(folder);
    bytes_free(&text);
    return outcome;
}

static void the_name_of_a_link_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(outcome_of_link("a.py", "key"), SOURCE_FOREIGN);
    assert_int_equal(outcome_of_link("a.py", "b.py"), SOURCE_READ);
    assert_int_equal(outcome_of_link("tool", "tool.py"), SOURCE_READ);
}

static void a_file_has_a_limit(void **state)
{
    (void)state;
    const size_t size = SOURCE_TEXT_MOST + 1;
    char *bytes = alloc_zeroed(size, 1);
    memset(bytes, '#', size);
    struct bytes text = { 0 };
    assert_int_equal(read_of("a.py", bytes, size, (struct source_facts){ 0 }, &text), SOURCE_LARGE);
    assert_int_equal(read_of("a.py", bytes, size - 1, (struct source_facts){ 0 }, &text), SOURCE_READ);
    assert_int_equal(text.size, size - 1);
    bytes_free(&text);
    free(bytes);
}

TEST_FILE(source_text)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_utf_8),         cmocka_unit_test(a_file_must_fit_the_recording),
        cmocka_unit_test(only_python_source_is_read), cmocka_unit_test(the_name_of_a_link_does_not_count),
        cmocka_unit_test(a_file_has_a_limit),
    };
    return run_all(tests);
}
