/* SPDX-License-Identifier: MIT */
#include "record/file/recording_file.h"

#include "formats/base/alloc.h"
#include "formats/codec/stream_format.h"
#include "record/progress.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
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
    assert_true(recording_file_open(&file, NULL, false, 42, TEXT("python3 /srv/app.py --x"), NULL));
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
    assert_true(recording_file_open(&file, NULL, false, 42, TEXT("app"), NULL));
    assert_true(recording_file_close(&file, NULL));
    for (int number = 2; number < 12; number++) { /* the command runs all the same */
        char name[32];
        snprintf(name, sizeof(name), "app-42-%d.pyreel", number);
        assert_true(recording_file_open(&file, NULL, number % 2, 42, TEXT("app"), NULL));
        assert_string_equal(file.path, name);
        assert_true(recording_file_close(&file, NULL));
    }
    assert_int_equal(symlink("elsewhere", "app-43.pyreel"), 0);
    assert_true(recording_file_open(&file, NULL, false, 43, TEXT("app"), NULL));
    assert_string_equal(file.path, "app-43-2.pyreel");
    assert_true(recording_file_close(&file, NULL));
    assert_int_equal(stat("elsewhere", &there), -1);
    if (geteuid() == 0)
        return; /* may write everywhere */
    assert_int_equal(mkdir("closed", 0555), 0);
    assert_int_equal(chdir("closed"), 0);
    assert_false(recording_file_open(&file, NULL, false, 42, TEXT("app"), &why));
    assert_int_equal(chdir(".."), 0);
    assert_string_equal(why.text, "cannot create app-42.pyreel: Permission denied; name a file with -o");
}

