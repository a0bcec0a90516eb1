/* SPDX-License-Identifier: MIT */
/* Real processes: a copy of cat that has the name of Python, and cat itself. */
#include "record/tree/hint.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/python_files.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/pyreel-hint-XXXXXX";
static char python[64];
static int gate[2]; /* programs end when it closes */

static void copy_cat(void)
{
    char bytes[4096];
    assert_non_null(mkdtemp(folder));
    snprintf(python, sizeof(python), "%s/python3.99", folder);
    const int from = open("/bin/cat", O_RDONLY | O_CLOEXEC), to = open(python, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(from >= 0 && to >= 0);
    for (ssize_t size; (size = read(from, bytes, sizeof(bytes))) > 0;)
        assert_int_equal(write(to, bytes, (size_t)size), size);
    close(from);
    close(to);
}

static void run(const char *program)
{
    char *arguments[] = { (char *)"cat", NULL };
    dup2(gate[0], STDIN_FILENO);
    execv(program, arguments);
    _exit(1);
}

/* A root that starts programs when a byte comes. */
static pid_t start(const char *const *programs, int go)
{
    const pid_t root = fork();
    if (root != 0)
        return root;
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go, &byte, 1) != 1)
        _exit(1);
    close(gate[1]);
    for (; *programs; programs++)
        if (fork() == 0)
            run(*programs);
    while (wait(NULL) > 0)
        ;
    _exit(0);
}

static void children_that_run_python_are_counted(void **state)
{
    (void)state;
    const char *const programs[] = { python, "/bin/cat", python, "/bin/cat", python, NULL };
    struct hint hint;
    char text[512];
    int go[2];
    copy_cat();
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    const pid_t root = start(programs, go[0]);
    hint_open(&hint, root, false);
    assert_false(hint_write(&hint, text, sizeof(text)));
    assert_int_equal(write(go[1], "g", 1), 1);
    const time_t since = time(NULL);
    for (size_t looked = 0; hint.count < 3 || looked < 5;) {
        assert_true(is_patient(since));
        clock_sleep_until(clock_now_ns() + 2000000);
        hint_look(&hint, clock_now_ns());
        looked = 0;
        for (size_t i = 0; i < hint.children_count; i++)
            looked += hint.children[i].due_ns == UINT64_MAX;
    }
    assert_int_equal(hint.count, 3);
    assert_true(hint_write(&hint, text, sizeof(text)));
    char expected[512];
    snprintf(expected, sizeof(expected),
             "3 child processes that run Python were not recorded (pids %d, %d, %d); -f records them too",
             (int)hint.named[0], (int)hint.named[1], (int)hint.named[2]);
    assert_string_equal(text, expected);
    int subreaper = 1;
    assert_int_equal(prctl(PR_GET_CHILD_SUBREAPER, &subreaper), 0);
    assert_int_equal(subreaper, 0);
    close(gate[1]);
    assert_int_equal(waitpid(root, NULL, 0), root);
    hint_close(&hint);
    assert_true(hint_write(&hint, text, sizeof(text)));
    hint_close(&hint);
    close(gate[0]);
    close(go[0]);
    close(go[1]);
    unlink(python);
    rmdir(folder);
}

/* Maps a file of the name of a library, as the loader of a bundle does, when a byte comes; answers with a byte. */
static void map_later(const char *library, int go, int done)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go, &byte, 1) != 1)
        _exit(1);
    const int file = open(library, O_RDONLY | O_CLOEXEC);
    if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED || write(done, "d", 1) != 1)
        _exit(1);
    pause();
}

/* The loader of a bundle and the Python that it starts run the same program, so the second look does not believe what
 * the first one guessed. */
