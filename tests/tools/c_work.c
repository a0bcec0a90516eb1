/* SPDX-License-Identifier: MIT */
/* C functions that count their own time: libwork.so for tests/e2e/programs/c_work.py. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

#define SEEN __attribute__((visibility("default")))
#define KEPT SEEN __attribute__((noinline))

SEEN extern uint64_t alpha_ticks, beta_ticks, gamma_ticks;
uint64_t alpha_ticks, beta_ticks, gamma_ticks;
static uint64_t alpha_least, beta_least, gamma_least; /* of one computation */

/* A clock that takes less than what is measured; its unit does not matter. */
static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/* Computes for so many rounds, each about a nanosecond, and counts the time. A computation that takes several times as
 * long as the shortest one lost its processor, which others had then: it counts as the shortest one. */
static inline uint64_t compute(uint64_t rounds, uint64_t *sum, uint64_t *least)
{
    const uint64_t begin = ticks();
    uint64_t state = rounds;
    for (uint64_t i = 0; i < rounds; i++) {
        state = state * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(state));
    }
    const uint64_t took = ticks() - begin;
    *least = *least == 0 || took < *least ? took : *least;
    *sum += took > 4 * *least ? *least : took;
    return state;
}

KEPT uint64_t alpha(uint64_t rounds);
KEPT uint64_t beta(uint64_t rounds);
KEPT uint64_t gamma_calls(uint64_t rounds, uint64_t (*back)(uint64_t));
KEPT void in_a_thread(double until);
KEPT int interrupted(int waits);

uint64_t alpha(uint64_t rounds)
{
    return compute(rounds, &alpha_ticks, &alpha_least) + 1;
}

/* Only symbol tables that linkers strip have these two, one by the name of a method of C++. */
static __attribute__((noinline)) uint64_t beta_inside(uint64_t rounds)
{
    return compute(rounds, &beta_ticks, &beta_least);
}

static __attribute__((noinline)) uint64_t beta_of_cpp(uint64_t rounds) __asm__("_ZN4work4Beta4callEm");

static __attribute__((noinline)) uint64_t beta_of_cpp(uint64_t rounds)
{
    return beta_inside(rounds) + 2;
}

uint64_t beta(uint64_t rounds)
{
    return beta_of_cpp(rounds) + 1;
}

/* Calls back in the middle. */
uint64_t gamma_calls(uint64_t rounds, uint64_t (*back)(uint64_t))
{
    const uint64_t before = compute(rounds, &gamma_ticks, &gamma_least), called = back(rounds);
    return compute(rounds, &gamma_ticks, &gamma_least) + before + called;
}

static void *spin(void *until)
{
    struct timespec now;
    do {
        beta_inside(20000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)now.tv_sec < *(double *)until);
    return NULL;
}

/* Computes in a thread of its own until a moment (CLOCK_MONOTONIC, in seconds), and waits for it. */
void in_a_thread(double until)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, spin, &until) == 0)
        pthread_join(thread, NULL);
}

/* Waits so often for a millisecond. Returns how many of the waits a signal or a tracer interrupted. */
int interrupted(int waits)
{
    struct epoll_event event;
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    int count = 0;
    for (int i = 0; i < waits; i++)
        count += epoll_wait(poll, &event, 1, 1) < 0 && errno == EINTR;
    return count;
}
