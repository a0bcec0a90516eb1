/* SPDX-License-Identifier: MIT */
/* A profile is the same, byte for byte, whether the recording is read in lulls or sample by sample. The recordings
 * are made of dice: threads that sleep, run, hold the lock, wait for it, collect garbage, and run tasks of an event
 * loop. */
#include "convert/filters/cpu_owner.h"
#include "formats/gecko/gecko.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <unistd.h>

#define THREADS 3
#define TICKS   400
#define ROLLS   20 /* recordings */

static const struct event beginning[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 10 * MS, .time_unit_ns = MS / 5 } },
    PROCESS(1, 4242, "/srv"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "second"),
    THREAD(3, 1, 4244, "third"),
    TASK(1, 1, "fetch"),
    TASK(2, 1, "store"),
    STRING(1, "BaseEventLoop._run_once"),
    STRING(2, "/usr/lib/python3.15/asyncio/base_events.py"),
    STRING(3, "Handle._run"),
    STRING(4, "/usr/lib/python3.15/asyncio/events.py"),
    STRING(5, "work"),
    STRING(6, "/srv/app.py"),
    STRING(7, "<GC>"),
    FUNCTION(1, 1, 2, 1),
    FUNCTION(2, 3, 4, 1),
    FUNCTION(3, 5, 6, 1),
    SYNTHETIC(4, 7, KIND_GC),
    FRAME(1, 1, 2),
    FRAME(2, 2, 2),
    FRAME(3, 3, 2),
    FRAME(4, 4, 0),
    FRAME(5, 3, 3),
};

static const struct stack_row {
    uint32_t depth, frames[4], task;
} stacks[] = {
    { 1, { 3 }, 0 }, { 2, { 3, 5 }, 0 },    { 2, { 3, 4 }, 0 },    { 0, { 0 }, 0 },
    { 1, { 1 }, 0 }, { 3, { 1, 2, 3 }, 1 }, { 3, { 1, 2, 5 }, 2 }, { 4, { 1, 2, 3, 4 }, 1 },
};

static const uint32_t statuses[] = {
    STATUS_RECORDED,
    STATUS_RECORDED | STATUS_CPU,
    STATUS_RECORDED | STATUS_CPU | STATUS_GIL,
    STATUS_RECORDED | STATUS_GIL_WAIT,
    STATUS_RECORDED | STATUS_CPU | STATUS_EXCEPTION,
    STATUS_RECORDED | STATUS_CPU_UNKNOWN,
};

static uint64_t dice;

static uint32_t roll(uint32_t below)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((dice >> 32) * below >> 32);
}

/* Makes the third thread an entry of the second thread, in another interpreter. */
static void join_threads(struct event *event)
{
    if (event->kind != EVENT_THREAD || event->thread.number != 3)
        return;
    event->thread.tid = 4243;
    event->thread.interpreter = 1;
}

/* Nothing changes in most ticks. */
static struct bytes make_stream(bool interpreters)
{
    struct event *story = alloc_zeroed(countof(beginning) + (THREADS + 2) * TICKS, sizeof(*story));
    const struct stack_row *now[THREADS + 1];
    uint32_t status[THREADS + 1];
    uint64_t last_ns[THREADS + 1] = { 0 };
    size_t count = 0;
    for (; count < countof(beginning); count++) {
        story[count] = beginning[count];
        if (interpreters)
            join_threads(&story[count]);
    }
    for (uint32_t tick = 1; tick <= TICKS; tick++) {
        const uint64_t ns = (uint64_t)tick * 10 * MS + roll(20) * (uint64_t)MS / 5;
        for (uint32_t thread = 1; thread <= THREADS; thread++) {
            const bool moves = tick == 1 || roll(20) == 0;
            if (moves) {
                now[thread] = &stacks[roll(countof(stacks))];
                status[thread] = statuses[roll(countof(statuses))];
            } else if (roll(100) == 0) {
                continue; /* the thread is absent */
            }
            const bool runs = status[thread] & STATUS_CPU;
            const struct sample sample = { .thread = thread,
                                           .keep = moves ? 0 : now[thread]->depth,
                                           .pushed = moves ? now[thread]->depth : 0,
                                           .frames = now[thread]->frames,
                                           .time_ns = ns,
                                           .status = status[thread],
                                           .cpu_ns = runs       ? ns - last_ns[thread]
                                                     : roll(50) ? 0
                                                                : 15 * MS,
                                           .task = now[thread]->task };
            story[count++] = (struct event){ EVENT_SAMPLE, .sample = sample };
            last_ns[thread] = ns;
        }
        story[count++] = (struct event)TICK(ns);
        if (roll(40) == 0)
            story[count++] = (struct event)MISSED(1 + roll(20));
    }
    const struct bytes stream = stream_of(story, count, CODEC_PLAIN);
    free(story);
    return stream;
}

