/* SPDX-License-Identifier: MIT */
/* Numbered files go on behind those of earlier runs, and only files of this run are deleted. */
#include "record/file/file_numbers.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/pyreel-numbers.XXXXXX");
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

static void make_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void next_is(struct file_numbers *numbers, const char *path)
{
    struct recording_file file;
    struct fault why = { 0 };
    if (!file_numbers_next(numbers, &file, &why))
        fail_msg("%s", why.text);
    assert_string_equal(file.path, path);
    assert_true(recording_file_close(&file, NULL));
}

static void numbers_go_on_behind_the_highest_one(void **state)
{
    (void)state;
    struct file_numbers numbers;
    file_numbers_open(&numbers, "app.pyreel", 0, 42, TEXT("python3 x.py"));
    next_is(&numbers, "app-0001.pyreel");
    next_is(&numbers, "app-0002.pyreel");
    make_file("app-0003.pyreel"); /* somebody else's: it stays */
    next_is(&numbers, "app-0004.pyreel");
    file_numbers_close(&numbers);
    make_file("app-12345.pyreel");
    make_file("app-99999999999999999999.pyreel");
    make_file("app-77.pyreel.gz");
    make_file("apps-5000.pyreel");
    file_numbers_open(&numbers, "app.pyreel", 0, 42, TEXT("python3 x.py"));
    next_is(&numbers, "app-12346.pyreel");
    file_numbers_close(&numbers);
    file_numbers_open(&numbers, NULL, 0, 42, TEXT("python3 x.py"));
    next_is(&numbers, "x-42-0001.pyreel");
    file_numbers_close(&numbers);
}

static void the_newest_files_of_ours_stay(void **state)
{
    (void)state;
    struct file_numbers numbers;
    make_file("k-0001.pyreel");
    file_numbers_open(&numbers, "k", 2, 42, TEXT("python3"));
    next_is(&numbers, "k-0002.pyreel");
    next_is(&numbers, "k-0003.pyreel");
    make_file("kept");
    assert_int_equal(rename("kept", "k-0002.pyreel"), 0); /* another file has the name now */
    next_is(&numbers, "k-0004.pyreel");
    next_is(&numbers, "k-0005.pyreel");
    file_numbers_tidy(&numbers);
    static const struct {
        const char *path;
        bool stays;
    } files[] = {
        { "k-0001.pyreel", true }, { "k-0002.pyreel", true }, { "k-0003.pyreel", false },
        { "k-0004.pyreel", true }, { "k-0005.pyreel", true },
    };
    for (size_t i = 0; i < countof(files); i++)
        assert_int_equal(access(files[i].path, F_OK) == 0, files[i].stays);
    file_numbers_close(&numbers);
}

static void a_folder_that_is_gone_is_told(void **state)
{
    (void)state;
    struct file_numbers numbers;
    struct recording_file file;
    struct fault why = { 0 };
    file_numbers_open(&numbers, "nowhere/app.pyreel", 0, 42, TEXT("python3"));
    assert_false(file_numbers_next(&numbers, &file, &why));
    assert_string_equal(why.text, "cannot create nowhere/app-0001.pyreel: No such file or directory");
    assert_int_equal(mkdir("nowhere", 0700), 0);
    next_is(&numbers, "nowhere/app-0001.pyreel");
    file_numbers_close(&numbers);
}

TEST_FILE(file_numbers)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_go_on_behind_the_highest_one, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(the_newest_files_of_ours_stay, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_is_gone_is_told, enter_folder, leave_folder),
    };
    return run_all(tests);
}
