/* SPDX-License-Identifier: MIT */
/* reads [SECONDS [BYTES]]: what the kernel takes to read 1 to MOST pieces of so many bytes of another process, in each
 * way that there is, beside the cheapest system call. The process changes them all the time. The ways take turns, and
 * medians are told. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "record/process/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST   4
#define APART  (64u << 10) /* pieces of a call lie in different pages */
#define REPEAT 50          /* between two looks at the clock */
#define TURNS  20000

struct reading {
    pid_t pid;
    int memory;
    size_t pieces;
    struct iovec there[MOST], here[MOST], joined;
};

static unsigned char *shared;
static unsigned char room[MOST * APART];
static size_t size = 512; /* of a piece */

/* ---- ways ---- */

static ssize_t ask_nothing(const struct reading *reading)
{
    (void)reading;
    return getppid();
}

static ssize_t read_apart(const struct reading *r)
{
    return process_vm_readv(r->pid, r->here, r->pieces, r->there, r->pieces, 0);
}

static ssize_t read_joined(const struct reading *r)
{
    return process_vm_readv(r->pid, &r->joined, 1, r->there, r->pieces, 0);
}

static ssize_t read_from_file(const struct reading *r)
{
    ssize_t got = 0;
    for (size_t i = 0; i < r->pieces && got >= 0; i++)
        got = pread(r->memory, r->here[i].iov_base, size, (off_t)(uintptr_t)r->there[i].iov_base);
    return got;
}

static const struct {
    const char *name;
    ssize_t (*go)(const struct reading *reading);
} ways[] = {
    { "getppid", ask_nothing },
    { "process_vm_readv", read_apart },
    { "process_vm_readv, into one place", read_joined },
    { "pread of /proc/PID/mem, each", read_from_file },
};

#define VECTOR 1 /* the way that all are compared with */

/* ---- measuring ---- */

static double times[MOST][countof(ways)][TURNS]; /* by pieces */

static pid_t start_writer(void)
{
    shared = mmap(NULL, MOST * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const pid_t child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned char *byte = shared;; byte = byte == shared + (MOST - 1) * APART ? shared : byte + APART)
        ++*byte;
}

static bool begin_reading(struct reading *reading, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    *reading = (struct reading){ .pid = pid, .memory = open(path, O_RDONLY | O_CLOEXEC) };
    for (size_t i = 0; i < MOST; i++) {
        reading->there[i] = (struct iovec){ shared + i * APART, size };
        reading->here[i] = (struct iovec){ room + i * size, size };
    }
    return reading->memory >= 0;
}

static double nanoseconds_of(size_t way, const struct reading *reading)
{
    const uint64_t begin_ns = clock_now_ns();
    for (size_t i = 0; i < REPEAT; i++)
        if (ways[way].go(reading) < 0)
            return -1;
    return (double)(clock_now_ns() - begin_ns) / REPEAT;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, size_t count)
{
    qsort(of, count, sizeof(*of), compare);
    return of[count / 2];
}

/* False when the memory can't be read. */
static bool take_turn(struct reading *reading, size_t turn)
{
    for (size_t i = 0; i < MOST; i++) {
        reading->pieces = i + 1;
        reading->joined = (struct iovec){ room, (i + 1) * size };
        for (size_t way = 0; way < countof(ways); way++)
            if ((times[i][way][turn] = nanoseconds_of(way, reading)) < 0)
                return false;
    }
    return true;
}

static void print(size_t turns)
{
    const double one = median(times[0][VECTOR], turns);
    printf("%-34s", "by process_vm_readv of one piece");
    for (size_t i = 0; i < MOST; i++)
        printf("%7zu %s", i + 1, i ? "pieces" : "piece ");
    for (size_t way = 0; way < countof(ways); way++) {
        printf("\n%-34s", ways[way].name);
        for (size_t i = 0; i < MOST; i++)
            printf("%14.2f", median(times[i][way], turns) / one);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 4;
    size = argc > 2 ? strtoul(argv[2], NULL, 10) : size;
    if (argc > 3 || !(seconds > 0 && seconds <= 3600) || size == 0 || size > APART) {
        fprintf(stderr, "usage: reads [SECONDS [BYTES]]\n");
        return EXIT_MISUSE;
    }
    struct reading reading;
    const pid_t child = start_writer();
    const uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);
    size_t turns = 0;
    bool good = child > 0 && begin_reading(&reading, child);
    for (; good && turns < TURNS && (turns == 0 || clock_now_ns() < end_ns); turns++)
        good = take_turn(&reading, turns);
    if (good)
        print(turns);
    else
        perror("reads");
    if (child > 0)
        kill(child, SIGKILL);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
