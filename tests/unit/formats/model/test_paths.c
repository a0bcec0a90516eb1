/* SPDX-License-Identifier: MIT */
#include "formats/model/paths.h"

#include "formats/base/alloc.h"
#include "formats/model/program_name.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

/* A process in /home/u/work/ and a program in /srv/app/. */
static const struct event story[] = {
    PROCESS(1, 7, "/home/u/work/"), PROCESS(2, 8, "/"),    PROCESS(3, 9, "relative"),
    THREAD(1, 1, 7, "python3"),     STRING(1, "<module>"), STRING(2, "/srv/app/main.py"),
    FUNCTION(1, 1, 2, 1),           FRAME(1, 1, 3),        SAMPLE(1, 1, 0, 1),
};

static const struct {
    const char *file, *shown, *rest;
    enum origin origin;
} files[] = {
    { "/usr/lib/python3.11/json/decoder.py", "json/decoder.py", "json/decoder.py", ORIGIN_LIBRARY },
    { "/usr/lib64/python3.15/os.py", "os.py", "os.py", ORIGIN_LIBRARY },
    { "/opt/lib/python3.14t/os.py", "os.py", "os.py", ORIGIN_LIBRARY },
    { "/usr/lib/python3.11/site-packages/requests/api.py", "requests/api.py", "requests/api.py", ORIGIN_PACKAGE },
    { "/usr/lib/python3/dist-packages/six.py", "six.py", "six.py", ORIGIN_PACKAGE },
    { "site-packages/requests/api.py", "requests/api.py", "requests/api.py", ORIGIN_PACKAGE },
    { "lib/python3.12/json/decoder.py", "json/decoder.py", "json/decoder.py", ORIGIN_LIBRARY },
    { "mylib/python3.12/os.py", "mylib/python3.12/os.py", "", ORIGIN_PROGRAM },
    { "/a/site-packages/b/site-packages/c.py", "c.py", "c.py", ORIGIN_PACKAGE },
    { "/home/u/work/tools/make.py", "tools/make.py", "", ORIGIN_PROGRAM },
    { "/home/u/work/.venv/lib/python3.12/site-packages/numpy/x.py", "numpy/x.py", "numpy/x.py", ORIGIN_PACKAGE },
    { "/home/u/workshop/a.py", "/home/u/workshop/a.py", "", ORIGIN_PROGRAM },
    { "/home/u/work", "/home/u/work", "", ORIGIN_PROGRAM },
    { "/home/u/work/", "/home/u/work/", "", ORIGIN_PROGRAM },
    { "/srv/app/main.py", "main.py", "", ORIGIN_PROGRAM },
    { "/srv/app/part/x.py", "part/x.py", "", ORIGIN_PROGRAM },
    { "/srv/other.py", "/srv/other.py", "", ORIGIN_PROGRAM },
    { "/usr/lib/python3.11/", "/usr/lib/python3.11/", "", ORIGIN_PROGRAM },
    { "/usr/lib/python3./os.py", "/usr/lib/python3./os.py", "", ORIGIN_PROGRAM },
    { "/usr/mylib/python3.11x/os.py", "/usr/mylib/python3.11x/os.py", "", ORIGIN_PROGRAM },
    { "relative/a.py", "relative/a.py", "", ORIGIN_PROGRAM },
    { "<string>", "<string>", "", ORIGIN_PROGRAM },
    { "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>", "", ORIGIN_LIBRARY },
    { "", "", "", ORIGIN_UNKNOWN },
};

static void files_are_called_as_a_person_calls_them(void **state)
{
    (void)state;
    struct journal journal = { 0 };
    struct paths paths = { 0 };
    journal_tell(&journal, story, countof(story));
    paths_find(&paths, &journal.tables);
    assert_int_equal(paths.count, 2);
    for (size_t i = 0; i < countof(files); i++) {
        const struct text file = { files[i].file, strlen(files[i].file) };
        const struct text shown = paths_shorten(&paths, file);
        struct text rest = { 0 };
        if (paths_origin(file, &rest) != files[i].origin || rest.size != strlen(files[i].rest) ||
            (rest.size && memcmp(rest.bytes, files[i].rest, rest.size) != 0))
            fail_msg("%s: the rest is '%.*s'", files[i].file, (int)rest.size, rest.bytes);
        if (shown.size != strlen(files[i].shown) || memcmp(shown.bytes, files[i].shown, shown.size) != 0)
            fail_msg("%s: %.*s", files[i].file, (int)shown.size, shown.bytes);
    }
    paths_free(&paths);
    journal_free(&journal);
}

