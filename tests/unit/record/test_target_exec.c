/* SPDX-License-Identifier: MIT */
/* A process that becomes another program by execve, just while we look for Python in it. The linker puts our
 * __wrap_procfs_images() in the place of procfs_images(). */
#include "record/process/procfs.h"
#include "record/python/target.h"
#include "tests/fakes/testing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *python; /* a program with the memory of one, see free-threaded.c */

static struct {
    pid_t pid;
    int gate; /* it waits for this to be closed */
    FILE *says;
} child;

static void start_child(void)
{
    int gate[2], says[2];
    assert_int_equal(pipe(gate), 0);
    assert_int_equal(pipe(says), 0);
    child.pid = fork();
    if (child.pid == 0) {
        char byte;
        close(gate[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(says[1], STDOUT_FILENO);
        if (read(gate[0], &byte, 1) == 0)
            execl(python, python, "3.14", NULL);
        _exit(1);
    }
    close(gate[0]);
    close(says[1]);
    child.gate = gate[1];
    child.says = fdopen(says[0], "r");
}

static void end_child(void)
{
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    fclose(child.says);
}

static void become_python(void)
{
    char line[64] = "";
    if (child.gate < 0)
        return;
    close(child.gate);
    child.gate = -1;
    assert_non_null(fgets(line, sizeof(line), child.says));
    assert_int_equal(strncmp(line, "ready", 5), 0);
}

bool __real_procfs_images(pid_t pid, struct images *images);
bool __wrap_procfs_images(pid_t pid, struct images *images);

bool __wrap_procfs_images(pid_t pid, struct images *images)
{
    become_python();
    return __real_procfs_images(pid, images);
}

static void a_program_is_not_taken_for_the_one_before(void **state)
{
    (void)state;
    struct target target;
    struct fault why = { 0 };
    start_child();
    assert_int_equal(target_open(&target, child.pid, &why), TARGET_NOT_YET);
    assert_int_equal(target_open(&target, child.pid, &why), TARGET_READY);
    assert_true(target_same_program(&target));
    end_child();
    assert_false(target_same_program(&target));
    target_close(&target);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(a_program_is_not_taken_for_the_one_before) };
    if (argc != 2)
        return 2;
    python = argv[1];
    return run_all(tests);
}
