/* SPDX-License-Identifier: MIT */
/* The reference that live recordings are judged by: frozen PID COUNT OUTPUT.
 *
 * Takes COUNT samples of a process at random moments, each while the process is stopped, with the recorder's own code
 * and into a file of its own format. Nothing moves while it is read, so each stack is one that really was.
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_LEAST_NS 200000u  /* between two samples, so that the program goes on ... */
#define PAUSE_MOST_NS  3000000u /* ... for a time that nothing in it is in step with */
#define LOOK_AGAIN_NS  20000u   /* while it stops, which it needs our processor for */
#define STOP_MOST_NS   2000000000u

/* The letter of a thread's state; 0 when it is gone. The name before it may have any characters in it. */
static char thread_state(pid_t pid, const char *tid)
{
    char path[64];
    char line[512];
    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid, tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t size = read(fd, line, sizeof(line) - 1);
    close(fd);
    line[size > 0 ? size : 0] = '\0';
    const char *end = strrchr(line, ')');
    return end && end[1] == ' ' ? end[2] : 0;
}

/* Whether a thread does not run. One that is ending does not count: it runs no Python any more. */
static bool is_stopped(pid_t pid, const char *tid, const void *unused)
{
    (void)unused;
    const char state = thread_state(pid, tid);
    return state == 'T' || state == 'Z' || state == 'X' || state == 0;
}

static bool keep_on(pid_t pid, const char *tid, const void *processors)
{
    (void)pid;
    sched_setaffinity(atoi(tid), sizeof(cpu_set_t), processors);
    return true;
}

/* Asks about each thread of a process until the answer is no. */
static bool for_all(pid_t pid, bool (*ask)(pid_t, const char *, const void *), const void *with)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return false;
    bool yes = true;
    for (const struct dirent *task; yes && (task = readdir(tasks));)
        yes = task->d_name[0] == '.' || ask(pid, task->d_name, with);
    closedir(tasks);
    return yes;
}

static bool stop(pid_t pid, struct fault *why)
{
    if (kill(pid, SIGSTOP) != 0)
        return fault(why, "there is no process %d, or it is not ours to stop", (int)pid);
    const uint64_t give_up_ns = clock_now_ns() + STOP_MOST_NS;
    while (!for_all(pid, is_stopped, NULL)) {
        if (clock_now_ns() > give_up_ns)
            return fault(why, "process %d does not stop", (int)pid);
        clock_sleep_until(clock_now_ns() + LOOK_AGAIN_NS);
    }
    return true;
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
        const bool stopped = stop(pid, why);
        const enum sampler_state state = stopped ? sampler_tick(sampler, 0, why) : SAMPLER_STUCK;
        kill(pid, SIGCONT);
        if (state == SAMPLER_LOST)
            return fault(why, "process %d has ended", (int)pid);
        if (state != SAMPLER_GOING)
            return false;
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
        for_all(pid, keep_on, &one);
}

static bool begin(struct stream_writer *writer, struct sampler *sampler, struct fault *why)
{
    *sampler = (struct sampler){ .interval_ns = PAUSE_MOST_NS, .sink = stream_writer_sink(writer) };
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
    if (target_open(&target, pid, why) != TARGET_READY)
        return fault(why, "process %d can't be read", (int)pid);
    cpu_set_t processors;
    share_processor(pid, &processors);
    clock_be_punctual();
    stream_writer_open(&writer, fd, CODEC_ZSTD, 1);
    bool good = begin(&writer, &sampler, why);
    sampler_attach(&sampler, &target);
    good = good && take_samples(&sampler, pid, count, why);
    for_all(pid, keep_on, &processors);
    sampler_detach(&sampler);
    good = good && finish(&writer, &sampler, why);
    sampler_close(&sampler);
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
