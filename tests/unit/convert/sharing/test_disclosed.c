/* SPDX-License-Identifier: MIT */
#include "convert/sharing/disclosed.h"
#include "formats/base/alloc.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 100 * MS, .host = T("build\x1b[7m"),
                                      .command = T("pyreel-record -p 7") } },
    PROCESS(1, 7, "/srv"), PROCESS(2, 8, "/srv"), THREAD(1, 1, 7, "python3"), THREAD(2, 1, 9, "worker-1"),
    TASK(1, 1, "fetch"), TASK_ENTRY(3, 1, 7, 1, "fetch"), STRING(1, "f"), STRING(2, "/usr/lib/python3.12/os.py"),
    STRING(3, "/srv/app.py"), STRING(4, "unused"), FUNCTION(1, 1, 2, 1), FUNCTION(2, 1, 3, 1), FUNCTION(3, 1, 3, 9),
    FUNCTION(4, 1, 0, 1), STRING(5, "/opt/lib/libown.so"),
    { EVENT_FUNCTION, .function = { .number = 5, .name = 1, .kind = KIND_NATIVE, .module = 5 } },
};
/* clang-format on */

static char *printed(const struct tables *tables, struct disclosed_sources sources)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    disclosed_print(to, tables, sources);
    fclose(to);
    return text;
}

static void each_kind_has_a_number_and_an_example(void **state)
{
    (void)state;
    struct journal journal = { 0 };
    journal_tell(&journal, story, countof(story));
    char *text = printed(&journal.tables, (struct disclosed_sources){ 2, false, TEXT("/srv/app.py") });
    assert_string_equal(text, "    1 host                   build\\x1b[7m\n"
                              "    3 command lines          such as python3 app.py\n"
                              "    2 executables            such as /usr/bin/python3.15\n"
                              "    2 file names             such as /srv/app.py\n"
                              "    1 library                libown.so\n"
                              "    2 thread names           such as worker-1\n"
                              "    1 task name              fetch\n"
                              "    2 texts of files         such as /srv/app.py\n");
    free(text);
    journal_free(&journal);
}

static void texts_are_of_files_that_are_no_library(void **state)
{
    (void)state;
    struct journal journal = { 0 };
    journal_tell(&journal, story, countof(story));
    const struct disclosed_sources sources = disclosed_texts_of(&journal.tables);
    assert_int_equal(sources.count, 1);
    assert_true(sources.at_most);
    assert_text(sources.example, "/srv/app.py");
    journal_free(&journal);
}

static void what_is_absent_has_no_line(void **state)
{
    (void)state;
    const struct tables none = { 0 };
    char *text = printed(&none, (struct disclosed_sources){ 0 });
    assert_string_equal(text, "");
    free(text);
}

TEST_FILE(disclosed)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_a_number_and_an_example),
        cmocka_unit_test(texts_are_of_files_that_are_no_library),
        cmocka_unit_test(what_is_absent_has_no_line),
    };
    return run_all(tests);
}
