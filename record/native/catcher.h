/* SPDX-License-Identifier: MIT */
/* Captures threads that no post stands on: those that run C code while another thread has the interpreter's lock, or
 * that are detached in a build without it. The stop comes from another processor, some microseconds after the look. So
 * nothing proves that the thread still has the Python stack of the look; while it is stopped, its Python stack is read
 * again, and the copy counts only if each frame stands where it stood. A thread of the recorder does this, because
 * only the thread that asked for a stop may end it, and nobody knows when the stop comes. */
#ifndef PYREEL_RECORD_NATIVE_CATCHER_H
#define PYREEL_RECORD_NATIVE_CATCHER_H

#include "record/native/capture.h"

#include <pthread.h>
#include <semaphore.h>

/* `= {0}` is closed. */
struct catcher {
    struct capture capture;
    pthread_t thread;
    bool started;
    sem_t asked;
    atomic_bool busy;     /* the thread has a capture to make */
    atomic_bool given_up; /* the caller needs that capture no more */
    atomic_bool stop;
    bool raise;               /* the thread gets the caller's priority */
    _Atomic uint64_t held_ns; /* for how long threads stood that nobody has counted yet */
};

/* Whether it still has a capture to make, which came too late. */
static inline bool catcher_is_busy(const struct catcher *catcher)
{
    return atomic_load(&catcher->busy);
}

/* Opens a process, which is a child of the recorder or not. `raise`: the thread gets real time, if the caller has it.
 * May be called again for another program of the process. */
void catcher_open(struct catcher *catcher, const struct remote *remote, bool child, bool raise);
/* Ends the thread, and waits for it. */
void catcher_close(struct catcher *catcher);

/* Captures the thread of `wanted`, and waits for it until a moment (monotonic). With the copy, reads the pieces
 * `again`, of which the caller compares the bytes. True: it is in catcher->capture until the next call. Sets
 * *taken_ns to the time for which threads stood that was not told yet. */
bool catcher_catch(struct catcher *catcher, const struct captured *wanted, const struct piece *again, size_t count,
                   uint64_t give_up_ns, uint64_t *taken_ns);

#endif
