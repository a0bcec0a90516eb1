/* SPDX-License-Identifier: MIT */
#include "record/process/procfs.h"

#include "formats/base/alloc.h"
#include "record/process/python_files.h"
#include "tests/fakes/leaderless.h"
#include "tests/fakes/testing.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 0x3FFFFFFF /* above the largest pid there can be */

static void arguments_are_quoted_where_a_shell_would_need_it(void **state)
{
    (void)state;
    static const struct {
        struct text arguments; /* with a NUL behind each */
        const char *quoted;
        size_t size;
    } rows[] = {
        { { "", 0 }, "", 0 },
        { { "python3\0a.py", 13 }, "python3 a.py", 12 },
        { { "a\0\0b", 5 }, "a '' b", 6 },
        { { "sh\0-c\0echo 'x'; ls", 19 }, "sh -c 'echo '\\''x'\\''; ls'", 26 },
        { { "-X\0dev=1,2:3+4@5%6_7./8", 24 }, "-X dev=1,2:3+4@5%6_7./8", 23 },
        { { "tab\there", 9 }, "'tab\there'", 10 },
        { { "gr\xC3\xBC\xC3\x9F", 7 }, "'gr\xC3\xBC\xC3\x9F'", 8 },
        { { "bad\xFF", 5 }, "'bad\\xff'", 9 },
        { { "no NUL at the end", 17 }, "'no NUL at the end'", 19 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const struct text quoted = procfs_quote_arguments(rows[i].arguments);
        if (quoted.size != rows[i].size || memcmp(quoted.bytes, rows[i].quoted, quoted.size) != 0)
            fail_msg("row %zu: %.*s", i, (int)quoted.size, quoted.bytes);
        text_free(quoted);
    }
}

/* Files that tell of the memory of a process can be read when its first thread has ended, too. */
static void a_process_without_its_first_thread(void **state)
{
    (void)state;
    const pid_t child = leaderless_start();
    const uint64_t mark = procfs_command_mark(child), pages = procfs_pages(child);
    assert_true(mark && pages);
    leaderless_end_thread(child, child);
    assert_true(procfs_command_mark(child) == mark);
    assert_true(procfs_pages(child) > 0);
    assert_true(python_files_of(child).files > 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void says_of_us_what_we_are(void **state)
{
    (void)state;
    char path[4096], folder[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
    struct text text = procfs_executable(getpid());
    assert_int_equal(text.size, size);
    assert_memory_equal(text.bytes, path, text.size);
    text_free(text);
    assert_non_null(getcwd(folder, sizeof(folder)));
    text = procfs_folder(getpid());
    assert_int_equal(text.size, strlen(folder));
    assert_memory_equal(text.bytes, folder, text.size);
    text_free(text);
    text = procfs_command(getpid());
    assert_non_null(
        memmem(text.bytes, text.size, program_invocation_short_name, strlen(program_invocation_short_name)));
    text_free(text);
    uid_t user = (uid_t)-1;
    assert_true(procfs_user(getpid(), &user));
    assert_int_equal(user, geteuid());
}

/* Starts a child whose root folder is `root` and whose current folder is `folder` there; it waits to be killed. */
static pid_t start_below(const char *root, const char *folder)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (chroot(root) != 0 || chdir(folder) != 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void a_folder_is_as_the_program_sees_it(void **state)
{
    (void)state;
    static const struct {
        const char *root, *folder, *seen;
    } rows[] = {
        { "/usr", "/bin", "/bin" }, { "/usr", "/", "/" }, { "/", "/usr/bin", "/usr/bin" }, { "/usr", "/../bin", "/bin" }
    };
    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < countof(rows); i++) {
        const pid_t child = start_below(rows[i].root, rows[i].folder);
        const struct text folder = procfs_folder(child);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (folder.size != strlen(rows[i].seen) || memcmp(folder.bytes, rows[i].seen, folder.size) != 0)
            fail_msg("row %zu: %.*s", i, (int)folder.size, folder.bytes);
        text_free(folder);
    }
}

static void thread_names_are_clean(void **state)
{
    (void)state;
    char was[16];
    prctl(PR_GET_NAME, was);
    static const struct {
        const char *name, *clean;
    } rows[] = { { "a b) R (c", "a b) R (c" }, { "bad\xC3", "bad\\xc3" }, { "", "" } };
    for (size_t i = 0; i < countof(rows); i++) {
        prctl(PR_SET_NAME, rows[i].name);
        const struct text name = procfs_thread_name(getpid(), (pid_t)syscall(SYS_gettid));
        assert_int_equal(name.size, strlen(rows[i].clean));
        assert_memory_equal(name.bytes, rows[i].clean, name.size);
        text_free(name);
    }
    prctl(PR_SET_NAME, was);
}

static void nobody_has_nothing(void **state)
{
    (void)state;
    struct images images;
    uid_t user;
    assert_false(procfs_images(NOBODY, &images));
    assert_int_equal(procfs_ns_pid(NOBODY), 0);
    struct intern_pairs threads = { 0 };
    procfs_map_threads(NOBODY, true, &threads);
    assert_int_equal(threads.count, 0);
    intern_pairs_free(&threads);
    assert_false(procfs_user(NOBODY, &user));
    const struct text texts[] = { procfs_executable(NOBODY), procfs_folder(NOBODY), procfs_command(NOBODY),
                                  procfs_thread_name(NOBODY, 1) };
    for (size_t i = 0; i < countof(texts); i++) {
        assert_int_equal(texts[i].size, 0);
        text_free(texts[i]);
    }
}

static void threads_are_found_by_their_own_number(void **state)
{
    (void)state;
    const pid_t ns_pid = procfs_ns_pid(getpid());
    assert_true(ns_pid > 0);
    struct intern_pairs threads = { 0 };
    procfs_map_threads(getpid(), false, &threads);
    assert_int_equal(intern_pairs_find(&threads, (uint32_t)ns_pid, 0), getpid());
    assert_int_equal(intern_pairs_find(&threads, NOBODY, 0), 0);
    intern_pairs_free(&threads);
}

static void the_program_is_the_first_image(void **state)
{
    (void)state;
    struct images images;
    size_t programs = 0;
    assert_true(procfs_images(getpid(), &images));
    assert_true(images.count > 2); /* with the C library and the loader */
    assert_true(images.rows[0].program);
    assert_non_null(strstr(images.rows[0].path, program_invocation_short_name));
    assert_memory_equal((const void *)(uintptr_t)images.rows[0].address, "\177ELF", 4);
    for (size_t i = 0; i < images.count; i++)
        programs += images.rows[i].program;
    assert_int_equal(programs, 1);
    procfs_images_free(&images);
    procfs_images_free(&images);
}

static void numbers_are_found_by_name(void **state)
{
    (void)state;
    uint64_t number = 0;
    assert_true(procfs_number("/proc/self/status", "Pid", 10, &number));
    assert_int_equal(number, getpid());
    assert_false(procfs_number("/proc/self/status", "Pi", 10, &number));
    assert_false(procfs_number("/no/such/file", "Pid", 10, &number));
    assert_true(procfs_number("/proc/self/status", "SigQ", 10, &number));
}

TEST_FILE(procfs)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_quoted_where_a_shell_would_need_it),
        cmocka_unit_test(a_process_without_its_first_thread),
        cmocka_unit_test(says_of_us_what_we_are),
        cmocka_unit_test(a_folder_is_as_the_program_sees_it),
        cmocka_unit_test(thread_names_are_clean),
        cmocka_unit_test(nobody_has_nothing),
        cmocka_unit_test(threads_are_found_by_their_own_number),
        cmocka_unit_test(the_program_is_the_first_image),
        cmocka_unit_test(numbers_are_found_by_name),
    };
    return run_all(tests);
}
