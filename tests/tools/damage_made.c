/* SPDX-License-Identifier: MIT */
#include "tests/tools/damage_made.h"

#include "formats/base/alloc.h"
#include "formats/stream/stream_write.h"
#include "tests/tools/damage_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS        1000000u
#define PROCESSES 3
#define TASKS     5
#define DEPTH     12

struct making {
    struct stream_writer writer;
    struct randomness random;
    uint64_t now_ns, stands_ns;
    uint32_t process; /* whose tick it is; 0: that of all */
    uint32_t strings, functions, frames, threads, tasks, first_thread;
    uint64_t ticks, samples;
};

static void tell(struct making *making, struct event event)
{
    if (!stream_write(&making->writer, &event, NULL))
        abort();
}

static uint32_t tell_string(struct making *making, const char *kind)
{
    char text[64];
    snprintf(text, sizeof(text), "%s_%u", kind, making->strings);
    tell(making, (struct event){ EVENT_STRING, .string = { ++making->strings, { text, strlen(text) } } });
    return making->strings;
}

/* Its function has been defined long ago or just now; so have its strings. */
static void tell_frame(struct making *making)
{
    struct randomness *random = &making->random;
    if (making->functions == 0 || below(random, 3) == 0) {
        const uint32_t name = tell_string(making, "function");
        const uint32_t file = below(random, 2) ? tell_string(making, "file") : (uint32_t)(1 + below(random, name));
        tell(making, (struct event){ EVENT_FUNCTION,
                                     .function = { ++making->functions, name, file, name % 90, KIND_PYTHON, 0, 0 } });
    }
    const uint32_t line = 1 + (uint32_t)below(random, 500);
    const struct frame frame = { .number = ++making->frames,
                                 .function = 1 + (uint32_t)below(random, making->functions),
                                 .line = line,
                                 .end_line = line + (uint32_t)below(random, 3),
                                 .column = (int32_t)below(random, 40) - 1,
                                 .end_column = 50,
                                 .instruction = 1 + (uint32_t)below(random, making->strings),
                                 .base = (uint32_t)below(random, making->strings + 1) };
    tell(making, (struct event){ EVENT_FRAME, .frame = frame });
}

static uint32_t process_of(uint32_t thread)
{
    return 1 + thread % PROCESSES;
}

static void tell_thread(struct making *making, uint32_t task)
{
    const uint32_t number = ++making->threads;
    char name[32];
    snprintf(name, sizeof(name), "thread %u", number);
    tell(making, (struct event){ EVENT_THREAD, .thread = { .number = number,
                                                           .process = process_of(number),
                                                           .tid = 1000 + number,
                                                           .main = number <= PROCESSES,
                                                           .interpreter = number % 2,
                                                           .start_ns = making->now_ns,
                                                           .name = { name, strlen(name) },
                                                           .task = task } });
}

static void tell_task(struct making *making)
{
    char name[32];
    snprintf(name, sizeof(name), "task %u", ++making->tasks);
    const uint32_t process = 1 + (uint32_t)below(&making->random, PROCESSES);
    tell(making,
         (struct event){ EVENT_TASK, .task = { making->tasks, process, { name, strlen(name) }, making->now_ns } });
}

/* Now and then something is new, or a thread ends, whose place another takes. */
static void tell_news(struct making *making)
{
    struct randomness *random = &making->random;
    if (below(random, 4) == 0)
        tell_frame(making);
    if (below(random, 60) == 0)
        tell_task(making);
    if (below(random, 90) == 0)
        tell(making, (struct event){ EVENT_MISSED, .missed = 1 + below(random, 5), .missed_process = making->process });
    if (below(random, 80) == 0)
        tell(making, (struct event){ EVENT_THREAD_NAME,
                                     .change = { making->threads, making->now_ns, TEXT("renamed"), false } });
    if (below(random, 80) == 0)
        tell(making,
             (struct event){ EVENT_PROCESS_TITLE, .change = { 1 + (uint32_t)below(random, PROCESSES), making->now_ns,
                                                              TEXT("'worker: another title'"), false } });
    if (below(random, 80) == 0)
        tell(making, (struct event){ EVENT_PROCESS_ATTRIBUTES,
                                     .change = { 1 + (uint32_t)below(random, PROCESSES), making->now_ns,
                                                 TEXT("service.name=worker\n"), false } });
    if (below(random, 10) == 0)
        tell(making, (struct event){ EVENT_MEASURE,
                                     .measure = { 1 + (uint32_t)below(random, PROCESSES), making->now_ns,
                                                  below(random, 1 << 30), making->now_ns / 2, making->now_ns / 50 } });
    if (below(random, 120) != 0)
        return;
    tell(making,
         (struct event){ EVENT_THREAD_END, .change = { making->first_thread++, making->now_ns, { 0 }, false } });
    tell_thread(making, below(random, 3) ? 0 : 1 + (uint32_t)below(random, making->tasks));
}

