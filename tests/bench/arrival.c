/* SPDX-License-Identifier: MIT */
/* arrival [COUNT]: where a program is found by a thread that stands on its processor, by how that thread is woken.
 *
 * The program computes for 20 us, makes six short system calls, and so on; it keeps account of both. The share of
 * system calls in its account has to be the share of arrivals that find it there. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "record/exact/stand.h"
#include "record/process/clock.h"
#include "record/process/priority.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMPUTE_NS 20000
#define STEP_NS    1000000
#define BYTES      4096

enum part { COMPUTES, CALLS, PARTS };

/* What the program tells, in memory that we share. */
struct account {
    _Atomic int part;
    _Atomic uint64_t spent_ns[PARTS];
};

struct arrivals {
    struct account *account;
    uint64_t found[PARTS];
    _Atomic uint32_t asked, answered; /* of the thread that is woken from elsewhere */
    bool stop;
};

static void bind_to(int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static void be_the_program(struct account *account, int processor)
{
    static char bytes[BYTES];
    int ends[2];
    bind_to(processor);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(EXIT_FAILURE);
    for (uint64_t begin_ns = clock_now_ns(), end_ns;;) {
        account->part = COMPUTES;
        while ((end_ns = clock_now_ns()) - begin_ns < COMPUTE_NS) {
        }
        account->spent_ns[COMPUTES] += end_ns - begin_ns;
        account->part = CALLS;
        for (int i = 0; i < 3; i++)
            if (write(ends[0], bytes, BYTES) != BYTES || read(ends[1], bytes, BYTES) <= 0)
                exit(EXIT_FAILURE);
        begin_ns = clock_now_ns();
        account->spent_ns[CALLS] += begin_ns - end_ns;
    }
}

static bool look(void *data, uint32_t processor, uint64_t now_ns)
{
    struct arrivals *arrivals = data;
    (void)processor, (void)now_ns;
    arrivals->found[arrivals->account->part]++;
    return true;
}

static uint64_t moment(uint64_t start_ns, int i)
{
    return start_ns + (uint64_t)i * STEP_NS + (uint64_t)random() % STEP_NS;
}

/* As pyreel-record does. */
static void arrive_by_timer(struct arrivals *arrivals, int processor, int count)
{
    struct stand stand;
    stand_open(&stand, true);
    const uint64_t start_ns = clock_now_ns() + STEP_NS;
    struct moments moments = { moment(start_ns, 0), { moment(start_ns, 1), moment(start_ns, 2) } };
    for (int i = 0; i < count; i++) {
        if (!stand_appoint(&stand, &(struct posts){ .processors = { (uint32_t)processor }, .count = 1 }, &moments, look,
                           arrivals))
            exit(EXIT_FAILURE);
        clock_sleep_until(moments.due_ns + STAND_LATE_NS);
        stand_meet(&stand);
        moments = (struct moments){ moments.next_ns[0], { moments.next_ns[1], moment(start_ns, i + 3) } };
    }
    stand_close(&stand);
}

struct woken {
    struct arrivals *arrivals;
    int processor;
};

static void *be_woken(void *data)
{
    const struct woken *woken = data;
    struct arrivals *arrivals = woken->arrivals;
    bind_to(woken->processor);
    priority_raise();
    for (uint32_t seen = 0; !arrivals->stop;) {
        syscall(SYS_futex, &arrivals->asked, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        if (atomic_load(&arrivals->asked) == seen)
            continue;
        seen = atomic_load(&arrivals->asked);
        look(arrivals, (uint32_t)woken->processor, 0);
        atomic_store(&arrivals->answered, seen);
    }
    return NULL;
}

static void arrive_by_wake(struct arrivals *arrivals, int processor, int count)
{
    struct woken woken = { arrivals, processor };
    pthread_t thread;
    if (pthread_create(&thread, NULL, be_woken, &woken) != 0)
        exit(EXIT_FAILURE);
    const uint64_t start_ns = clock_now_ns() + STEP_NS;
    for (int i = 0; i < count; i++) {
        clock_sleep_until(moment(start_ns, i));
        const uint32_t asked = atomic_fetch_add(&arrivals->asked, 1) + 1;
        syscall(SYS_futex, &arrivals->asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        while (atomic_load(&arrivals->answered) != asked) {
        }
    }
    arrivals->stop = true;
    atomic_fetch_add(&arrivals->asked, 1);
    syscall(SYS_futex, &arrivals->asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(thread, NULL);
}

static void measure(const char *name, struct account *account, int processor, int count,
                    void (*arrive)(struct arrivals *arrivals, int processor, int count))
{
    struct arrivals arrivals = { .account = account };
    const uint64_t computed_ns = account->spent_ns[COMPUTES], called_ns = account->spent_ns[CALLS];
    arrive(&arrivals, processor, count);
    const double computes = (double)(account->spent_ns[COMPUTES] - computed_ns);
    const double calls = (double)(account->spent_ns[CALLS] - called_ns);
    const double found = (double)(arrivals.found[COMPUTES] + arrivals.found[CALLS]);
    printf("%-28s in system calls %5.1f %% of its time, found there %5.1f %% of %.0f times\n", name,
           100 * calls / (calls + computes), 100 * (double)arrivals.found[CALLS] / found, found);
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 4000, processor = 0;
    struct account *account = mmap(NULL, sizeof(*account), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count <= 0 || account == MAP_FAILED) {
        fprintf(stderr, "usage: arrival [COUNT]\n");
        return EXIT_MISUSE;
    }
    const pid_t program = fork();
    if (program == 0)
        be_the_program(account, processor);
    usleep(100000);
    bind_to(1);
    clock_be_punctual();
    priority_raise();
    measure("woken from another processor", account, processor, count, arrive_by_wake);
    cpu_set_t all;
    CPU_ZERO(&all);
    CPU_SET(0, &all);
    CPU_SET(1, &all);
    sched_setaffinity(0, sizeof(all), &all);
    measure("woken by a timer of its own", account, processor, count, arrive_by_timer);
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    return EXIT_SUCCESS;
}
