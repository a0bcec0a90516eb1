/* SPDX-License-Identifier: MIT */
#include "tests/bench/bare.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define ROUND_PIECES 100 /* at least, between two looks at the clock */
#define USUAL        2   /* times the median: a slice that took longer was disturbed */
#define SLICES_LEAST 10

static struct bare bare;

/* ---- noting ---- */

ssize_t __real_pread64(int file, void *into, size_t size, off_t at);
ssize_t __wrap_pread64(int file, void *into, size_t size, off_t at);
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
                                const struct iovec *there, unsigned long there_count, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
                                const struct iovec *there, unsigned long there_count, unsigned long flags);

/* A file and one piece, or a process. */
static void note(int file, const struct iovec *there, size_t count)
{
    bare.there = alloc_grow(bare.there, &bare.there_room, bare.pieces + count, sizeof(*bare.there));
    memcpy(bare.there + bare.pieces, there, count * sizeof(*there));
    bare.pieces += count;
    bare.calls = alloc_grow(bare.calls, &bare.calls_room, bare.calls_count + 1, sizeof(*bare.calls));
    bare.calls[bare.calls_count++] = (struct bare_call){ file, count };
}

/* These two are what the recorder calls. Of files only the target's memory counts. */

ssize_t __wrap_pread64(int file, void *into, size_t size, off_t at)
{
    if (bare.noting && file == bare.memory)
        note(file, &(struct iovec){ (void *)(uintptr_t)at, size }, 1);
    return __real_pread64(file, into, size, at);
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
                                const struct iovec *there, unsigned long there_count, unsigned long flags)
{
    if (bare.noting)
        note(-1, there, there_count);
    return __real_process_vm_readv(pid, here, here_count, there, there_count, flags);
}

void bare_begin(const struct remote *remote)
{
    bare.pieces = bare.calls_count = 0;
    bare.pid = remote->pid;
    bare.memory = remote->memory;
    bare.noting = true;
}

void bare_end(void)
{
    bare.noting = false;
}

/* ---- doing the same again ---- */

static void make_room(void)
{
    size_t size = 0;
    for (size_t i = 0; i < bare.pieces; i++)
        size += bare.there[i].iov_len;
    bare.room = alloc_grow(bare.room, &bare.room_size, size, 1);
    bare.here = alloc_grow(bare.here, &bare.here_room, bare.pieces, sizeof(*bare.here));
    for (size_t i = 0, at = 0; i < bare.pieces; at += bare.there[i++].iov_len)
        bare.here[i] = (struct iovec){ bare.room + at, bare.there[i].iov_len };
}

/* What is read is not looked at: memory may be gone that was there for the tick. */
static ssize_t read_again(const struct bare_call *call, const struct iovec *here, const struct iovec *there)
{
    if (call->file >= 0)
        return __real_pread64(call->file, here->iov_base, here->iov_len, (off_t)(uintptr_t)there->iov_base);
    return __real_process_vm_readv(bare.pid, here, call->pieces, there, call->pieces, 0);
}

static void read_all_again(void)
{
    size_t at = 0;
    for (size_t i = 0; i < bare.calls_count; at += bare.calls[i++].pieces)
        read_again(&bare.calls[i], bare.here + at, bare.there + at);
}

void bare_measure(uint64_t duration_ns, struct slice *slice)
{
    if (bare.pieces == 0 || slice->ticks == 0)
        return;
    make_room();
    const size_t round = 1 + ROUND_PIECES / bare.pieces;
    const uint64_t begin_ns = clock_now_ns();
    uint64_t times = 0, now_ns = begin_ns;
    while (now_ns < begin_ns + duration_ns) {
        for (size_t i = 0; i < round; i++)
            read_all_again();
        times += round;
        now_ns = clock_now_ns();
    }
    slice->bare_us = (double)(now_ns - begin_ns) / 1e3 / (double)times;
    slice->bare_calls = bare.calls_count;
    bare.slices = alloc_grow(bare.slices, &bare.slices_room, bare.slices_count + 1, sizeof(*bare.slices));
    bare.slices[bare.slices_count++] = *slice;
}

/* ---- comparing ---- */

/* By the system call, as some ticks make many. */
static double tick_cost(const struct slice *slice)
{
    return (double)slice->ticks_ns / 1e3 / (double)slice->calls;
}

static double bare_cost(const struct slice *slice)
{
    return slice->bare_us / (double)slice->bare_calls;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double cost(const struct slice *slice))
{
    double *costs = alloc_zeroed(bare.slices_count + 1, sizeof(*costs));
    for (size_t i = 0; i < bare.slices_count; i++)
        costs[i] = cost(&bare.slices[i]);
    qsort(costs, bare.slices_count, sizeof(*costs), compare_numbers);
    const double median = costs[bare.slices_count / 2];
    free(costs);
    return median;
}

void bare_compare(double *tick_us, double *bare_us)
{
    const double most_of_tick = USUAL * median_of(tick_cost), most_of_bare = USUAL * median_of(bare_cost);
    struct slice sum = { 0 };
    size_t kept = 0;
    for (size_t i = 0; i < bare.slices_count; i++) {
        const struct slice *slice = &bare.slices[i];
        if (tick_cost(slice) > most_of_tick || bare_cost(slice) > most_of_bare)
            continue;
        kept++;
        sum.ticks += slice->ticks;
        sum.calls += slice->calls;
        sum.ticks_ns += slice->ticks_ns;
        sum.bare_calls += slice->bare_calls;
        sum.bare_us += slice->bare_us;
    }
    *tick_us = *bare_us = NAN;
    if (kept < SLICES_LEAST)
        return;
    *tick_us = (double)sum.ticks_ns / 1e3 / (double)sum.ticks;
    /* The noted ticks are too few to take from them how many system calls a tick makes. */
    *bare_us = sum.bare_us / (double)sum.bare_calls * (double)sum.calls / (double)sum.ticks;
}

void bare_close(void)
{
    free(bare.there);
    free(bare.here);
    free(bare.room);
    free(bare.calls);
    free(bare.slices);
}