static void tell_sample(struct making *making, uint32_t thread)
{
    struct randomness *random = &making->random;
    uint32_t frames[DEPTH];
    struct sample sample = {
        .count = 1, .thread = thread, .time_ns = making->now_ns, .frames = frames, .stands_ns = making->stands_ns
    };
    const struct stream_writer *writer = &making->writer;
    const uint32_t place = thread < writer->rows_room ? writer->rows[thread] : 0;
    const struct stream_thread *row = place ? &writer->threads[place - 1] : NULL;
    const uint32_t depth = row ? row->depth : 0;
    sample.keep = below(random, 3) ? depth : (uint32_t)below(random, depth + 1);
    sample.pushed = sample.keep < depth || depth == 0 ? (uint32_t)below(random, DEPTH) : 0;
    for (uint32_t i = 0; i < sample.pushed; i++)
        frames[i] = 1 + (uint32_t)below(random, making->frames);
    if (thread % 4 != 3) {
        const uint32_t bits = below(random, 8) ? STATUS_CPU | STATUS_GIL : STATUS_GIL_WAIT;
        sample.status = STATUS_RECORDED | bits;
        sample.cpu_ns = making->ticks > 1 && bits & STATUS_CPU ? below(random, 12) * MS : 0;
    }
    sample.task = thread % 3 == 0 ? (uint32_t)below(random, making->tasks + 1) : 0;
    sample.callback_ns = below(random, 5) ? 0 : below(random, making->now_ns + 1);
    if (thread % 2)
        sample.span = (struct span_ids){ below(random, 2), UINT64_MAX - below(random, 2), below(random, 9) };
    tell(making, (struct event){ EVENT_SAMPLE, .sample = sample });
    making->samples++;
}

/* Most ticks have news of a few threads, some have none at all, in some a thread is absent or could not be read. */
static void tell_tick(struct making *making)
{
    struct randomness *random = &making->random;
    making->now_ns += making->process ? below(random, 7 * MS)
                                      : 10 * MS + (below(random, 5) ? 0 : below(random, 3 * MS));
    if (making->process)
        making->process = 1 + (uint32_t)below(random, PROCESSES);
    making->stands_ns = below(random, 5) ? making->stands_ns : (1 + below(random, 4)) * 10 * MS;
    making->ticks++;
    tell_news(making);
    for (uint32_t thread = making->first_thread; thread <= making->threads; thread++) {
        if (making->process && making->process != process_of(thread))
            continue;
        const uint64_t what = below(random, 60);
        if (what == 0)
            tell(making, (struct event){ EVENT_FAILED, .failed = { thread, FAILURE_CHANGED, making->now_ns, 0 } });
        else if (what > 2)
            tell_sample(making, thread);
    }
    tell(making, (struct event){ EVENT_TICK, .tick_ns = making->now_ns, .tick_process = making->process });
}

static void tell_beginning(struct making *making, uint32_t kind)
{
    tell(making, (struct event){ EVENT_RECORDING, .recording = { .pyreel_version = TEXT("0"),
                                                                 .mode = TEXT("wall"),
                                                                 .start_unix_ns = 1700000000000000000 + kind,
                                                                 .interval_ns = 10 * MS,
                                                                 .time_unit_ns = 100000,
                                                                 .process_ticks = making->process > 0 } });
    for (uint32_t i = 1; i <= PROCESSES; i++)
        tell(making, (struct event){ EVENT_PROCESS, .process = { .number = i,
                                                                 .pid = 70 + i + 100 * kind,
                                                                 .python_version = 0x030f02f0,
                                                                 .command = TEXT("python3 a.py"),
                                                                 .parent = i / 2 } });
    for (uint32_t i = 0; i < TASKS; i++)
        tell_task(making);
    for (uint32_t i = 0; i < 8; i++)
        tell_thread(making, 0);
    tell_frame(making);
}

struct bytes made_recording(uint32_t kind)
{
    struct making making = { .random = { kind + 1 }, .first_thread = 1, .process = kind == 2 };
    struct bytes file = { 0 };
    const int fd = memfd_create("made", MFD_CLOEXEC);
    stream_writer_open(&making.writer, fd, kind ? CODEC_PLAIN : CODEC_GROUPED);
    tell_beginning(&making, kind);
    for (uint32_t i = 0; i < (kind ? 1500 : 4000); i++)
        tell_tick(&making);
    /* The block is full with its last tick: the next one has no tick. */
    const uint64_t block = making.writer.block;
    while (making.writer.block == block)
        tell_tick(&making);
    tell(&making, (struct event){ EVENT_COUNTER, .counter = { TEXT("samples"), making.samples } });
    tell(&making, (struct event){ EVENT_END, .end = { END_TARGET, making.now_ns, 0, 0, 0, 0, 0 } });
    stream_writer_close(&making.writer);
    lseek(fd, 0, SEEK_SET);
    char part[65536];
    for (ssize_t got; (got = read(fd, part, sizeof(part))) > 0;)
        put_bytes(&file, part, (size_t)got);
    close(fd);
    return file;
}
