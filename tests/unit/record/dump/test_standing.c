/* SPDX-License-Identifier: MIT */
/* How processes stand, and where their files are: real children change what a dump relies on. */
#include "record/dump/standing.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

static void change_user(void)
{
    if (setuid(NOBODY) != 0)
        _exit(1);
}

static void change_user_for_files(void)
{
    setfsuid(NOBODY);
}

static void change_group(void)
{
    if (setgid(NOBODY) != 0)
        _exit(1);
}

static void change_root(void)
{
    if (chroot("/proc") != 0)
        _exit(1);
}

static void change_mounts(void)
{
    if (unshare(CLONE_NEWNS) != 0)
        _exit(1);
}

static void change_nothing(void)
{
}

/* A child that makes the change after it has got a byte, and tells that it is ready before and after. */
struct changing {
    pid_t pid;
    int go, ready;
};

static struct changing start(void (*change)(void))
{
    int go[2], ready[2];
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        char byte;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ready[1], "r", 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        change();
        if (write(ready[1], "r", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(go[0]);
    close(ready[1]);
    return (struct changing){ pid, go[1], ready[0] };
}

static bool wait_for(const struct changing *child)
{
    char byte;
    return read(child->ready, &byte, 1) == 1;
}

static void end(const struct changing *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    close(child->go);
    close(child->ready);
}

/* Whether the place of a child is the same before and after the change. Skips what the machine does not permit. */
static bool stays_the_same(void (*change)(void))
{
    const struct changing child = start(change);
    assert_true(wait_for(&child));
    struct place before = place_of(child.pid);
    assert_true(before.known && before.ours);
    assert_int_equal(before.user, geteuid());
    assert_int_equal(write(child.go, "g", 1), 1);
    const bool changed = wait_for(&child);
    struct place after = place_of(child.pid);
    const bool same = place_same(&before, &after);
    end(&child);
    place_free(&before);
    place_free(&after);
    if (!changed)
        skip();
    return same;
}

static void a_place_stays_the_same(void **state)
{
    (void)state;
    assert_true(stays_the_same(change_nothing));
}

static void a_process_may_change_its_place(void **state)
{
    static void (*const changes[])(void) = { change_user, change_user_for_files, change_group, change_root,
                                             change_mounts };
    (void)state;
    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < countof(changes); i++)
        assert_false(stays_the_same(changes[i]));
}

static void a_process_that_is_gone_has_no_place(void **state)
{
    (void)state;
    const struct changing child = start(change_nothing);
    assert_true(wait_for(&child));
    struct place before = place_of(child.pid);
    end(&child);
    struct place after = place_of(child.pid);
    assert_true(before.known);
    assert_false(after.known);
    assert_false(place_same(&before, &after));
    assert_false(place_same(&after, &after));
    assert_int_equal(standing_of(child.pid).state, 0);
    place_free(&before);
    place_free(&after);
}

/* The clock of /proc counts hundredths of a second, and the time since 1970 is exact to the second. */
static void when_a_process_began(void **state)
{
    (void)state;
    const struct changing child = start(change_nothing);
    assert_true(wait_for(&child));
    struct place place = place_of(child.pid);
    const time_t now = time(NULL);
    end(&child);
    assert_in_range(place.began_ns / 1000000000u, (uint64_t)now - 120, (uint64_t)now + 1);
    place_free(&place);
}

TEST_FILE(standing)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_stays_the_same),
        cmocka_unit_test(a_process_may_change_its_place),
        cmocka_unit_test(a_process_that_is_gone_has_no_place),
        cmocka_unit_test(when_a_process_began),
    };
    return run_all(tests);
}
