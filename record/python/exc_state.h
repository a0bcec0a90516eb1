/* SPDX-License-Identifier: MIT */
/* Finds whether a thread is raising or handling an exception. CPython keeps handled exceptions in a chain of items, one
 * for the thread and one for each running generator, the innermost first:
 *
 *     thread->exc_info ─► {value, previous} of a generator ─► ... ─► {value, previous} in the thread's state
 *
 * A value of NULL or None means no exception. The exception that is being raised is in the thread's state, too. */
#ifndef PYREEL_RECORD_PYTHON_EXC_STATE_H
#define PYREEL_RECORD_PYTHON_EXC_STATE_H

#include "record/process/remote.h"
#include "record/python/layout.h"

#include <stdbool.h>

/* What is known of the values in items, to distinguish None from exceptions. `= {0}` knows nothing. */
struct handlers {
    uint64_t none;      /* address of None; 0: not known */
    uint64_t exception; /* address of the last value that was not None */
};

/* Whether a thread raises or handles an exception. `thread` is the address of its state, `state` a copy of the state.
 * Reads generators' items from the process now. */
bool exc_state_active(struct handlers *handlers, const struct layout *layout, struct remote *remote, uint64_t thread,
                      const unsigned char *state);

#endif
