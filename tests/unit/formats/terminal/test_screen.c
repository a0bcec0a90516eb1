/* SPDX-License-Identifier: MIT */
#include "formats/terminal/screen.h"

#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A terminal of so many columns, which nobody reads. */
static int open_terminal(unsigned short columns)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    const struct winsize size = { .ws_row = 24, .ws_col = columns };
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
    return terminal;
}

static int forget_environment(void **state)
{
    (void)state;
    static const char *const names[] = { "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "TERM" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
    return 0;
}

static void a_pipe_has_80_columns_and_no_colours(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    setenv("TERM", "xterm", 1);
    assert_int_equal(screen_of(ends[1]).columns, 80);
    assert_false(screen_of(ends[1]).colours);
    close(ends[0]);
    close(ends[1]);
}

static void a_terminal_says_its_size(void **state)
{
    (void)state;
    const int terminal = open_terminal(132), narrow = open_terminal(7), unknown = open_terminal(0);
    assert_int_equal(screen_of(terminal).columns, 132);
    assert_int_equal(screen_of(narrow).columns, SCREEN_COLUMNS_LEAST);
    assert_int_equal(screen_of(unknown).columns, 80);
    setenv("COLUMNS", "100", 1);
    assert_int_equal(screen_of(terminal).columns, 100);
    setenv("COLUMNS", "many", 1);
    assert_int_equal(screen_of(terminal).columns, 132);
    setenv("COLUMNS", "99999999999999999999", 1);
    assert_int_equal(screen_of(terminal).columns, SCREEN_COLUMNS_MOST);
    close(terminal);
    close(narrow);
    close(unknown);
}

static void colours_can_be_refused(void **state)
{
    (void)state;
    const int terminal = open_terminal(80);
    assert_false(screen_of(terminal).colours); /* no TERM: nobody knows what the terminal understands */
    setenv("TERM", "dumb", 1);
    assert_false(screen_of(terminal).colours);
    setenv("TERM", "xterm", 1);
    assert_true(screen_of(terminal).colours);
    setenv("NO_COLOR", "", 1);
    assert_true(screen_of(terminal).colours);
    setenv("NO_COLOR", "1", 1);
    assert_false(screen_of(terminal).colours);
    close(terminal);
}

static void the_locale_is_the_first_that_is_named(void **state)
{
    (void)state;
    assert_true(screen_of(-1).ascii);
    setenv("LANG", "de_DE.UTF-8", 1);
    assert_false(screen_of(-1).ascii);
    setenv("LC_CTYPE", "C", 1);
    assert_true(screen_of(-1).ascii);
    setenv("LC_ALL", "C.utf8", 1);
    assert_false(screen_of(-1).ascii);
    setenv("LC_ALL", "", 1);
    assert_true(screen_of(-1).ascii);
}

TEST_FILE(screen)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_pipe_has_80_columns_and_no_colours, forget_environment),
        cmocka_unit_test_setup(a_terminal_says_its_size, forget_environment),
        cmocka_unit_test_setup(colours_can_be_refused, forget_environment),
        cmocka_unit_test_setup(the_locale_is_the_first_that_is_named, forget_environment),
    };
    return run_all(tests);
}
