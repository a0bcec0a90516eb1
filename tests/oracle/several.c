/* SPDX-License-Identifier: MIT */
/* Records several running Pythons into one file: several FILE SECONDS PID... Shows that a recording of several
 * processes is an array of struct watched; pyreel-record has one process so far. */
#include "formats/base/startup.h"
#include "formats/stream/stream_write.h"
#include "record/process/clock.h"
#include "record/watch/sampler.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INTERVAL_NS 2000000

static bool begin(struct stream_writer *writer, struct sampler *sampler, struct fault *why)
{
    *sampler = (struct sampler){ .options = { .interval_ns = INTERVAL_NS,
                                              .start_ns = clock_now_ns(),
                                              .with_status = true,
                                              .stands = true,
                                              .tree = true,
                                              .limit = 1 } };
    sampler_open(sampler, stream_writer_sink(writer));
    const struct event event = { .kind = EVENT_RECORDING,
                                 .recording = { .pyreel_version = TEXT(PYREEL_VERSION),
                                                .mode = TEXT("wall"),
                                                .threads_option = TEXT("all"),
                                                .command = TEXT("several"),
                                                .start_unix_ns = clock_unix_ns(),
                                                .start_monotonic_ns = sampler->options.start_ns,
                                                .interval_ns = INTERVAL_NS,
                                                .time_unit_ns = 1000,
                                                .attached = 1,
                                                .process_ticks = 1 } };
    return stream_write(writer, &event, why);
}

static bool attach(struct sampler *sampler, pid_t pid, struct fault *why)
{
    struct watched *watched = sampler_watch(sampler, pid, NULL);
    if (target_open(&watched->target, pid, why) != TARGET_READY)
        return fault(why, "process %d can't be read", (int)pid);
    sampler_attach(sampler, watched);
    watched_warm_up(watched);
    return true;
}

/* Ticks until the time is over, or until every process has ended. */
static bool take_ticks(struct sampler *sampler, uint64_t end_ns, struct fault *why)
{
    struct watched *next;
    while (clock_now_ns() < end_ns && (next = sampler_next(sampler))) {
        const uint64_t due_ns = next->budget.present.moment_ns;
        const bool appointed = sampler_appoint(next);
        clock_sleep_until(due_ns + (appointed ? STAND_LATE_NS : 0));
        const enum sampler_state state = sampler_turn(sampler, next, why);
        if (state == SAMPLER_STUCK)
            return false;
        if (state == SAMPLER_LOST)
            watched_detach(next, FATE_EXITED);
    }
    return true;
}

static bool record(int fd, uint64_t seconds, char **pids, struct fault *why)
{
    struct stream_writer writer;
    struct sampler sampler;
    stream_writer_open(&writer, fd, CODEC_GROUPED);
    bool good = begin(&writer, &sampler, why);
    for (; good && *pids; pids++)
        good = attach(&sampler, (pid_t)atoi(*pids), why);
    good = good && take_ticks(&sampler, clock_now_ns() + seconds * 1000000000, why);
    const struct watched_counters counters = sampler_counters(&sampler);
    const uint64_t ended_ns = clock_now_ns() - sampler.options.start_ns;
    printf("{\"samples\": %lu, \"exact\": %lu}\n", sampler.emitter.samples, counters.exact);
    sampler_close(&sampler);
    const struct event end = { .kind = EVENT_END,
                               .end = { .reason = END_DURATION, .time_ns = ended_ns, .wait_status = -1 } };
    good = good && stream_write(&writer, &end, why);
    stream_writer_close(&writer);
    return good;
}

int main(int argc, char **argv)
{
    struct fault why = { 0 };
    startup(EXIT_FAILURE);
    if (argc < 4) {
        fprintf(stderr, "usage: several FILE SECONDS PID...\n");
        return 2;
    }
    const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || !record(fd, (uint64_t)atoi(argv[2]), argv + 3, &why)) {
        fprintf(stderr, "several: %s\n", why.text[0] ? why.text : "cannot create the file");
        return EXIT_FAILURE;
    }
    return close(fd) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
