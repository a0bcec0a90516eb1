/* SPDX-License-Identifier: MIT */
#include "record/native/catcher.h"

#include "record/process/clock.h"
#include "record/process/own_thread.h"
#include "record/process/priority.h"

#include <signal.h>
#include <time.h>

#define GLANCE_NS 20000u /* how often to look whether the copy is there */

static void *catcher_main(void *self)
{
    struct catcher *c = self;
    for (;;) {
        while (sem_wait(&c->asked) != 0)
            continue;
        if (atomic_load(&c->stop))
            return NULL;
        if (!atomic_load(&c->given_up) && capture_begin(&c->capture)) {
            capture_finish(&c->capture, &c->stop);
            atomic_fetch_add(&c->held_ns, c->capture.held_ns);
        }
        atomic_store(&c->busy, false);
    }
}

void catcher_open(struct catcher *c, const struct remote *remote, bool child, bool raise)
{
    c->raise = raise;
    if (atomic_load(&c->busy)) /* the thread still waits for one of the program before */
        return;
    capture_drop(&c->capture);
    capture_open(&c->capture, remote, child);
}

static bool catcher_start(struct catcher *c)
{
    sigset_t urgent; /* ends the wait for a stop, see capture_finish() */
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    if (c->started)
        return true;
    sem_init(&c->asked, 0, 0);
    c->started = own_thread_start(&c->thread, NULL, &urgent, catcher_main, c);
    if (c->started && c->raise) /* while it waits for a processor, the thread that it has stopped stands */
        priority_lend(c->thread);
    return c->started;
}

void catcher_close(struct catcher *c)
{
    static const struct timespec nap = { .tv_nsec = 200000 };
    if (c->started) {
        atomic_store(&c->stop, true);
        sem_post(&c->asked);
        while (pthread_tryjoin_np(c->thread, NULL) != 0) {
            if (atomic_load(&c->busy))
                pthread_kill(c->thread, SIGURG);
            nanosleep(&nap, NULL);
        }
        sem_destroy(&c->asked);
    }
    capture_close(&c->capture);
    c->started = false;
}

bool catcher_catch(struct catcher *c, const struct captured *wanted, const struct piece *again, size_t count,
                   uint64_t give_up_ns, uint64_t *taken_ns)
{
    struct capture *capture = &c->capture;
    *taken_ns = atomic_exchange(&c->held_ns, 0); /* of one that was late */
    if (catcher_is_busy(c) || !catcher_start(c)) {
        atomic_fetch_add(&capture->late, 1);
        return false;
    }
    capture_drop(capture);
    atomic_store(&c->given_up, false);
    capture->wanted = *wanted;
    capture->again = again;
    capture->again_count = count;
    atomic_store(&c->busy, true);
    sem_post(&c->asked);
    while (atomic_load(&c->busy) && clock_now_ns() < give_up_ns)
        clock_sleep_until(clock_now_ns() + GLANCE_NS);
    const bool late = atomic_load(&c->busy);
    if (late) {
        atomic_store(&c->given_up, true);
        atomic_fetch_add(&capture->late, 1);
        capture_drop(capture);
        return false;
    }
    *taken_ns += atomic_exchange(&c->held_ns, 0);
    return capture_take(capture, 0) != NULL;
}
