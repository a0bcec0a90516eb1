/* SPDX-License-Identifier: MIT */
/* A process that stands still where it is at a moment that we choose. It is kept on our own processor, and we go before
 * it there: whenever we wake, it does not run, and all its threads are asked to stop before any of them goes on. */
#ifndef PYREEL_TESTS_ORACLE_STANDSTILL_H
#define PYREEL_TESTS_ORACLE_STANDSTILL_H

#include "formats/base/fault.h"

#include <sched.h>
#include <stddef.h>

struct traced {
    pid_t tid;
    bool ours; /* it is traced by us, and stands still */
    int signal;
};

struct standstill {
    pid_t pid; /* to be set */
    cpu_set_t before;
    struct traced *threads;
    size_t threads_count, threads_room;
};

/* Brings the process to our processor, and gives back where it was. */
void standstill_open(struct standstill *standstill);
void standstill_close(struct standstill *standstill);

/* Stops all threads. standstill_end() lets go of them, also of some when not all could be stopped. */
bool standstill_begin(struct standstill *standstill, struct fault *why);
void standstill_end(struct standstill *standstill);

#endif
