/* SPDX-License-Identifier: MIT */
/* Asyncio tasks, written and read again: which one a thread runs, and entries that stand for one. */
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define BEGINNING                                                                                                      \
    { EVENT_RECORDING, .recording = { .format_version = 1, .interval_ns = MS, .time_unit_ns = MS / 50 } },             \
        PROCESS(1, 4313, "/"), THREAD(1, 1, 4313, "python3"), THREAD(2, 1, 4314, "other"), STRING(1, "f"),             \
        FUNCTION(1, 1, 0, 1), FRAME(1, 1, 1), FRAME(2, 1, 2)

/* Two threads' loops change from task to task, together with their stacks and without; another one has none. */
static const struct event running[] = {
    BEGINNING,
    TASK(1, 1, "Task-1"),
    TASK_SAMPLE(MS, 1, 1, 0, 1),
    SAMPLE(MS, 2, 0, 1),
    TICK(MS),
    TASK_SAME(2 * MS, 1, 1, 1),
    SAME(2 * MS, 2, 1),
    TICK(2 * MS),
    TASK(2, 1, "na\xC3\xAFve; \xE2\x9C\x93"),
    { EVENT_TASK, .task = { 3, 1, T(""), 2 * MS } },
    TASK_SAMPLE(3 * MS, 1, 2, 0, 2, 1), /* another task, another stack */
    TASK_SAME(3 * MS, 2, 3, 1),         /* another task, the same stack */
    TICK(3 * MS),
    TASK_SAMPLE(4 * MS, 1, 2, 1, 2), /* the same task, another stack */
    SAME(4 * MS, 2, 1),              /* the task is over */
    TICK(4 * MS),
    FAILED(5 * MS, 1, FAILURE_CHANGED),
    SAME(5 * MS, 2, 1),
    TICK(5 * MS),
    TASK_SAME(6 * MS, 1, 2, 2), /* thread 2 is absent */
    TICK(6 * MS),
    SAME(7 * MS, 1, 0),
    TASK_SAME(7 * MS, 2, 1, 1),
    TICK(7 * MS),
    { EVENT_END, .end = { END_TARGET, 7 * MS, 7, 12, 0, 1, 0 } },
};

/* Each task is an entry of its own, beside the thread. */
static const struct event entries[] = {
    BEGINNING,
    TASK(1, 1, "Task-1"),
    TASK(2, 1, "Task-2"),
    TASK_ENTRY(3, 1, 4313, 1, "Task-1"),
    TASK_ENTRY(4, 1, 0, 2, "Task-2"), /* an orphan */
    TASK_SAMPLE(MS, 1, 1, 0, 1),
    TASK_SAMPLE(MS, 3, 1, 0, 1, 2),
    TASK_SAMPLE(MS, 4, 2, 0, 2),
    TICK(MS),
    TASK_SAME(2 * MS, 1, 2, 1),
    TASK_SAME(2 * MS, 3, 1, 2),
    TASK_SAME(2 * MS, 4, 2, 1),
    TICK(2 * MS),
    { EVENT_THREAD_END, .change = { 3, 2 * MS, { 0 } } },
    TASK_SAME(3 * MS, 4, 2, 1),
    TICK(3 * MS),
    { EVENT_END, .end = { END_TARGET, 3 * MS, 3, 7, 0, 0, 0 } },
};

static void check_comes_back(const struct event *story, size_t count)
{
    struct bytes stream = stream_of(story, count, CODEC_PLAIN);
    struct playback playback = { 0 };
    struct journal told = { 0 };
    playback_read(&playback, stream.at, stream.size);
    journal_tell(&told, story, count);
    assert_same_lines(journal_text(&playback.journal), journal_text(&told));
    assert_true(playback_whole(&playback));
    journal_free(&told);
    playback_free(&playback);
    bytes_free(&stream);
}

static void what_a_thread_runs_comes_back(void **state)
{
    (void)state;
    check_comes_back(running, countof(running));
}

static void entries_of_tasks_come_back(void **state)
{
    (void)state;
    check_comes_back(entries, countof(entries));
}

/* Some seconds of one thread that stays where it is; `story` has room for it. Returns how many events. */
static size_t stay(struct event *story, struct event thread, uint32_t task, unsigned ticks)
{
    const struct event beginning[] = {
        { EVENT_RECORDING, .recording = { .format_version = 1, .interval_ns = MS, .time_unit_ns = MS / 50 } },
        PROCESS(1, 4313, "/"),
        TASK(1, 1, "Task-1"),
        thread,
        STRING(1, "f"),
        FUNCTION(1, 1, 0, 1),
        FRAME(1, 1, 1),
        TASK_SAMPLE(MS, 1, task, 0, 1),
        TICK(MS),
    };
    size_t count = countof(beginning);
    memcpy(story, beginning, sizeof(beginning));
    static const uint32_t first[] = { 1 };
    story[count - 2].sample.frames = first;
    for (uint64_t tick = 2; tick <= ticks; tick++) {
        story[count++] = (struct event)TASK_SAME(tick * MS, 1, task, 1);
        story[count++] = (struct event)TICK(tick * MS);
    }
    story[count++] = (struct event){ EVENT_END, .end = { END_DURATION, ticks * (uint64_t)MS, ticks, ticks, 0, 0, -1 } };
    return count;
}

/* The task holds over the blocks, whether the thread runs it or is its entry, and what is told of it each second is a
 * few bytes or none. */
static void a_task_that_stays_costs_little(void **state)
{
    (void)state;
    static struct event story[8000];
    static const struct {
        struct event thread;
        uint32_t task;
        size_t bytes; /* more than a thread without a task takes, at most */
    } rows[] = {
        { THREAD(1, 1, 4313, "Task-1"), 0, 0 },
        { THREAD(1, 1, 4313, "Task-1"), 1, 4 * 4 },        /* RUNS in each of four blocks */
        { TASK_ENTRY(1, 1, 4313, 1, "Task-1"), 1, 1 },     /* one field more */
        { TASK_ENTRY(1, 1, 4313, 1, "Task-1"), 0, 1 + 16 } /* strange, and yet it is told */
    };
    size_t bare = 0;
    for (size_t i = 0; i < countof(rows); i++) {
        const size_t count = stay(story, rows[i].thread, rows[i].task, 3500);
        struct bytes stream = stream_of(story, count, CODEC_PLAIN);
        bare = i == 0 ? stream.size : bare;
        if (stream.size > bare + rows[i].bytes)
            fail_msg("row %zu takes %zu bytes, %zu without a task", i, stream.size, bare);
        bytes_free(&stream);
        check_comes_back(story, count);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_thread_runs_comes_back),
        cmocka_unit_test(entries_of_tasks_come_back),
        cmocka_unit_test(a_task_that_stays_costs_little),
    };
    return run_all(tests);
}