static void a_child_that_loads_python_late_is_counted(void **state)
{
    (void)state;
    char above[] = "/tmp/pyreel-hint-XXXXXX", file[64], byte;
    struct hint hint;
    int go[2], done[2];
    assert_non_null(mkdtemp(above));
    snprintf(file, sizeof(file), "%s/libpython3.99.so.1.0", above);
    const int library = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(library >= 0 && ftruncate(library, 4096) == 0);
    assert_int_equal(pipe2(go, O_CLOEXEC) | pipe2(done, O_CLOEXEC), 0);
    hint_open(&hint, getpid(), false);
    const pid_t child = fork();
    if (child == 0)
        map_later(file, go[0], done[1]);
    uint64_t now_ns = clock_now_ns();
    const time_t since = time(NULL);
    while (hint.children_count == 0 || !hint.children[0].seen) {
        assert_true(is_patient(since));
        hint_look(&hint, now_ns += 10000000);
    }
    assert_int_equal(hint.count, 0);
    assert_true(hint_due_ns(&hint) > now_ns && hint_due_ns(&hint) < UINT64_MAX);
    assert_int_equal(write(go[1], "g", 1), 1);
    assert_int_equal(read(done[0], &byte, 1), 1);
    hint_look(&hint, hint_due_ns(&hint));
    assert_int_equal(hint.count, 1);
    assert_int_equal(hint.named[0], child);
    assert_true(hint_due_ns(&hint) == UINT64_MAX);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    hint_close(&hint);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(done[i]);
    }
    close(library);
    unlink(file);
    rmdir(above);
}

/* Ticks wait while children are looked at, so a call looks at a few of many. */
static void of_many_children_a_few_are_looked_at_in_a_call(void **state)
{
    (void)state;
    enum { CHILDREN = 40, MOST = 16 };
    struct hint hint;
    pid_t children[CHILDREN];
    hint_open(&hint, getpid(), false);
    for (size_t i = 0; i < CHILDREN; i++)
        if ((children[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pause();
        }
    uint64_t now_ns = clock_now_ns();
    const time_t since = time(NULL);
    for (size_t seen = 0, before; seen < CHILDREN;) {
        assert_true(is_patient(since));
        hint_look(&hint, now_ns += 10000000);
        before = seen;
        seen = 0;
        for (size_t i = 0; i < hint.children_count; i++)
            seen += hint.children[i].seen;
        assert_true(seen - before <= MOST);
        assert_true(seen == hint.children_count || hint_due_ns(&hint) <= now_ns + 20000000);
    }
    for (size_t i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    hint_close(&hint);
}

/* A child that is told when it comes is not told at the end, too, unless others came. */
static void the_first_child_is_told_once(void **state)
{
    (void)state;
    struct hint hint = { 0 };
    char text[512], expected[512], name[PYTHON_FILES_NAME];
    assert_false(hint_write_first(&hint, text, sizeof(text)));
    hint.count = 1;
    hint.named[0] = getpid();
    assert_true(hint_write_first(&hint, text, sizeof(text)));
    snprintf(expected, sizeof(expected),
             "process %d (%s), which the program has started, runs Python and is not recorded: -f records it, too",
             (int)getpid(), python_files_name(getpid(), name));
    assert_string_equal(text, expected);
    assert_false(hint_write_first(&hint, text, sizeof(text)));
    assert_false(hint_write(&hint, text, sizeof(text)));
    hint.count = 2;
    assert_true(hint_write(&hint, text, sizeof(text)));
}

static void the_hint_is_a_sentence(void **state)
{
    (void)state;
    struct hint hint = { .count = 1, .named = { 12 } };
    char text[512];
    assert_true(hint_write(&hint, text, sizeof(text)));
    assert_string_equal(text, "1 child process that runs Python was not recorded (pid 12); -f records it too");
    hint.count = HINT_NAMED + 1;
    assert_true(hint_write(&hint, text, sizeof(text)));
    assert_string_equal(text,
                        "9 child processes that run Python were not recorded (pids 12, 0, 0, 0, 0, 0, 0, 0, ...); "
                        "-f records them too");
}

/* A program that is known costs one call; a program with a name that says nothing is known when it is noted. */
static void programs_are_remembered(void **state)
{
    (void)state;
    static struct programs programs;
    assert_false(runs_python(&programs, getpid()));
    assert_int_equal(programs.count, 1);
    assert_false(runs_python(&programs, getpid()));
    assert_int_equal(programs.count, 1);
    assert_false(runs_python_by_now(getpid()));
    programs = (struct programs){ 0 };
    runs_python_note(&programs, getpid());
    assert_true(runs_python(&programs, getpid()));
    assert_int_equal(programs.count, 1);
}

TEST_FILE(hint)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_that_run_python_are_counted),
        cmocka_unit_test(a_child_that_loads_python_late_is_counted),
        cmocka_unit_test(of_many_children_a_few_are_looked_at_in_a_call),
        cmocka_unit_test(the_first_child_is_told_once),
        cmocka_unit_test(the_hint_is_a_sentence),
        cmocka_unit_test(programs_are_remembered),
    };
    return run_all(tests);
}
