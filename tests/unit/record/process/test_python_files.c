/* SPDX-License-Identifier: MIT */
/* Programs that sleep, under the names of Pythons: a copy of cat that waits for the end of its input. */
#include "record/process/python_files.h"

#include "formats/base/alloc.h"
#include "record/python/layout.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_copy(const char *path)
{
    char bytes[4096];
    const int from = open("/bin/cat", O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(from >= 0 && to >= 0);
    for (ssize_t size; (size = read(from, bytes, sizeof(bytes))) > 0;)
        assert_int_equal(write(to, bytes, (size_t)size), size);
    close(from);
    close(to);
}

/* Starts a program of this name, and asks for its files. The name of its folder says nothing. */
static struct python_files look_at(const char *name, char own_name[PYTHON_FILES_NAME])
{
    char above[] = "/tmp/pyreel-files-XXXXXX", folder[64], path[96], byte;
    int into[2], from[2];
    assert_non_null(mkdtemp(above));
    snprintf(folder, sizeof(folder), "%s/python3.9", above);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    put_copy(path);
    assert_int_equal(pipe2(into, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(into[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl(path, "cat", NULL);
        _exit(1);
    }
    assert_int_equal(write(into[1], "x", 1), 1);
    assert_int_equal(read(from[0], &byte, 1), 1); /* it runs, and has mapped its libraries */
    const struct python_files found = python_files_of(pid);
    python_files_name(pid, own_name);
    for (int i = 0; i < 2; i++) {
        close(into[i]);
        close(from[i]);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    unlink(path);
    rmdir(folder);
    rmdir(above);
    return found;
}

static void the_name_of_the_program_tells(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool cpython, readable;
        unsigned minor;
        const char *other;
    } rows[] = {
        { "python3.12", true, true, 12, NULL },      { "python3.15t", true, true, 15, NULL },
        { "python3.10", true, false, 10, NULL },     { "python3.6m", true, false, 6, NULL },
        { "python3", true, true, 0, NULL },          { "python2.7", false, false, 0, "Python 2" },
        { "pypy3.10-c", false, false, 0, "PyPy" },   { "graalpy", false, false, 0, "GraalPy" },
        { "python3-config", false, false, 0, NULL }, { "uwsgi", false, false, 0, NULL },
        { "pypyserver", false, false, 0, NULL },     { "python2vec", false, false, 0, NULL },
        { "graalpython", false, false, 0, NULL },    { "libpython_app", false, false, 0, NULL },
        { "pypy-c", false, false, 0, "PyPy" },       { "python3.11-dbg", true, true, 11, NULL },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char name[PYTHON_FILES_NAME];
        const struct python_files found = look_at(rows[i].name, name);
        assert_string_equal(name, rows[i].name);
        assert_true(found.files > 0);
        assert_false(found.narrow);
        assert_int_equal(found.cpython, rows[i].cpython);
        assert_int_equal(found.minor, rows[i].minor);
        assert_int_equal(python_files_readable(&found), rows[i].readable);
        assert_true(rows[i].other ? found.other && strcmp(found.other, rows[i].other) == 0 : !found.other);
    }
}

static void a_name_gives_the_terminal_no_commands(void **state)
{
    (void)state;
    static const struct {
        const char *name, *shown;
    } rows[] = {
        { "python\x1b[2J", "python\\x1b[2J" },
        { "python\nforged: line", "python\\x0aforged: line" },
        { "\x1b]0;title\a", "\\x1b]0;title\\x07" },
        { "py\xE2\x80\xAEthon", "py\\u202ethon" },
        { "py\xFFthon", "py\\xffthon" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char name[PYTHON_FILES_NAME];
        look_at(rows[i].name, name);
        assert_string_equal(name, rows[i].shown);
    }
}

static void who_may_not_be_looked_at_shows_nothing(void **state)
{
    (void)state;
    const struct python_files found = python_files_of(0x3FFFFFFF);
    assert_int_equal(found.files, 0);
    assert_false(found.cpython || found.narrow || found.other);
}

static void the_oldest_is_that_of_the_layouts(void **state)
{
    (void)state;
    char first[16];
    snprintf(first, sizeof(first), "3.%d", PYTHON_FILES_OLDEST);
    assert_string_equal(first, LAYOUT_FIRST);
}

static void python_is_known_by_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool python;
    } rows[] = {
        { "/usr/bin/python3.11", true },
        { "/usr/bin/python", true },
        { "python3.15t", true },
        { "/opt/venv/bin/python3.13 (deleted)", true },
        { "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", true },
        { "/usr/lib/libpython3.so", true },
        { "/usr/lib/libpython3.13td.so.1.0 (deleted)", true },
        { "/usr/lib/libpython_bindings.so", false },
        { "/usr/lib/libpython3.11.so.backup", false },
        { "/Library/Python", true },
        { "/usr/bin/python3-config", false },
        { "/usr/lib/python3/dist-packages/x.so", false },
        { "/usr/lib/python3/dist-packages/python3_plugin.so", false },
        { "/usr/bin/gcc", false },
        { "", false },
    };
    for (size_t i = 0; i < countof(rows); i++)
        assert_int_equal(python_files_is_cpython(rows[i].path), rows[i].python);
}

static void the_name_of_the_file_tells_the_version(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        unsigned minor;
    } rows[] = {
        { "/usr/bin/python3.11", 11 },
        { "/opt/python3.9/bin/python3.12", 12 },
        { "/opt/python3.9/lib/libpython3.13t.so.1.0", 13 },
        { "/usr/lib/libpython3.9.so.1.0", 9 },
        { "/usr/lib/python3.9/lib-dynload/_csv.cpython-39-x86_64-linux-gnu.so", 9 },
        { "/opt/python3.9/site/_csv.cpython-312-x86_64-linux-gnu.so", 12 },
        { "/opt/python3.9/app/libfoo.so", 0 },
        { "/opt/python3.9/bin/python", 0 },
        { "/opt/python3.9/python3.8/libpython3.so", 0 },
        { "/usr/bin/python3.9-config", 0 },
        { "/usr/bin/app-python3.9", 0 },
        { "", 0 },
    };
    for (size_t i = 0; i < countof(rows); i++)
        assert_int_equal(python_files_minor(rows[i].path), rows[i].minor);
}

TEST_FILE(python_files)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_of_the_program_tells),
        cmocka_unit_test(a_name_gives_the_terminal_no_commands),
        cmocka_unit_test(who_may_not_be_looked_at_shows_nothing),
        cmocka_unit_test(the_oldest_is_that_of_the_layouts),
        cmocka_unit_test(python_is_known_by_its_name),
        cmocka_unit_test(the_name_of_the_file_tells_the_version),
    };
    return run_all(tests);
}
