/* SPDX-License-Identifier: MIT */
/* A flight recorder writes because of processes that were killed, not because of those that somebody asked to end. */
#include "record/file/deaths.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <signal.h>
#include <string.h>

#define S    UINT64_C(1000000000)
#define SPAN (30 * S)

static void a_signal_that_asks_for_the_end_is_none(void **state)
{
    (void)state;
    static const struct {
        int wait_status;
        bool is_one;
    } rows[] = {
        { SIGSEGV, true },
        { SIGSEGV | 0x80, true }, /* with a core file */
        { SIGABRT, true },
        { SIGBUS, true },
        { SIGKILL, true },
        { SIGXCPU, true },
        { SIGQUIT, true },
        { SIGINT, false },
        { SIGTERM, false },
        { SIGHUP, false },
        { 0, false },
        { 1 << 8, false },
        { (128 + SIGSEGV) << 8, false }, /* a status, such as a shell gives */
        { 0x7F | SIGSTOP << 8, false },
        { -1, false },
    };
    for (size_t i = 0; i < countof(rows); i++)
        if (deaths_is_one(rows[i].wait_status) != rows[i].is_one)
            fail_msg("%#x", (unsigned)rows[i].wait_status);
}

/* Checks that deaths are due from a moment on, and not before. */
static void due_at(const struct deaths *deaths, uint64_t due_ns)
{
    assert_true(deaths_are_due(deaths, due_ns));
    assert_false(deaths_are_due(deaths, due_ns - 1));
}

static void deaths_that_come_together_are_one_file(void **state)
{
    (void)state;
    struct deaths deaths = { 0 };
    char room[DEATHS_TEXT_ROOM];
    assert_string_equal(deaths_text(room, &deaths), "");
    deaths_note(&deaths, 4241, SIGTERM, 100 * S, SPAN);
    deaths_note(&deaths, 4242, -1, 100 * S, SPAN);
    assert_false(deaths_are_due(&deaths, UINT64_MAX));
    deaths_note(&deaths, 4243, SIGSEGV | 0x80, 100 * S, SPAN);
    assert_string_equal(deaths_text(room, &deaths), "process 4243 was killed by SIGSEGV");
    deaths_note(&deaths, 4244, SIGKILL, 100 * S + S / 4, SPAN);
    assert_string_equal(deaths_text(room, &deaths), "2 processes were killed, first 4243 by SIGSEGV");
    due_at(&deaths, 100 * S + DEATHS_WAIT_NS);
}

static void later_deaths_wait_for_the_time_of_the_flight_recorder(void **state)
{
    (void)state;
    struct deaths deaths = { 0 };
    deaths_note(&deaths, 4243, SIGSEGV, 100 * S, SPAN);
    deaths.written_ns = 101 * S;
    deaths_forget(&deaths);
    assert_false(deaths_are_due(&deaths, UINT64_MAX));
    deaths_note(&deaths, 4244, SIGSEGV, 103 * S, SPAN);
    due_at(&deaths, 131 * S);
    deaths_note(&deaths, 4245, SIGSEGV, 110 * S, SPAN);
    due_at(&deaths, 131 * S);
    deaths.written_ns = 131 * S;
    deaths_forget(&deaths);
    deaths_note(&deaths, 4246, SIGSEGV, 200 * S, SPAN);
    due_at(&deaths, 200 * S + DEATHS_WAIT_NS);
    assert_int_equal(deaths.count, 1);
    assert_int_equal(deaths.pid, 4246);
}

TEST_FILE(deaths)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_that_asks_for_the_end_is_none),
        cmocka_unit_test(deaths_that_come_together_are_one_file),
        cmocka_unit_test(later_deaths_wait_for_the_time_of_the_flight_recorder),
    };
    return run_all(tests);
}
