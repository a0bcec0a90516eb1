/* SPDX-License-Identifier: MIT */
#include "record/native/catcher.h"

#include "record/process/clock.h"
#include "record/process/own_thread.h"

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
        if (capture_begin(&c->capture))
            capture_finish(&c->capture, &c->stop);
        atomic_store(&c->busy, false);
    }
}

void catcher_open(struct catcher *c, const struct remote *remote, bool child)
{
    if (!atomic_load(&c->busy)) /* else the thread still waits for one of the program before */
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
    if (atomic_load(&c->busy) || !catcher_start(c)) {
        atomic_fetch_add(&capture->late, 1);
        return false;
    }
    capture_drop(capture);
    capture->wanted = *wanted;
    capture->again = again;
    capture->again_count = count;
    atomic_store(&c->busy, true);
    sem_post(&c->asked);
    while (atomic_load(&c->busy) && clock_now_ns() < give_up_ns)
        clock_sleep_until(clock_now_ns() + GLANCE_NS);
    const bool late = atomic_load(&c->busy);
    if (late) {
        atomic_fetch_add(&capture->late, 1);
        capture_drop(capture);
        return false;
    }
    *taken_ns += capture->held_ns;
    return capture_take(capture, 0) != NULL;
}