struct converting {
    struct tables tables;
    struct gecko *gecko;
    struct cpu_owner owner;
    uint64_t events;
};

static bool take_placed(void *self, struct event *event, struct fault *why)
{
    struct converting *converting = self;
    return gecko_take_placed(converting->gecko, event, why);
}

/* As the converter. */
static bool take(void *self, struct event *event, struct fault *why)
{
    struct converting *converting = self;
    const struct sink placed = { take_placed, converting };
    converting->events++;
    return tables_take(&converting->tables, event, why) && gecko_take(converting->gecko, event, why) &&
           cpu_owner_take(&converting->owner, event, &placed, why);
}

/* The profile of a stream; *events is the number of events that the reader gave. */
static struct bytes profile_of(const struct bytes *stream, bool in_lulls, struct gecko_style style, uint64_t *events)
{
    const int fd = memory_file(stream->at, stream->size), profile_fd = memory_file("", 0);
    struct converting converting = { 0 };
    struct output output = { 0 };
    struct stream_reader reader;
    const struct sink sink = { take, &converting }, placed = { take_placed, &converting };
    output_open_fd(&output, dup(profile_fd), "a profile", false);
    converting.gecko = gecko_start(&converting.tables, &output, style);
    assert_true(stream_reader_open(&reader, fd, (struct text){ 0 }, &sink, NULL));
    reader.gives_lulls = in_lulls;
    while (stream_read_block(&reader, &sink, NULL) == SOURCE_MORE)
        ;
    assert_true(cpu_owner_finish(&converting.owner, &placed, NULL));
    assert_true(gecko_finish(converting.gecko, NULL));
    assert_true(output_close(&output, NULL, NULL));
    *events = converting.events;
    gecko_drop(converting.gecko);
    cpu_owner_free(&converting.owner);
    tables_free(&converting.tables);
    stream_reader_close(&reader);
    close(fd);
    return file_bytes(profile_fd);
}

static const struct gecko_style styles[] = {
    { .gil_wait_ns = 1 },
    { .markers = GECKO_MARKERS_ALL, .weight = GECKO_WEIGHT_WALL },
    { .weight = GECKO_WEIGHT_CPU, .max_samples = 100 },
};

/* Reads a stream of these dice both ways. Both numbers of events are added up. */
static void compare(uint64_t seed, bool interpreters, uint64_t *events, uint64_t *fewer_events)
{
    dice = seed;
    struct bytes stream = make_stream(interpreters);
    for (size_t i = 0; i < countof(styles); i++) {
        uint64_t given, given_in_lulls;
        struct bytes each = profile_of(&stream, false, styles[i], &given);
        struct bytes lulls = profile_of(&stream, true, styles[i], &given_in_lulls);
        assert_int_equal(lulls.size, each.size);
        assert_memory_equal(lulls.at, each.at, each.size);
        *events += given;
        *fewer_events += given_in_lulls;
        bytes_free(&each);
        bytes_free(&lulls);
    }
    bytes_free(&stream);
}

static void lulls_give_the_same_profile(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROLLS; seed++) {
        uint64_t events = 0, fewer_events = 0;
        compare(seed, false, &events, &fewer_events);
        assert_in_range(fewer_events, events / 4, events * 3 / 4);
    }
}

/* The entries of one thread share its time, tick by tick. */
static void a_thread_in_two_interpreters_has_the_same_profile(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= ROLLS; seed++) {
        uint64_t events = 0, fewer_events = 0;
        compare(seed, true, &events, &fewer_events);
    }
}

TEST_FILE(lulls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lulls_give_the_same_profile),
        cmocka_unit_test(a_thread_in_two_interpreters_has_the_same_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
