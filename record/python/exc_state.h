/* SPDX-License-Identifier: MIT */
/* Whether a thread is raising or handling an exception. CPython keeps what is handled in items, one for the thread and
 * one for each generator at work, the innermost first:
 *
 *     thread->exc_info ─► {value, previous} of a generator ─► ... ─► {value, previous} in the thread's state
 *
 * A value of NULL or None is none. What is being raised is in the thread's state, too. */
#ifndef PYREEL_RECORD_PYTHON_EXC_STATE_H
#define PYREEL_RECORD_PYTHON_EXC_STATE_H

#include "record/process/remote.h"
#include "record/python/layout.h"

#include <stdbool.h>

/* Tells None from exceptions. `= {0}` does not know it yet. */
struct handlers {
    uint64_t none;      /* its address; 0: not known */
    uint64_t exception; /* the last value that was none of None */
};

/* Of a thread, whose state's copy is `state`, at `thread` in the process. Generators' items are read now. */
bool exc_state_active(struct handlers *handlers, const struct layout *layout, struct remote *remote, uint64_t thread,
                      const unsigned char *state);

#endif
