/* SPDX-License-Identifier: MIT */
/* A process that becomes another program by execve, just while we look for Python in it; and what is remembered for the
 * next process. The linker puts our __wrap_procfs_images() in the place of procfs_images(). */
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

static uint64_t calls_of_opening(const struct runtime_hints *hints)
{
    struct target target;
    struct fault why = { 0 };
    assert_int_equal(target_open_hinted(&target, child.pid, hints, &why), TARGET_READY);
    assert_int_equal(target.runtime.layout.version >> 16, 0x030e);
    assert_true(target.runtime.described);
    assert_true(target.runtime.layout.free_threaded);
    assert_int_equal(target.ns_pid, child.pid);
    const uint64_t calls = target.remote.calls;
    if (hints->likely)
        *hints->likely = target.runtime;
    target_close(&target);
    return calls;
}

static struct elf_fact *find_fact(struct elf_files *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++)
        for (size_t f = 0; f < files->rows[i]->facts_count; f++)
            if (strcmp(files->rows[i]->facts[f].name, name) == 0)
                return &files->rows[i]->facts[f];
    fail_msg("nothing is known of %s", name);
    return NULL;
}

/* The second process of a program takes few calls; what is known and wrong does no harm. */
static void files_are_remembered(void **state)
{
    (void)state;
    struct elf_files files = { 0 };
    const struct runtime_hints none = { 0 }, known = { .files = &files };
    start_child();
    become_python();
    const uint64_t cold = calls_of_opening(&none);
    for (int i = 0; i < 4; i++)
        calls_of_opening(&known);
    const uint64_t warm = calls_of_opening(&known);
    assert_true(warm <= 8); /* two heads of files, the runtime, its interpreters, rseq */
    assert_true(warm * 2 < cold);
    find_fact(&files, "_PyRuntime")->distance += 4096;
    assert_true(calls_of_opening(&known) > warm);
    for (int i = 0; i < 4; i++)
        calls_of_opening(&known);
    assert_int_equal(calls_of_opening(&known), warm);
    files.rows[0]->head[0] ^= 1; /* another file */
    assert_true(calls_of_opening(&known) > warm);
    elf_files_free(&files);
    end_child();
}

/* A process has what its parent had, if it still runs that program. */
static void a_likely_runtime_takes_one_call(void **state)
{
    (void)state;
    struct runtime likely = { 0 };
    const struct runtime_hints hints = { .likely = &likely };
    start_child();
    become_python();
    const uint64_t cold = calls_of_opening(&hints);
    assert_int_equal(calls_of_opening(&hints), 1);
    const struct runtime good = likely;
    likely.random[3]++; /* another execve */
    assert_true(calls_of_opening(&hints) >= cold);
    assert_true(runtime_is_kin(&likely, &good));
    likely.random_at += 16;
    assert_true(calls_of_opening(&hints) >= cold);
    assert_true(runtime_is_kin(&likely, &good));
    likely.described = false; /* it was still starting */
    assert_true(calls_of_opening(&hints) >= cold);
    assert_int_equal(calls_of_opening(&hints), 1);
    end_child();
}

TEST_FILE(target_exec)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(a_program_is_not_taken_for_the_one_before),
                                               cmocka_unit_test(files_are_remembered),
                                               cmocka_unit_test(a_likely_runtime_takes_one_call) };
    if (argc != 2)
        return 2;
    python = argv[1];
    return run_all(tests);
}
