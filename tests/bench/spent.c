/* SPDX-License-Identifier: MIT */
/* spent COMMAND [ARG...]: runs a command and prints, as its last line, the seconds that it took by the clock, those of
 * processor time, and the KiB of memory that it used at most. A large program that starts another one gets its own
 * memory told as the other's. */
#include "formats/base/startup.h"
#include "record/process/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    if (argc < 2) {
        fprintf(stderr, "usage: spent COMMAND [ARG...]\n");
        return EXIT_MISUSE;
    }
    const uint64_t began_ns = clock_now_ns();
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        perror("spent");
        return EXIT_FAILURE;
    }
    printf("%.6f %.6f %ld\n", (double)(clock_now_ns() - began_ns) / 1e9,
           seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
