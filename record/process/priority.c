/* SPDX-License-Identifier: MIT */
#include "record/process/priority.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WATCHDOG_MS  500
#define THREADS_MOST 1100   /* threads of the recorder that may have real time: one for each processor, and some more */
#define SLICE_NS     100000 /* the shortest that Linux takes */

/* struct sched_attr of linux/sched/types.h, in its first version. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static pid_t raised[THREADS_MOST];
static atomic_int raised_count;

/* SIGXCPU: a thread of the recorder ran for too long. The signal does not say which, so all give real time back. */
static void give_back(int number)
{
    (void)number;
    const struct sched_param none = { 0 };
    const int count = atomic_load(&raised_count);
    for (int i = 0; i < count && i < THREADS_MOST; i++)
        sched_setscheduler(raised[i], SCHED_OTHER, &none);
}

static void start_watchdog(void)
{
    struct sigaction action = { .sa_handler = give_back, .sa_flags = SA_RESTART };
    struct rlimit limit;
    sigemptyset(&action.sa_mask);
    sigaction(SIGXCPU, &action, NULL);
    if (getrlimit(RLIMIT_RTTIME, &limit) != 0)
        return;
    limit.rlim_cur = WATCHDOG_MS * 1000;
    if (limit.rlim_max > limit.rlim_cur)
        setrlimit(RLIMIT_RTTIME, &limit);
}

static bool take_real_time(void)
{
    const struct sched_param first = { .sched_priority = 1 };
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
        return false;
    const int index = atomic_fetch_add(&raised_count, 1);
    if (index < THREADS_MOST)
        raised[index] = (pid_t)syscall(SYS_gettid);
    if (index == 0)
        start_watchdog();
    return true;
}

static bool take_slice(void)
{
    const struct attributes wanted = { .size = sizeof(wanted),
                                       .nice = getpriority(PRIO_PROCESS, 0),
                                       .runtime_ns = SLICE_NS };
    return syscall(SYS_sched_setattr, 0, &wanted, 0) == 0;
}

enum priority priority_raise(void)
{
    if (take_real_time())
        return PRIORITY_REAL_TIME;
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -20) == 0)
        return PRIORITY_NICE;
    return take_slice() ? PRIORITY_SLICE : PRIORITY_OWN;
}

void priority_lend(pthread_t thread)
{
    const struct sched_param first = { .sched_priority = 1 };
    if (sched_getscheduler(0) == (SCHED_FIFO | SCHED_RESET_ON_FORK))
        pthread_setschedparam(thread, SCHED_FIFO, &first);
}

const char *priority_text(enum priority priority)
{
    static const char *const texts[] = { "unchanged", "short time slices", "nice -20", "real-time" };
    return texts[priority];
}
