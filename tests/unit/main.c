/* SPDX-License-Identifier: MIT */
/* test_PROGRAM NAME [ARGUMENT...]: runs the tests of the file test_NAME.c. Without a name, it prints the names. */
#include "tests/fakes/testing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The linker knows where the section is, see TEST_FILE. */
extern const struct test_file __start_test_files[], __stop_test_files[];

/* Whoever starts the tests may ignore or block signals: nohup, the background of a shell. */
static void take_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, SIG_DFL);
}

int main(int argc, char **argv)
{
    take_signals();
    for (const struct test_file *file = __start_test_files; file < __stop_test_files; file++) {
        if (argc < 2)
            puts(file->name);
        else if (strcmp(file->name, argv[1]) == 0)
            return file->run(argc - 1, argv + 1);
    }
    if (argc >= 2)
        fprintf(stderr, "%s: no tests of the name %s\n", argv[0], argv[1]);
    return argc >= 2 ? 2 : 0;
}
