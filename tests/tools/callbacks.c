/* SPDX-License-Identifier: MIT */
/* A library with a thread of C that calls back again and again, as those for sound and events do. */
#include <pthread.h>
#include <time.h>

struct caller {
    pthread_t thread;
    void (*call)(void);
    double until, between;
};

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void use(double seconds)
{
    const double end = clock_s(CLOCK_THREAD_CPUTIME_ID) + seconds;
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

static void *call_again(void *self)
{
    const struct caller *caller = self;
    while (clock_s(CLOCK_MONOTONIC) < caller->until) {
        caller->call();
        use(caller->between);
    }
    return NULL;
}

#define EXPORT __attribute__((visibility("default")))

/* Calls `call` for `seconds` from a new thread, with CPU time of C between two calls. */
EXPORT int callbacks_start(struct caller *caller, void (*call)(void), double seconds, double between);
EXPORT int callbacks_join(struct caller *caller);

int callbacks_start(struct caller *caller, void (*call)(void), double seconds, double between)
{
    caller->call = call;
    caller->until = clock_s(CLOCK_MONOTONIC) + seconds;
    caller->between = between;
    return pthread_create(&caller->thread, NULL, call_again, caller);
}

int callbacks_join(struct caller *caller)
{
    return pthread_join(caller->thread, NULL);
}
