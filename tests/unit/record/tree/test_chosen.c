/* SPDX-License-Identifier: MIT */
#include "record/tree/chosen.h"

#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool fits(struct chosen_words words)
{
    struct chosen chosen;
    struct fault why = { 0 };
    assert_true(chosen_open(&chosen, &words, &why));
    const bool good = chosen_fits(&chosen, getpid());
    chosen_close(&chosen);
    return good;
}

static void each_word_must_fit(void **state)
{
    (void)state;
    char own[16], other[16];
    snprintf(own, sizeof(own), "%u", (unsigned)getuid());
    snprintf(other, sizeof(other), "%u", (unsigned)getuid() + 1);
    assert_true(fits((struct chosen_words){ 0 }));
    assert_true(fits((struct chosen_words){ .match = "test_[a-z]+" })); /* the program of these tests */
    assert_false(fits((struct chosen_words){ .match = "^nobody is called so$" }));
    assert_true(fits((struct chosen_words){ .user = own }));
    assert_false(fits((struct chosen_words){ .user = other }));
    assert_true(fits((struct chosen_words){ .user = own, .match = "test_" }));
    assert_false(fits((struct chosen_words){ .user = other, .match = "test_" }));
    assert_true(fits((struct chosen_words){ .cgroup = "/" }));
    assert_false(fits((struct chosen_words){ .cgroup = "/nowhere/at/all" }));
}

/* Starts a shell with these arguments, which waits for the end of its input. */
static FILE *start_shell(const char *argument, const char *last, pid_t *pid)
{
    int input[2], output[2];
    char ready;
    assert_int_equal(pipe(input) + pipe(output), 0);
    *pid = fork();
    if (*pid == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        close(input[1]);
        execl("/bin/sh", "sh", "-c", "echo; read line", argument, last, (char *)NULL);
        _exit(1);
    }
    close(input[0]);
    close(output[1]);
    assert_int_equal(read(output[0], &ready, 1), 1);
    close(output[0]);
    return fdopen(input[1], "w");
}

/* An expression takes the square of what it looks at. */
static void the_beginning_of_a_command_line_counts(void **state)
{
    (void)state;
    char argument[5000] = "";
    memset(argument, 'a', sizeof(argument) - 1);
    pid_t pid;
    FILE *input = start_shell(argument, "last", &pid);
    struct fault why = { 0 };
    static const char *const matches[] = { "read.*aaa", "a last$" };
    for (size_t i = 0; i < 2; i++) {
        struct chosen chosen;
        assert_true(chosen_open(&chosen, &(struct chosen_words){ .match = matches[i] }, &why));
        assert_int_equal(chosen_fits(&chosen, pid), i == 0);
        chosen_close(&chosen);
    }
    fclose(input);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_cgroup_has_those_below_it(void **state)
{
    (void)state;
    const char *text = "4:cpu,cpuacct:/batch/night\n0::/system.slice/web.service\n";
    static const struct {
        const char *path;
        bool named;
    } rows[] = {
        { "/system.slice/web.service", true },
        { "/system.slice/web.service/", true },
        { "/system.slice", true },
        { "/sys/fs/cgroup/system.slice", true },
        { "/sys/fs/cgroup", true },
        { "/", true },
        { "/batch", true }, /* of version 1 */
        { "/system", false },
        { "/system.slice/web", false },
        { "/system.slice/web.service/worker", false },
        { "/night", false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(chosen_names_cgroup(text, rows[i].path), rows[i].named);
    static const char *const torn[] = { "", "\n", "4", "4:", "4:cpu", "4:cpu:", "::", "0::", "\n\n:" };
    for (size_t i = 0; i < sizeof(torn) / sizeof(*torn); i++)
        assert_false(chosen_names_cgroup(torn[i], "/a"));
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void a_file_of_expressions_is_read_again(void **state)
{
    (void)state;
    char path[] = "/tmp/pyreel-chosen-XXXXXX", word[64];
    struct chosen chosen;
    struct fault why = { 0 };
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(word, sizeof(word), "@%s", path);
    write_file(path, "# what nobody has\n\nxyzzy plugh\n");
    assert_true(chosen_open(&chosen, &(struct chosen_words){ .match = word }, &why));
    assert_true(chosen_has_file(&chosen));
    assert_false(chosen_fits(&chosen, getpid()));
    write_file(path, "xyzzy\ntest_"); /* without the last newline */
    assert_true(chosen_reload(&chosen, &why));
    assert_true(chosen_fits(&chosen, getpid()));
    static const char *const wrong[] = { "", "# nothing\n", "test_\n(\n" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct fault cause = { 0 };
        write_file(path, wrong[i]);
        assert_false(chosen_reload(&chosen, &cause));
        assert_non_null(strstr(cause.text, "--match"));
        assert_true(chosen_fits(&chosen, getpid())); /* as before */
    }
    unlink(path);
    assert_false(chosen_reload(&chosen, &why));
    assert_non_null(strstr(why.text, "cannot read the file"));
    chosen_close(&chosen);
}

static void wrong_words_are_told(void **state)
{
    (void)state;
    struct chosen chosen;
    struct fault user = { 0 }, expression = { 0 };
    assert_false(chosen_open(&chosen, &(struct chosen_words){ .user = "no such user" }, &user));
    assert_non_null(strstr(user.text, "/etc/passwd has no such user"));
    chosen_close(&chosen);
    assert_false(chosen_open(&chosen, &(struct chosen_words){ .match = "(" }, &expression));
    assert_non_null(strstr(expression.text, "--match (: "));
    chosen_close(&chosen);
    assert_true(chosen_open(&chosen, &(struct chosen_words){ .user = "root" }, &user));
    assert_int_equal(chosen.user, 0);
    chosen_close(&chosen);
}

TEST_FILE(chosen)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_must_fit),          cmocka_unit_test(the_beginning_of_a_command_line_counts),
        cmocka_unit_test(a_cgroup_has_those_below_it), cmocka_unit_test(a_file_of_expressions_is_read_again),
        cmocka_unit_test(wrong_words_are_told),
    };
    return run_all(tests);
}
