/* SPDX-License-Identifier: MIT */
/* A library that lets a program begin late (LD_PRELOAD): before main(), it uses LATE_SECONDS of CPU time. */
#include <stdlib.h>
#include <time.h>

__attribute__((constructor)) static void use(void)
{
    const char *seconds = getenv("LATE_SECONDS");
    const double end = seconds ? atof(seconds) : 0;
    struct timespec used;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while ((double)used.tv_sec + (double)used.tv_nsec / 1e9 < end);
}