/* Two programs in one working folder, /x/: one in the folder itself, the other below it. */
static const struct event two_programs[] = {
    PROCESS(1, 7, "/x"),   THREAD(1, 1, 7, "python3"), THREAD(2, 1, 8, "python3"),
    STRING(1, "<module>"), STRING(2, "/x/main.py"),    STRING(3, "/x/tools/make.py"),
    FUNCTION(1, 1, 2, 1),  FUNCTION(2, 1, 3, 1),       FRAME(1, 1, 3),
    FRAME(2, 2, 3),        SAMPLE(1, 1, 0, 1),         SAMPLE(1, 2, 0, 2),
};

static const struct {
    const char *file, *module;
} modules[] = {
    { "/usr/lib/python3.11/json/decoder.py", "json.decoder" },
    { "/usr/lib/python3.11/json/__init__.py", "json" },
    { "/usr/lib/python3.11/site-packages/a/b/__init__.py", "a.b" },
    { "/usr/lib/python3.11/site-packages/a-1.0-py3.11.egg/a/b.py", "a.b" },
    { "/usr/lib/python3.11/json/__main__.py", "json.__main__" },
    { "<frozen importlib._bootstrap>", "importlib._bootstrap" },
    { "<frozen", "<frozen" },
    { "<string>", "<string>" },
    { "/x/main.py", "main" },
    { "/x/a/b.py", "a.b" },
    { "/x/a/__init__.py", "a" },
    { "/x/__init__.py", "x" },
    { "/x/my-project/a/b.py", "a.b" },
    { "/x/app.zip/a/b.py", "a.b" },
    { "/x/tools/make.py", "make" },
    { "/x/tools/a/b.py", "a.b" },
    { "/x/tool", "tool" },
    { "/x/caf\xC3\xA9/_1.py", "caf\xC3\xA9._1" },
    { "/x/1a/b.py", "b" },
    { "/elsewhere/a/b.py", "b" },
    { "/elsewhere/a/__init__.py", "a" },
    { "/__init__.py", "__init__" },
    { "a/b.py", "a.b" },
    { "../a/b.py", "a.b" },
    { "", "" },
};

static void modules_are_named_as_python_imports_them(void **state)
{
    (void)state;
    struct journal journal = { 0 };
    struct paths paths = { 0 };
    journal_tell(&journal, two_programs, countof(two_programs));
    paths_find(&paths, &journal.tables);
    for (size_t i = 0; i < countof(modules); i++) {
        struct bytes module = { 0 };
        put_bytes(&module, "in ", 3);
        paths_put_module(&module, &paths, (struct text){ modules[i].file, strlen(modules[i].file) });
        if (module.size != 3 + strlen(modules[i].module) ||
            memcmp(module.at + 3, modules[i].module, module.size - 3) != 0)
            fail_msg("%s: '%.*s'", modules[i].file, (int)module.size, module.at);
        bytes_free(&module);
    }
    paths_free(&paths);
    journal_free(&journal);
}

static const struct {
    const char *command, *title, *name;
} programs[] = {
    { "/usr/bin/python3 -u /srv/app.py x", "app.py", "app" },
    { "python3 app.py", "app.py", "app" },
    { "python3.15 -X dev -W error a-b.py", "a-b.py", "a_b" },
    { "python3 -Wignore -Xdev t.py -m other", "t.py", "t" },
    { "python3 -m json.tool in.json", "python3 -m json.tool", "json.tool" },
    { "python3 -um json.tool", "python3 -m json.tool", "json.tool" },
    { "python3 -c 'import this' x.py", "python3 -c", "python3" },
    { "python3", "python3", "python3" },
    { "/usr/local/bin/gunicorn -w 4", "gunicorn", "gunicorn" },
    { "'/home/u/my folder/run me.py'", "run me.py", "run_me" },
    { "python3 '/home/u/my folder/run me.py'", "run me.py", "run_me" },
    { "", "Python", "python" },
    { "'dask worker [tcp://127.0.0.1:38949]'", "dask worker [tcp://127.0.0.1:38949]",
      "dask_worker__tcp___127.0.0.1_38949_" },
    { "'pool/3'", "pool/3", "pool_3" },
    { "'./my app.py'", "my app.py", "my_app" },
    { "'it'\\''s a worker'", "it's a worker", "it____s_a_worker" },
    { "'my program' x", "my program", "my_program" },
};

static void programs_are_called_as_a_person_calls_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(programs); i++) {
        const struct text command = { programs[i].command, strlen(programs[i].command) };
        char *title = program_name_title(command), *name = program_name(command);
        if (strcmp(title, programs[i].title) != 0 || strcmp(name, programs[i].name) != 0)
            fail_msg("%s: '%s', '%s'", programs[i].command, title, name);
        free(title);
        free(name);
    }
}

TEST_FILE(paths)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_called_as_a_person_calls_them),
        cmocka_unit_test(modules_are_named_as_python_imports_them),
        cmocka_unit_test(programs_are_called_as_a_person_calls_them),
    };
    return run_all(tests);
}
