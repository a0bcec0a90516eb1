/* SPDX-License-Identifier: MIT */
/* The reference that live recordings are judged by: frozen PID COUNT OUTPUT.
 *
 * Takes COUNT samples of a process at random moments, as `pyreel-record --blocking` does: each while the process is
 * stopped, so that nothing moves while it is read and each stack is one that really was. The recorder itself looks at
 * fixed times, from wherever it runs, which is not good enough for a reference.
 *
 * The process is kept on our own processor meanwhile. There the timer that wakes us interrupts it wherever it is; from
 * another processor a signal takes microseconds to arrive, and system calls, which look for one, would be caught far
 * more often than their time is worth. */
#include "formats/start.h"
#include "formats/stream_write.h"
#include "record/clock.h"
#include "record/sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_LEAST_NS 200000u  /* between two samples, so that the program goes on ... */
#define PAUSE_MOST_NS  3000000u /* ... for a time that nothing in it is in step with */
#define STOP_MOST_NS   2000000000u

static void keep_on(pid_t pid, const cpu_set_t *processors)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (const struct dirent *task; tasks && (task = readdir(tasks));)
        if (task->d_name[0] != '.')
            sched_setaffinity(atoi(task->d_name), sizeof(*processors), processors);
    if (tasks)
        closedir(tasks);
}

static void pause_a_while(void)
{
    const uint64_t range_ns = PAUSE_MOST_NS - PAUSE_LEAST_NS;
    const uint64_t wake_ns = clock_now_ns() + PAUSE_LEAST_NS + (uint64_t)random() % range_ns;
    while (clock_now_ns() < wake_ns)
        clock_sleep_until(wake_ns);
}

static bool take_samples(struct sampler *sampler, pid_t pid, long count, struct fault *why)
{
    for (long i = 0; i < count; i++) {
        pause_a_while();
        const enum sampler_state state = sampler_tick(sampler, 0, why);
        if (state == SAMPLER_LOST)
            return fault(why, "process %d has ended", (int)pid);
        if (state != SAMPLER_GOING)
            return false;
        if (sampler->freeze->partial_count > 0)
            return fault(why, "process %d does not stop", (int)pid);
    }
    return true;
}

/* Brings the process to the processor that we are on, and gives back where it was. */
static void share_processor(pid_t pid, cpu_set_t *before)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_getaffinity(pid, sizeof(*before), before);
    sched_setaffinity(0, sizeof(one), &one);
    for (int i = 0; i < 10; i++) /* a thread may have been started meanwhile */
        keep_on(pid, &one);
}

static bool begin(struct stream_writer *writer, struct sampler *sampler, struct freeze *freeze, struct fault *why)
{
    *sampler = (struct sampler){ .interval_ns = PAUSE_MOST_NS, .freeze = freeze, .sink = stream_writer_sink(writer) };
    sampler->start_ns = clock_now_ns();
    const struct event event = { .kind = EVENT_RECORDING,
                                 .recording = { .pyreel_version = TEXT(PYREEL_VERSION),
                                                .mode = TEXT("wall"),
                                                .threads_option = TEXT("all"),
                                                .command = TEXT("frozen"),
                                                .start_unix_ns = clock_unix_ns(),
                                                .start_monotonic_ns = sampler->start_ns,
                                                .interval_ns = PAUSE_MOST_NS,
                                                .time_unit_ns = 1000,
                                                .attached = 1 } };
    return stream_write(writer, &event, why);
}

static bool finish(struct stream_writer *writer, const struct sampler *sampler, struct fault *why)
{
    const struct event event = {
        .kind = EVENT_END,
        .end = { .reason = END_DURATION, .time_ns = clock_now_ns() - sampler->start_ns, .wait_status = -1 }
    };
    return stream_write(writer, &event, why);
}

static bool record(pid_t pid, long count, int fd, struct fault *why)
{
    struct target target;
    struct stream_writer writer;
    struct sampler sampler;
    struct freeze freeze = { .patience_ns = STOP_MOST_NS };
    if (target_open(&target, pid, why) != TARGET_READY)
        return fault(why, "process %d can't be read", (int)pid);
    if (!freeze_open(&freeze, pid, why)) {
        target_close(&target);
        return false;
    }
    cpu_set_t processors;
    share_processor(pid, &processors);
    clock_be_punctual();
    stream_writer_open(&writer, fd, CODEC_ZSTD, 1);
    bool good = begin(&writer, &sampler, &freeze, why);
    sampler_attach(&sampler, &target);
    good = good && take_samples(&sampler, pid, count, why);
    keep_on(pid, &processors);
    sampler_detach(&sampler);
    good = good && finish(&writer, &sampler, why);
    sampler_close(&sampler);
    freeze_close(&freeze);
    stream_writer_close(&writer);
    return good;
}

int main(int argc, char **argv)
{
    struct fault why = { 0 };
    program_start(EXIT_FAILURE);
    const pid_t pid = argc == 4 ? atoi(argv[1]) : 0;
    const long count = argc == 4 ? atol(argv[2]) : 0;
    if (pid <= 0 || count <= 0) {
        fprintf(stderr, "usage: frozen PID COUNT OUTPUT\n");
        return EXIT_MISUSE;
    }
    srandom((unsigned)clock_now_ns());
    const int fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        fprintf(stderr, "frozen: cannot write %s\n", argv[3]);
        return EXIT_FAILURE;
    }
    const bool good = record(pid, count, fd, &why);
    if (!good)
        fprintf(stderr, "frozen: %s\n", why.text);
    return close(fd) == 0 && good ? EXIT_SUCCESS : EXIT_FAILURE;
}
