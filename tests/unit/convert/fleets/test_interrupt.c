/* SPDX-License-Identifier: MIT */
/* A signal ends the recording that is read, and no file that is opened later. */
#include "convert/fleets/interrupt.h"

#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* interrupt_ends() is called once in a program, so this is one test. */
static void a_signal_ends_the_recording_and_no_later_file(void **state)
{
    (void)state;
    char byte;
    const int recording = open("/dev/zero", O_RDONLY);
    interrupt_ends(recording);
    assert_int_equal(read(recording, &byte, 1), 1);
    raise(SIGINT);
    assert_int_equal(read(recording, &byte, 1), 1); /* a device may end as a pipe does */
    raise(SIGINT);
    assert_int_equal(read(recording, &byte, 1), 0);
    close(recording);

    FILE *output = tmpfile();
    assert_int_equal(fileno(output), recording);
    interrupt_over();
    raise(SIGTERM);
    assert_int_equal(write(recording, "x", 1), 1);
    fclose(output);
}

TEST_FILE(interrupt)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_signal_ends_the_recording_and_no_later_file) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
