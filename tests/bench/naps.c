/* SPDX-License-Identifier: MIT */
/* naps RATE SECONDS: wakes as often as a recorder, on time, and does nothing. What it costs is the machine's price of
 * waking, below which no recorder of this rate gets. */
#include "formats/base/startup.h"
#include "record/options.h"
#include "record/process/clock.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t interval_ns;
    if (argc != 3 || !options_parse_rate(argv[1], &interval_ns)) {
        fprintf(stderr, "usage: naps RATE SECONDS\n");
        return EXIT_MISUSE;
    }
    clock_be_punctual();
    const uint64_t begin_ns = clock_now_ns();
    const uint64_t end_ns = begin_ns + (uint64_t)(atof(argv[2]) * 1e9);
    uint64_t due_ns = begin_ns;
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < end_ns;) {
        while (due_ns <= now_ns)
            due_ns += interval_ns;
        clock_sleep_until(due_ns);
    }
    return EXIT_SUCCESS;
}
