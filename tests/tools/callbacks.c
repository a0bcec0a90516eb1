/* SPDX-License-Identifier: MIT */
/* A library with a thread of C that calls back again and again, as those for sound and events do, and with threads that
 * compute for a call, as numeric libraries have them. */
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
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

#define COMPUTERS_MOST 64

struct computer {
    pthread_t thread;
    const char *name;
    double seconds; /* of CPU time: how much is wanted, and at the end how much it was */
};

static void *compute(void *self)
{
    struct computer *computer = self;
    prctl(PR_SET_NAME, computer->name);
    use(computer->seconds);
    computer->seconds = clock_s(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

#define EXPORT __attribute__((visibility("default")))

/* Calls `call` for `seconds` from a new thread, with CPU time of C between two calls. */
EXPORT int callbacks_start(struct caller *caller, void (*call)(void), double seconds, double between);
EXPORT int callbacks_join(struct caller *caller);

/* Starts threads of this name, waits until each has used so many seconds of CPU time, and returns what all used. */
EXPORT double compute_in_threads(const char *name, int count, double seconds);

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

double compute_in_threads(const char *name, int count, double seconds)
{
    struct computer computers[COMPUTERS_MOST];
    double used = 0;
    int started = 0;
    for (; started < count && started < COMPUTERS_MOST; started++) {
        struct computer *computer = &computers[started];
        *computer = (struct computer){ .name = name, .seconds = seconds };
        if (pthread_create(&computer->thread, NULL, compute, computer) != 0)
            break;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(computers[i].thread, NULL);
        used += computers[i].seconds;
    }
    return used;
}
