/* SPDX-License-Identifier: MIT */
/* Has the recorder look at a program in each state that it can be interrupted in: frozen PID COUNT OUTPUT STEPS.
 *
 * The main thread goes on by single instructions of the processor, STEPS of them after each pause, and the recorder
 * takes a sample between any two: COUNT in all. The times of such a recording mean nothing. */
#include "formats/base/startup.h"
#include "formats/stream/stream_write.h"
#include "record/process/clock.h"
#include "record/watch/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_LEAST_NS 200000u  /* between two samples, so that the program goes on ... */
#define PAUSE_MOST_NS  3000000u /* ... for a time that nothing in it is in step with */
#define STEP_LEAST_NS  10000u   /* a step and its sample take longer */

static void pause_a_while(void)
{
    const uint64_t range_ns = PAUSE_MOST_NS - PAUSE_LEAST_NS;
    const uint64_t wake_ns = clock_now_ns() + PAUSE_LEAST_NS + (uint64_t)random() % range_ns;
    while (clock_now_ns() < wake_ns)
        clock_sleep_until(wake_ns);
}

static bool take_sample(struct sampler *sampler, struct fault *why)
{
    const enum sampler_state state = sampler_tick(sampler, sampler->watched[0], clock_now_ns(), 0, why);
    return state == SAMPLER_GOING || (state == SAMPLER_LOST && fault(why, "the process has ended"));
}

/* Waits until the thread that we trace has stopped. A signal that comes is lost: none does in a program of the oracle.
 */
static bool wait_for_stop(pid_t tid, struct fault *why)
{
    int status;
    const bool stopped = waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
    return stopped || fault(why, "thread %d has ended", (int)tid);
}

static bool step(struct sampler *sampler, pid_t tid, long steps, struct fault *why)
{
    for (long i = 0; i < steps; i++) {
        if (!take_sample(sampler, why))
            return false;
        ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL);
        if (!wait_for_stop(tid, why))
            return false;
    }
    return true;
}

static bool take_steps(struct sampler *sampler, pid_t tid, long count, long steps, struct fault *why)
{
    bool good = true;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return fault(why, "thread %d can't be traced: %s", (int)tid, strerror(errno));
    for (long i = 0; good && i < count; i += steps) {
        pause_a_while();
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        good = wait_for_stop(tid, why) && step(sampler, tid, steps, why);
        ptrace(PTRACE_CONT, tid, NULL, NULL);
    }
    return good; /* our end lets go of it */
}

static bool begin(struct stream_writer *writer, struct sampler *sampler, struct fault *why)
{
    const uint64_t interval_ns = STEP_LEAST_NS;
    *sampler = (struct sampler){ .options = { .interval_ns = interval_ns, .start_ns = clock_now_ns() } };
    sampler_open(sampler, stream_writer_sink(writer));
    const struct event event = { .kind = EVENT_RECORDING,
                                 .recording = { .pyreel_version = TEXT(PYREEL_VERSION),
                                                .mode = TEXT("wall"),
                                                .threads_option = TEXT("all"),
                                                .command = TEXT("frozen"),
                                                .start_unix_ns = clock_unix_ns(),
                                                .start_monotonic_ns = sampler->options.start_ns,
                                                .interval_ns = interval_ns,
                                                .time_unit_ns = 1000,
                                                .attached = 1 } };
    return stream_write(writer, &event, why);
}

static bool finish(struct stream_writer *writer, const struct sampler *sampler, struct fault *why)
{
    const struct event event = {
        .kind = EVENT_END,
        .end = { .reason = END_DURATION, .time_ns = clock_now_ns() - sampler->options.start_ns, .wait_status = -1 }
    };
    return stream_write(writer, &event, why);
}

static bool record(pid_t pid, long count, long steps, int fd, struct fault *why)
{
    struct target target;
    struct stream_writer writer;
    struct sampler sampler;
    if (target_open(&target, pid, why) != TARGET_READY)
        return fault(why, "process %d can't be read", (int)pid);
    clock_be_punctual();
    stream_writer_open(&writer, fd, CODEC_GROUPED);
    bool good = begin(&writer, &sampler, why);
    struct watched *watched = sampler_watch(&sampler, pid, NULL);
    watched->target = target;
    watched_attach(watched);
    if (good)
        good = take_steps(&sampler, pid, count, steps, why);
    watched_detach(watched, FATE_LEFT);
    good = good && finish(&writer, &sampler, why);
    sampler_close(&sampler);
    stream_writer_close(&writer);
    return good;
}

int main(int argc, char **argv)
{
    struct fault why = { 0 };
    startup(EXIT_FAILURE);
    const bool given = argc == 5;
    const pid_t pid = given ? atoi(argv[1]) : 0;
    const long count = given ? atol(argv[2]) : 0, steps = given ? atol(argv[4]) : 0;
    if (pid <= 0 || count <= 0 || steps <= 0) {
        fprintf(stderr, "usage: frozen PID COUNT OUTPUT STEPS\n");
        return EXIT_MISUSE;
    }
    srandom((unsigned)clock_now_ns());
    const int fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        fprintf(stderr, "frozen: cannot write %s\n", argv[3]);
        return EXIT_FAILURE;
    }
    const bool good = record(pid, count, steps, fd, &why);
    if (!good)
        fprintf(stderr, "frozen: %s\n", why.text);
    return close(fd) == 0 && good ? EXIT_SUCCESS : EXIT_FAILURE;
}
