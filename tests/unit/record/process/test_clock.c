/* SPDX-License-Identifier: MIT */
/* The true clock.c. A machine cannot be suspended for a test: a time namespace in which the clock of boot time is ahead
 * shows the same difference. */
#include "record/process/clock.h"

#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

#define S             1000000000ull
#define SUSPENDED     "7 5000 0\n" /* CLOCK_BOOTTIME, so many seconds ahead */
#define SUSPENDED_NS  (5000 * S)
#define NOT_PERMITTED 77
#define SLACK_NS      (S / 2) /* a wait for the processor between two readings */

/* In a process of its own, whose child has the other clock. Returns as main() does. */
static int look_in_namespace(uint64_t before_ns)
{
    const int offsets = unshare(CLONE_NEWTIME) == 0 ? open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC) : -1;
    if (offsets < 0 || write(offsets, SUSPENDED, sizeof(SUSPENDED) - 1) < 0)
        return NOT_PERMITTED;
    const pid_t child = fork();
    if (child == 0) {
        const uint64_t ahead_ns = clock_suspended_ns() - before_ns;
        _exit(ahead_ns > SUSPENDED_NS - SLACK_NS && ahead_ns < SUSPENDED_NS + SLACK_NS ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void the_time_of_a_suspension_is_known(void **state)
{
    (void)state;
    const uint64_t before_ns = clock_suspended_ns();
    int status;
    assert_true(clock_suspended_ns() < before_ns + SLACK_NS); /* it does not grow meanwhile */
    const pid_t child = fork();
    if (child == 0)
        _exit(look_in_namespace(before_ns));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_PERMITTED)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_FILE(clock)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_of_a_suspension_is_known),
    };
    return run_all(tests);
}