static off_t size_of(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 ? there.st_size : -1;
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* What is there stays until there is something to put in its place. */
static void a_recording_is_replaced_when_the_next_one_begins(void **state)
{
    (void)state;
    struct recording_file file;
    for (int i = 0; i < 3; i++) {
        assert_true(recording_file_open(&file, "mine", false, 42, TEXT("app"), NULL));
        assert_int_equal(size_of("mine"), i ? 10 - i : 0);
        assert_true(recording_file_begin(&file, NULL));
        assert_int_equal(size_of("mine"), 0);
        assert_int_equal(write(file.fd, "\x89pyreel\nx", 9 - (size_t)i), 9 - i);
        assert_true(recording_file_close(&file, NULL));
    }
    struct fault why = { 0 };
    assert_false(recording_file_open(&file, "no/such/folder", false, 42, TEXT("app"), &why));
    assert_string_equal(why.text, "cannot create no/such/folder: No such file or directory");
}

static void what_is_no_recording_is_replaced_by_force_only(void **state)
{
    (void)state;
    static const char *const contents[] = { "x", "\x89pyreel", "\x89pyreel\r and more", "a file of eight and more" };
    for (size_t i = 0; i < countof(contents); i++) {
        struct recording_file file;
        struct fault why = { 0 };
        put_file("precious", contents[i]);
        assert_false(recording_file_open(&file, "precious", false, 42, TEXT("app"), &why));
        assert_string_equal(why.text, "cannot write precious: it exists and is not a recording; name another file, or "
                                      "replace it with --force");
        assert_int_equal(size_of("precious"), strlen(contents[i]));
        assert_true(recording_file_open(&file, "precious", true, 42, TEXT("app"), NULL));
        assert_true(recording_file_begin(&file, NULL));
        assert_int_equal(size_of("precious"), 0);
        assert_true(recording_file_close(&file, NULL));
    }
}

static void two_recorders_do_not_write_one_file(void **state)
{
    (void)state;
    struct recording_file first, second;
    struct fault why = { 0 };
    assert_true(recording_file_open(&first, "one", false, 42, TEXT("app"), NULL));
    assert_false(recording_file_open(&second, "one", true, 43, TEXT("app"), &why));
    assert_string_equal(why.text, "cannot write one: another pyreel-record is writing to it; name another file");
    assert_true(recording_file_close(&first, NULL));
    assert_true(recording_file_open(&second, "one", false, 43, TEXT("app"), NULL));
    assert_true(recording_file_close(&second, NULL));
}

/* Whoever made the link would say what is overwritten, or where our recording goes. */
static void a_link_in_a_shared_folder_is_not_followed(void **state)
{
    (void)state;
    struct recording_file file;
    struct fault why = { 0 };
    assert_int_equal(symlink("elsewhere", "link"), 0);
    assert_true(recording_file_open(&file, "link", false, 42, TEXT("app"), NULL));
    assert_true(recording_file_close(&file, NULL));
    assert_int_equal(size_of("elsewhere"), 0);
    assert_int_equal(chmod(".", 01777), 0);
    assert_false(recording_file_open(&file, "link", true, 42, TEXT("app"), &why));
    assert_string_equal(why.text, "cannot write link: it is a symbolic link, in a folder that everyone can write to; "
                                  "name another file");
    assert_true(recording_file_open(&file, "elsewhere", false, 42, TEXT("app"), NULL));
    assert_true(recording_file_close(&file, NULL));
}

static void a_file_of_somebody_else_in_a_shared_folder_is_not_used(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* nobody else can make files for us; tests/e2e/record/test_crash.py says so aloud */
    struct recording_file file;
    struct fault why = { 0 };
    put_file("theirs", "");
    assert_int_equal(chown("theirs", 65534, 65534), 0);
    assert_int_equal(chmod(".", 01777), 0);
    assert_false(recording_file_open(&file, "theirs", true, 42, TEXT("app"), &why));
    assert_string_equal(
        why.text,
        "cannot write theirs: another user owns it, in a folder that everyone can write to; name another file");
    assert_int_equal(chmod(".", 0755), 0);
    assert_true(recording_file_open(&file, "theirs", false, 42, TEXT("app"), NULL));
    assert_true(recording_file_close(&file, NULL));
}

/* Nobody reads from the pipe: to open it would be to wait for ever. */
static void a_pipe_of_somebody_else_in_a_shared_folder_is_not_opened(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    static const mode_t modes[] = { 01777, 0777 };
    for (size_t i = 0; i < countof(modes); i++) {
        struct recording_file file;
        struct fault why = { 0 };
        unlink("theirs");
        assert_int_equal(mkfifo("theirs", 0666), 0);
        assert_int_equal(chown("theirs", 65534, 65534), 0);
        assert_int_equal(chmod(".", modes[i]), 0);
        alarm(PATIENCE_S);
        assert_false(recording_file_open(&file, "theirs", true, 42, TEXT("app"), &why));
        alarm(0);
        assert_non_null(strstr(why.text, "another user"));
        assert_non_null(strstr(why.text, "folder that everyone can write to; name another file"));
        assert_int_equal(chmod(".", 0755), 0);
    }
}

/* As with `cat > pipe`, the writer waits for the reader. */
static void a_pipe_of_our_own_waits_for_its_reader(void **state)
{
    (void)state;
    struct recording_file file;
    char byte = 0;
    assert_int_equal(mkfifo("ours", 0600), 0);
    assert_int_equal(chmod(".", 01777), 0);
    alarm(PATIENCE_S);
    const pid_t reader = fork();
    if (reader == 0) {
        usleep(20000);
        const int end = open("ours", O_RDONLY);
        _exit(end >= 0 && read(end, &byte, 1) == 1 && byte == 'x' ? 0 : 1);
    }
    assert_true(recording_file_open(&file, "ours", false, 42, TEXT("app"), NULL));
    assert_int_equal(fcntl(file.fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(write(file.fd, "x", 1), 1);
    assert_true(recording_file_close(&file, NULL));
    int status;
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    alarm(0);
}

static void a_socket_is_told(void **state)
{
    (void)state;
    struct recording_file file;
    struct fault why = { 0 };
    struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "socket" };
    const int end = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(end, (const struct sockaddr *)&name, sizeof(name)), 0);
    assert_false(recording_file_open(&file, "socket", true, 42, TEXT("app"), &why));
    assert_string_equal(why.text, "cannot write socket: it is a socket; name another file");
    close(end);
}

static void a_link_to_a_new_file_makes_the_file(void **state)
{
    (void)state;
    struct recording_file file;
    assert_int_equal(symlink("later", "link"), 0);
    assert_true(recording_file_open(&file, "link", false, 42, TEXT("app"), NULL));
    assert_int_equal(write(file.fd, "x", 1), 1);
    assert_true(recording_file_close(&file, NULL));
    assert_int_equal(size_of("later"), 1);
}

static void a_file_that_is_removed_is_missed(void **state)
{
    (void)state;
    struct recording_file file;
    struct fault why = { 0 };
    assert_true(recording_file_open(&file, "gone", false, 42, TEXT("app"), NULL));
    assert_true(recording_file_begin(&file, NULL));
    assert_int_equal(rename("gone", "moved"), 0);
    assert_false(recording_file_removed(&file, &why));
    assert_int_equal(unlink("moved"), 0);
    assert_true(recording_file_removed(&file, &why));
    assert_string_equal(why.text, "gone was removed while it was being written: the recording is lost");
    assert_false(recording_file_close(&file, NULL));
    assert_true(recording_file_open(&file, "soon gone", false, 42, TEXT("app"), NULL));
    assert_int_equal(unlink("soon gone"), 0); /* before anything is written */
    assert_true(recording_file_begin(&file, NULL));
    assert_true(recording_file_removed(&file, NULL));
    assert_false(recording_file_close(&file, NULL));
}

static void a_recording_that_never_began_leaves_no_file(void **state)
{
    (void)state;
    struct recording_file file;
    assert_true(recording_file_open(&file, "new", false, 42, TEXT("app"), NULL));
    recording_file_discard(&file);
    assert_int_equal(size_of("new"), -1);
    assert_true(recording_file_open(&file, "old", false, 42, TEXT("app"), NULL));
    assert_int_equal(write(file.fd, STREAM_MAGIC, STREAM_MAGIC_SIZE), STREAM_MAGIC_SIZE);
    assert_true(recording_file_close(&file, NULL));
    assert_true(recording_file_open(&file, "old", false, 42, TEXT("app"), NULL));
    recording_file_discard(&file);
    assert_int_equal(size_of("old"), STREAM_MAGIC_SIZE);
    recording_file_discard(&file);
}

static void a_dash_is_standard_output(void **state)
{
    (void)state;
    struct recording_file file;
    assert_true(recording_file_open(&file, "-", false, 42, TEXT("app"), NULL));
    assert_int_equal(file.fd, STDOUT_FILENO);
    assert_true(recording_file_close(&file, NULL));
    assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
    assert_false(recording_file_is_for_terminal(NULL));
    assert_false(recording_file_is_for_terminal("mine"));
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
        assert_string_equal(progress_size_text(room, rows[i].bytes), rows[i].text);
    }
}

TEST_FILE(recording_file)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_default_name_tells_program_and_process, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_default_name_overwrites_nothing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_recording_is_replaced_when_the_next_one_begins, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(what_is_no_recording_is_replaced_by_force_only, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(two_recorders_do_not_write_one_file, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_link_in_a_shared_folder_is_not_followed, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_file_of_somebody_else_in_a_shared_folder_is_not_used, enter_folder,
                                        leave_folder),
        cmocka_unit_test_setup_teardown(a_pipe_of_somebody_else_in_a_shared_folder_is_not_opened, enter_folder,
                                        leave_folder),
        cmocka_unit_test_setup_teardown(a_pipe_of_our_own_waits_for_its_reader, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_socket_is_told, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_link_to_a_new_file_makes_the_file, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_removed_is_missed, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(a_recording_that_never_began_leaves_no_file, enter_folder, leave_folder),
        cmocka_unit_test(a_dash_is_standard_output),
        cmocka_unit_test(sizes_are_told_for_people),
    };
    return run_all(tests);
}
