/* SPDX-License-Identifier: MIT */
/* What a process calls itself: it is asked in time, not too often, and never believed to be nobody. */
#include "record/names/title.h"

#include "record/process/meter.h"
#include "record/process/procfs.h"
#include "tests/fakes/testing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

extern char **environ;

/* A child that is a copy of us, and writes over its arguments what it is told. */
struct titled {
    pid_t pid;
    int to, from;
    char *start;
    size_t size;
};

/* Our own arguments, which a child of ours has, too: they stand right before the environment. */
static void find_arguments(struct titled *child)
{
    char line[4096];
    FILE *file = fopen("/proc/self/cmdline", "re");
    assert_non_null(file);
    child->size = fread(line, 1, sizeof(line), file);
    fclose(file);
    child->start = environ[0] - child->size;
    assert_memory_equal(child->start, line, child->size);
}

static void obey(const struct titled *child, int from, int to)
{
    char title[4096];
    while (read(from, title, child->size) == (ssize_t)child->size) {
        memcpy(child->start, title, child->size);
        if (write(to, "", 1) != 1)
            break;
    }
    _exit(0);
}

static struct titled start_titled(void)
{
    struct titled child = { 0 };
    int down[2], up[2];
    find_arguments(&child);
    assert_int_equal(pipe(down), 0);
    assert_int_equal(pipe(up), 0);
    child.pid = fork();
    if (child.pid == 0) {
        close(down[1]);
        obey(&child, down[0], up[1]);
    }
    close(down[0]);
    close(up[1]);
    child.to = down[1];
    child.from = up[0];
    return child;
}

/* The title is cut where there is no room for it. */
static void set_title(const struct titled *child, const char *title)
{
    char room[4096] = { 0 }, done;
    memcpy(room, title, strlen(title) < child->size ? strlen(title) : child->size - 1);
    assert_int_equal(write(child->to, room, child->size), child->size);
    assert_int_equal(read(child->from, &done, 1), 1);
}

static void end_titled(struct titled *child)
{
    close(child->to);
    close(child->from);
    waitpid(child->pid, NULL, 0);
}

static void a_change_is_seen_when_it_is_due_and_the_process_ran(void **state)
{
    (void)state;
    struct titled child = start_titled();
    struct title title;
    set_title(&child, "a b");
    title_open(&title, child.pid, false, 0);
    assert_text(title.text, "'a b'");
    set_title(&child, "c d");
    assert_false(title_changed(&title, 99 * MS, 1)); /* not due */
    assert_true(title_changed(&title, 100 * MS, 1));
    assert_text(title.text, "'c d'");
    assert_false(title_changed(&title, 300 * MS, 2)); /* nothing new */
    set_title(&child, "e f");
    assert_false(title_changed(&title, 700 * MS, 2)); /* it cannot have run */
    assert_false(title_changed(&title, 700 * MS - 1, 3));
    assert_true(title_changed(&title, 700 * MS, 3));
    set_title(&child, "g h");
    assert_false(title_changed(&title, 1499 * MS, 4));
    assert_true(title_changed(&title, 1500 * MS, METER_UNKNOWN));
    set_title(&child, "i j");
    assert_false(title_changed(&title, 2499 * MS, METER_UNKNOWN));
    assert_true(title_changed(&title, 2500 * MS, METER_UNKNOWN));
    assert_text(title.text, "'i j'");
    title_close(&title);
    end_titled(&child);
}

static void a_process_without_a_title_keeps_the_one_before(void **state)
{
    (void)state;
    struct titled child = start_titled();
    struct title title;
    set_title(&child, "a b");
    title_open(&title, child.pid, false, 0);
    set_title(&child, "");
    const struct text erased = procfs_command(child.pid);
    assert_int_equal(erased.size, 0);
    assert_false(title_changed(&title, 100 * MS, 1));
    assert_text(title.text, "'a b'");
    set_title(&child, "a b");
    assert_false(title_changed(&title, 300 * MS, 2));
    set_title(&child, "c d");
    kill(child.pid, SIGKILL);
    end_titled(&child);
    assert_false(title_changed(&title, 700 * MS, 3));
    assert_text(title.text, "'a b'");
    title_close(&title);
}

TEST_FILE(title)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_seen_when_it_is_due_and_the_process_ran),
        cmocka_unit_test(a_process_without_a_title_keeps_the_one_before),
    };
    return run_all(tests);
}
