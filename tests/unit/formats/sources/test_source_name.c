/* SPDX-License-Identifier: MIT */
#include "formats/sources/source_name.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <string.h>

static void assert_bytes(struct bytes *found, const char *wanted)
{
    put_bytes(found, "", 1);
    assert_string_equal((const char *)found->at, wanted);
    bytes_free(found);
}

#define OF_VERSION(number, version)                                                                                    \
    {                                                                                                                  \
        EVENT_PROCESS, .process = { number, 8, 0, version, T(""), T(""), T("/"), 0, T(""), 0, 0, T(""), T(""), 0 }     \
    }

/* Processes of 3.15.2, 3.16.0a0 and 3.17.0a1; a file tells its minor version. */
static const struct event story[] = {
    PROCESS(1, 7, "/home/u/work/"),
    OF_VERSION(2, 0x031000a0),
    OF_VERSION(3, 0x031100a1),
};

static const struct {
    const char *file, *name; /* NULL: no public name */
} library[] = {
    { "/usr/lib/python3.15/json/decoder.py", "git:github.com/python/cpython:Lib/json/decoder.py:v3.15.2" },
    { "lib/python3.15t/os.py", "git:github.com/python/cpython:Lib/os.py:v3.15.2" },
    { "<frozen importlib._bootstrap>", "git:github.com/python/cpython:Lib/importlib/_bootstrap.py:v3.15.2" },
    { "<frozen os>", "git:github.com/python/cpython:Lib/os.py:v3.15.2" },
    { "<frozen getpath>", NULL },
    { "<frozen os", NULL },
    { "/usr/lib/python3.14/os.py", NULL },
    { "/usr/lib/python3.16/os.py", NULL }, /* there is no tag of an alpha 0 */
    { "/usr/lib/python3.17/os.py", "git:github.com/python/cpython:Lib/os.py:v3.17.0a1" },
    { "/usr/lib/python3.15/site-packages/six.py", NULL },
    { "/usr/lib/python3.15/_sysconfigdata__linux.py", NULL },
    { "/usr/lib/python3.15/lib-dynload/_json.so", NULL },
    { "/usr/lib/python3.15/a:b.py", NULL },
    { "/srv/app.py", NULL },
    { "<string>", NULL },
    { "", NULL },
};

static void the_library_has_public_tags(void **state)
{
    (void)state;
    struct journal journal = { 0 };
    journal_tell(&journal, story, countof(story));
    for (size_t i = 0; i < countof(library); i++) {
        struct bytes name = { 0 };
        assert_int_equal(source_put_library_name(&name, &journal.tables, text_of(library[i].file)),
                         library[i].name != NULL);
        assert_bytes(&name, library[i].name ? library[i].name : "");
    }
    journal_free(&journal);
}

static void files_are_found_in_other_folders(void **state)
{
    (void)state;
    struct source_folders maps = { 0 };
    assert_true(source_folders_add_map(&maps, "/app/=/home/me/app"));
    assert_true(source_folders_add_map(&maps, "/app/vendor=/opt/vendor/"));
    assert_true(source_folders_add_map(&maps, "<cell=1>=cell.py"));
    assert_true(source_folders_add_map(&maps, "/app/made.py=/tmp/made.py"));
    static const char *const bad[] = { "", "/app", "app=/x", "/=/x", "/app=", "<stdin>", "<stdin>=", "<stdin=/x" };
    for (size_t i = 0; i < countof(bad); i++)
        assert_false(source_folders_add_map(&maps, bad[i]));
    static const char *const paths[][2] = {
        { "/app/main.py", "/home/me/app/main.py" },
        { "/app/vendor/six.py", "/opt/vendor/six.py" },
        { "/apples/main.py", "/apples/main.py" },
        { "/app/made.py", "/tmp/made.py" },
        { "<cell=1>", "cell.py" },
        { "<cell=2>", "<cell=2>" },
    };
    for (size_t i = 0; i < countof(paths); i++) {
        struct bytes path = { 0 };
        source_put_path(&path, &maps, text_of(paths[i][0]));
        assert_bytes(&path, paths[i][1]);
    }
    assert_true(source_is_mapped(&maps, TEXT("<cell=1>")) && source_is_mapped(&maps, TEXT("/app/made.py")));
    assert_false(source_is_mapped(&maps, TEXT("/app/main.py")));
}

static void folders_are_public_repositories(void **state)
{
    (void)state;
    struct source_folders folders = { 0 };
    assert_true(source_folders_add_repository(&folders, "github.com/me/app@v1.2=/srv/app/"));
    static const char *const bad[] = { "",
                                       "github.com/me/app=/x",
                                       "github.com/me/app@v1",
                                       "github.com@v1=/x",
                                       "a/b@v1=/x",
                                       "github.com/me/app@v1=rel",
                                       "github.com/m:e/app@v1=/x",
                                       "a/b/c@=/x",
                                       "github.com/me/app@v 1=/x" };
    for (size_t i = 0; i < countof(bad); i++)
        assert_false(source_folders_add_repository(&folders, bad[i]));
    static const char *const files[][2] = {
        { "/srv/app/tools/make.py", "git:github.com/me/app:tools/make.py:v1.2" },
        { "/srv/app/a:b.py", "" },
        { "/srv/apps/make.py", "" },
    };
    for (size_t i = 0; i < countof(files); i++) {
        struct bytes name = { 0 };
        assert_int_equal(source_put_repository_name(&name, &folders, text_of(files[i][0])), *files[i][1] != '\0');
        assert_bytes(&name, files[i][1]);
    }
}

static void there_is_a_limit(void **state)
{
    (void)state;
    struct source_folders maps = { 0 };
    for (size_t i = 0; i < SOURCE_FOLDERS_MOST; i++)
        assert_true(source_folders_add_map(&maps, "/a=/b"));
    assert_false(source_folders_add_map(&maps, "/a=/b"));
}

TEST_FILE(source_name)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_has_public_tags),
        cmocka_unit_test(files_are_found_in_other_folders),
        cmocka_unit_test(folders_are_public_repositories),
        cmocka_unit_test(there_is_a_limit),
    };
    return run_all(tests);
}
