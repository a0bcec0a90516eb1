/* SPDX-License-Identifier: MIT */
/* visits PID: what a program loses to a thread that wakes on its processor, and leaves: the least that a sample of one
 * moment can take, by how often it is taken. Once the thread does nothing there; once it reads PIECES pieces of the
 * program's memory with one system call, and looks at none of them. Processor time of the thread for each visit; the
 * interrupt and the switches come besides.
 *
 * The rarer the visits, the dearer each of them: meanwhile the program has filled the caches of the processor with data
 * of its own. */
#include "formats/base/startup.h"
#include "record/process/clock.h"
#include "record/process/priority.h"
#include "record/process/procfs.h"
#include "record/process/remote.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define VISITS 600
#define NS     1000000000u
#define PAGE   4096
#define PIECES 9

/* As a recorder reads a thread of CPython: its state and its lock, the interpreter, the data stack, single frames. */
static const uint32_t sizes[PIECES] = { 24, 4, 304, 3072, 80, 80, 688, 24, 4 };

/* Pieces in different mappings of the program: of memory that it writes and that is no file's. */
static size_t find_pieces(pid_t pid, struct piece *pieces, unsigned char *into)
{
    char path[64], line[512];
    uint64_t found[64];
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    while (maps && count < sizeof(found) / sizeof(*found) && fgets(line, sizeof(line), maps)) {
        unsigned long long begin, end;
        char rights[8];
        if (sscanf(line, "%llx-%llx %7s", &begin, &end, rights) != 3 || rights[1] != 'w' || strchr(line, '/') ||
            end - begin < 2 * PAGE)
            continue;
        found[count++] = strstr(line, "[stack]") ? end - 2 * PAGE : begin + (end - begin) / 2 / PAGE * PAGE;
    }
    if (maps)
        fclose(maps);
    for (size_t i = 0; i < PIECES && count > 0; i++)
        pieces[i] = (struct piece){ found[i % count], sizes[i], into + i * PAGE };
    return count;
}

static uint64_t used_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * NS + (uint64_t)used.tv_nsec;
}

static void arm(int timer, uint64_t moment_ns)
{
    const struct itimerspec when = { .it_value = { (time_t)(moment_ns / NS), (long)(moment_ns % NS) } };
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* At moments drawn in intervals of that rate, by two timers in turn, each armed one moment ahead. Microseconds of
 * processor time for each visit. */
static double visit(struct remote *remote, const struct piece *pieces, size_t count, double rate_hz)
{
    const int timers[2] = { timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC),
                            timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };
    const uint64_t interval_ns = (uint64_t)(1e9 / rate_hz);
    uint64_t due_ns = clock_now_ns() + interval_ns;
    for (int i = 0; i < 2; i++)
        arm(timers[i], due_ns += interval_ns);
    const uint64_t began_ns = used_ns();
    for (int i = 0; i < VISITS; i++) {
        uint64_t expired;
        if (read(timers[i % 2], &expired, sizeof(expired)) < 0)
            exit(EXIT_FAILURE);
        if (count > 0)
            remote_read_pieces(remote, pieces, count, NULL);
        due_ns += interval_ns / 2 + (uint64_t)(drand48() * (double)interval_ns);
        arm(timers[i % 2], due_ns);
    }
    const double took_us = (double)(used_ns() - began_ns) / VISITS / 1e3;
    close(timers[0]);
    close(timers[1]);
    return took_us;
}

int main(int argc, char **argv)
{
    static const double rates_hz[] = { 100, 300, 1000, 3000 };
    static unsigned char into[PIECES * PAGE];
    struct piece pieces[PIECES];
    struct fault why = { 0 };
    struct remote remote;
    uint32_t processor;
    const pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
    if (pid <= 0) {
        fprintf(stderr, "usage: visits PID\n");
        return EXIT_MISUSE;
    }
    if (!remote_open(&remote, pid, &why) || !procfs_processor(pid, pid, &processor) ||
        !find_pieces(pid, pieces, into)) {
        fprintf(stderr, "visits: process %d cannot be read\n", (int)pid);
        return EXIT_FAILURE;
    }
    cpu_set_t here, before;
    const bool known = sched_getaffinity(pid, sizeof(before), &before) == 0;
    CPU_ZERO(&here);
    CPU_SET(processor, &here);
    sched_setaffinity(0, sizeof(here), &here);
    sched_setaffinity(pid, sizeof(here), &here);
    clock_be_punctual();
    priority_raise();
    printf("visits a second    does nothing    reads %d pieces    microseconds of each\n", PIECES);
    for (size_t i = 0; i < sizeof(rates_hz) / sizeof(*rates_hz); i++)
        printf("%15.0f %15.1f %17.1f\n", rates_hz[i], visit(&remote, NULL, 0, rates_hz[i]),
               visit(&remote, pieces, PIECES, rates_hz[i]));
    if (known)
        sched_setaffinity(pid, sizeof(before), &before);
    remote_close(&remote);
    return EXIT_SUCCESS;
}
