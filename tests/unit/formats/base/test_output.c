/* SPDX-License-Identifier: MIT */
#include "formats/base/output.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Each test has a folder of its own. */
static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/pyreel-output.XXXXXX");
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

static size_t files_here(void)
{
    size_t count = 0;
    DIR *folder = opendir(".");
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    return count;
}

static void write_old(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("old", file);
    fclose(file);
}

static struct bytes contents(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("there is no %s", path);
    return file_bytes(fd);
}

static void assert_contents(const char *path, const void *wanted, size_t size)
{
    struct bytes bytes = contents(path);
    assert_int_equal(bytes.size, size);
    assert_memory_equal(bytes.at, wanted, size);
    bytes_free(&bytes);
}

static void everything_that_was_put_is_there(void **state)
{
    (void)state;
    static const char wanted[] = "one t\0o three 018446744073709551615 -5!";
    struct output output = { 0 };
    uint64_t written = 0;
    assert_true(output_open(&output, "out", false, NULL));
    output_string(&output, "one ");
    output_bytes(&output, "t\0o", 3);
    output_text(&output, TEXT(" three "));
    output_number(&output, 0);
    output_number(&output, UINT64_MAX);
    output_format(&output, " %d%s", -5, "!");
    assert_true(output_close(&output, &written, NULL));
    assert_contents("out", wanted, sizeof(wanted) - 1);
    assert_int_equal(written, sizeof(wanted) - 1);
    assert_int_equal(files_here(), 1);
}

static void much_is_written_in_parts(void **state)
{
    (void)state;
    struct output output = { 0 };
    struct bytes wanted = { 0 };
    assert_true(output_open(&output, "out", false, NULL));
    for (uint64_t i = 0; i < 100000; i++) {
        char digits[24];
        output_number(&output, i * i);
        put_bytes(&wanted, digits, (size_t)snprintf(digits, sizeof(digits), "%lu", i * i));
    }
    output_bytes(&output, wanted.at, wanted.size); /* larger than any buffer */
    put_bytes(&wanted, wanted.at, 0);
    assert_true(output_close(&output, NULL, NULL));
    struct bytes bytes = contents("out");
    assert_int_equal(bytes.size, 2 * wanted.size);
    assert_memory_equal(bytes.at, wanted.at, wanted.size);
    assert_memory_equal(bytes.at + wanted.size, wanted.at, wanted.size);
    bytes_free(&bytes);
    bytes_free(&wanted);
}

/* Until it is whole the name is the old file's. */
static void a_file_takes_its_name_when_it_is_whole(void **state)
{
    (void)state;
    struct output output = { 0 };
    write_old("out");
    assert_true(output_open(&output, "out", false, NULL));
    output_string(&output, "new");
    assert_contents("out", "old", 3);
    assert_true(output_close(&output, NULL, NULL));
    assert_contents("out", "new", 3);
    assert_int_equal(files_here(), 1);
}

/* A link stays one: what it leads to is replaced. */
static void a_link_stays_a_link(void **state)
{
    (void)state;
    struct output output = { 0 };
    char target[16] = "";
    write_old("there");
    assert_int_equal(symlink("there", "link"), 0);
    assert_true(output_open(&output, "link", false, NULL));
    output_string(&output, "new");
    assert_contents("there", "old", 3);
    assert_true(output_close(&output, NULL, NULL));
    assert_contents("there", "new", 3);
    assert_int_equal(readlink("link", target, sizeof(target)), 5);
    assert_int_equal(files_here(), 2);
}

static void what_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    struct output output = { 0 };
    output_abandon(&output);
    write_old("out");
    assert_true(output_open(&output, "out", true, NULL));
    output_string(&output, "new");
    output_abandon(&output);
    output_abandon(&output);
    assert_contents("out", "old", 3);
    assert_int_equal(files_here(), 1);
}

static void a_failure_leaves_the_old_file(void **state)
{
    (void)state;
    struct output output = { 0 };
    struct fault why = { 0 };
    write_old("out");
    assert_true(output_open(&output, "out", false, NULL));
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(dup2(full, output.fd), output.fd); /* the disk is full from now on */
    close(full);
    output_string(&output, "new");
    assert_false(output_close(&output, NULL, &why));
    assert_string_equal(why.text, "cannot write out: No space left on device");
    assert_contents("out", "old", 3);
    assert_int_equal(files_here(), 1);
}

static void a_folder_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct output output = { 0 };
    struct fault why = { 0 };
    assert_false(output_open(&output, "no/such/folder/out", false, &why));
    assert_string_equal(why.text, "cannot create no/such/folder/out: No such file or directory");
    output_abandon(&output);
    assert_int_equal(files_here(), 0);
}

/* What is not a regular file is written as it is, and keeps its name. */
static void a_pipe_is_written_as_it_is(void **state)
{
    (void)state;
    struct output output = { 0 };
    char word[4] = "";
    assert_int_equal(mkfifo("pipe", 0600), 0);
    const int reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(output_open(&output, "pipe", false, NULL));
    output_string(&output, "new");
    assert_true(output_close(&output, NULL, NULL));
    assert_int_equal(read(reader, word, 3), 3);
    assert_string_equal(word, "new");
    close(reader);
    struct stat there;
    assert_int_equal(stat("pipe", &there), 0);
    assert_true(S_ISFIFO(there.st_mode));
    assert_int_equal(files_here(), 1);
}

static void gzip_says_no_time_and_no_name(void **state)
{
    (void)state;
    struct bytes files[2];
    for (int i = 0; i < 2; i++) {
        struct output output = { 0 };
        const char *path = i ? "second.gz" : "first.gz";
        assert_true(output_open(&output, path, true, NULL));
        for (int k = 0; k < 5000; k++)
            output_string(&output, "the same again and ");
        assert_true(output_close(&output, NULL, NULL));
        files[i] = contents(path);
    }
    assert_int_equal(files[0].size, files[1].size);
    assert_memory_equal(files[0].at, files[1].at, files[0].size);
    static const unsigned char head[] = { 0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3 }; /* deflate, no flags, no time, Unix */
    assert_memory_equal(files[0].at, head, sizeof(head));
    assert_true(files[0].size < 1000);

    static char text[200000];
    gzFile file = gzopen("first.gz", "rb");
    assert_int_equal(gzread(file, text, sizeof(text)), 5000 * 19);
    assert_memory_equal(text, "the same again and the same", 27);
    assert_int_equal(gzclose(file), Z_OK);
    bytes_free(&files[0]);
    bytes_free(&files[1]);
}

static void the_mode_is_that_of_a_new_file(void **state)
{
    (void)state;
    struct output output = { 0 };
    struct stat there;
    const mode_t mask = umask(027);
    assert_true(output_open(&output, "out", false, NULL));
    assert_true(output_close(&output, NULL, NULL));
    umask(mask);
    assert_int_equal(stat("out", &there), 0);
    assert_int_equal(there.st_mode & 0777, 0640);
    assert_int_equal(there.st_size, 0);
}

TEST_FILE(output)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_that_was_put_is_there, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(much_is_written_in_parts, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_file_takes_its_name_when_it_is_whole, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_link_stays_a_link, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(what_is_given_up_leaves_nothing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_failure_leaves_the_old_file, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_told, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_pipe_is_written_as_it_is, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(gzip_says_no_time_and_no_name, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(the_mode_is_that_of_a_new_file, enter_folder, leave_folder),
    };
    return run_all(tests);
}
