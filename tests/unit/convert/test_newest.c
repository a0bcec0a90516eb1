/* SPDX-License-Identifier: MIT */
#include "convert/newest.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/pyreel-newest-XXXXXX";

/* Files that a test leaves behind. */
static const char *const names[] = { "a.pyreel", "b.pyreel",      "c.pyreel",   ".d.pyreel",
                                     "e.txt",    "f.pyreel.html", "link.pyreel" };

static int into_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int empty_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(names); i++)
        unlink(names[i]);
    rmdir("g.pyreel");
    return 0;
}

static int out_of_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void write_at(const char *name, time_t s, long ns)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const struct timespec times[] = { { s, ns }, { s, ns } };
    assert_true(fd >= 0 && futimens(fd, times) == 0);
    close(fd);
}

/* Finds the newest recording, which has one file, or none. */
static void assert_newest(const char *name)
{
    struct newest newest = { 0 };
    newest_find(&newest);
    assert_int_equal(newest.count, name != NULL);
    if (name)
        assert_string_equal(newest.paths[0], name);
    newest_free(&newest);
    assert_true(newest.paths == NULL && newest.count == 0);
}

static void an_empty_folder_has_none(void **state)
{
    (void)state;
    assert_newest(NULL);
}

static void the_file_that_was_written_last_is_the_newest(void **state)
{
    (void)state;
    write_at("b.pyreel", 2000, 5);
    assert_newest("b.pyreel");
    write_at("a.pyreel", 2000, 6);
    write_at("c.pyreel", 1999, 999999999);
    assert_newest("a.pyreel");
    write_at("c.pyreel", 2001, 0);
    assert_newest("c.pyreel");
}

/* Whatever the order is in which the folder has them. */
static void of_two_at_the_same_time_the_later_name_counts(void **state)
{
    (void)state;
    write_at("c.pyreel", 2000, 5);
    write_at("a.pyreel", 2000, 5);
    write_at("b.pyreel", 2000, 5);
    assert_newest("c.pyreel");
}

static void other_files_do_not_count(void **state)
{
    (void)state;
    write_at("a.pyreel", 2000, 0);
    write_at(".d.pyreel", 3000, 0);
    write_at("e.txt", 3000, 0);
    write_at("f.pyreel.html", 3000, 0);
    assert_int_equal(mkdir("g.pyreel", 0700), 0);
    assert_int_equal(symlink("nowhere", "link.pyreel"), 0);
    assert_newest("a.pyreel");
    unlink("a.pyreel");
    assert_newest(NULL);
}

TEST_FILE(newest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_empty_folder_has_none, empty_folder),
        cmocka_unit_test_teardown(the_file_that_was_written_last_is_the_newest, empty_folder),
        cmocka_unit_test_teardown(of_two_at_the_same_time_the_later_name_counts, empty_folder),
        cmocka_unit_test_teardown(other_files_do_not_count, empty_folder),
    };
    return cmocka_run_group_tests(tests, into_folder, out_of_folder);
}
