/* SPDX-License-Identifier: MIT */
#include "record/file.h"

#include "formats/alloc.h"
#include "record/progress.h"
#include "tests/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/pyreel-file.XXXXXX");
    *state = mkdtemp(folder);
    return chdir(folder);
}

static int leave_folder(void **state)
{
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", (const char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

static void the_default_name_tells_program_and_process(void **state)
{
    (void)state;
    struct recording_file file;
    assert_true(recording_file_open(&file, NULL, 42, TEXT("python3 /srv/app.py --x"), NULL));
    assert_string_equal(file.path, "app-42.pyreel");
    assert_int_equal(write(file.fd, "x", 1), 1);
    assert_true(recording_file_close(&file, NULL));
    assert_int_equal(access("app-42.pyreel", R_OK), 0);
    assert_true(recording_file_close(&file, NULL));
}

static void a_default_name_overwrites_nothing(void **state)
{
    (void)state;
    struct recording_file file;
    struct fault why = { 0 };
    struct stat there;
    assert_true(recording_file_open(&file, NULL, 42, TEXT("app"), NULL));
    assert_true(recording_file_close(&file, NULL));
    assert_false(recording_file_open(&file, NULL, 42, TEXT("app"), &why));
    assert_string_equal(why.text, "cannot create app-42.pyreel: File exists; name a file with -o");
    assert_int_equal(symlink("elsewhere", "app-43.pyreel"), 0);
    assert_false(recording_file_open(&file, NULL, 43, TEXT("app"), NULL));
    assert_int_equal(stat("elsewhere", &there), -1);
}

static off_t size_of(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 ? there.st_size : -1;
}

/* What is there stays until there is something to put in its place. */
static void a_name_that_was_given_is_overwritten_when_the_recording_begins(void **state)
{
    (void)state;
    struct recording_file file;
    for (int i = 0; i < 2; i++) {
        assert_true(recording_file_open(&file, "mine", 42, TEXT("app"), NULL));
        assert_int_equal(size_of("mine"), i ? 3 : 0);
        assert_true(recording_file_begin(&file, NULL));
        assert_int_equal(size_of("mine"), 0);
        assert_int_equal(write(file.fd, "abc", 3 - (size_t)i), 3 - i);
        assert_true(recording_file_close(&file, NULL));
    }
    assert_int_equal(size_of("mine"), 2);
    struct fault why = { 0 };
    assert_false(recording_file_open(&file, "no/such/folder", 42, TEXT("app"), &why));
    assert_string_equal(why.text, "cannot create no/such/folder: No such file or directory");
}

static void a_recording_that_never_began_leaves_no_file(void **state)
{
    (void)state;
    struct recording_file file;
    assert_true(recording_file_open(&file, "new", 42, TEXT("app"), NULL));
    recording_file_discard(&file);
    assert_int_equal(size_of("new"), -1);
    assert_true(recording_file_open(&file, "old", 42, TEXT("app"), NULL));
    assert_int_equal(write(file.fd, "abc", 3), 3);
    assert_true(recording_file_close(&file, NULL));
    assert_true(recording_file_open(&file, "old", 42, TEXT("app"), NULL));
    recording_file_discard(&file);
    assert_int_equal(size_of("old"), 3);
    recording_file_discard(&file);
}

static void a_dash_is_standard_output(void **state)
{
    (void)state;
    struct recording_file file;
    assert_true(recording_file_open(&file, "-", 42, TEXT("app"), NULL));
    assert_int_equal(file.fd, STDOUT_FILENO);
    assert_true(recording_file_close(&file, NULL));
    assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
    assert_false(recording_is_for_terminal(NULL));
    assert_false(recording_is_for_terminal("mine"));
}

static void sizes_are_told_for_people(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        { 0, "0 bytes" },        { 999, "999 bytes" },     { 1000, "1.0 kB" },
        { 12345678, "12.3 MB" }, { 5000000000, "5.0 GB" }, { UINT64_MAX, "18446744.1 TB" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char room[32];
        assert_string_equal(size_text(room, rows[i].bytes), rows[i].text);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_default_name_tells_program_and_process, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_default_name_overwrites_nothing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_name_that_was_given_is_overwritten_when_the_recording_begins, enter_folder,
                                        leave_folder),
        cmocka_unit_test_setup_teardown(a_recording_that_never_began_leaves_no_file, enter_folder, leave_folder),
        cmocka_unit_test(a_dash_is_standard_output),
        cmocka_unit_test(sizes_are_told_for_people),
    };
    return run_all(tests);
}
