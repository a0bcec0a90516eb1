/* SPDX-License-Identifier: MIT */
/* A story is a recording told as a table of events. To see whether two sequences of events say the same, each is kept
 * in a journal: lines of text, first the definitions and news in their order, then tick after tick. Samples of a tick
 * are sorted, since their order means nothing; a stack is told by the names of its frames, since a writer may say in
 * many ways how it changed; and every event goes through the tables, which refuse what was not defined before. */
#ifndef PYREEL_TESTS_FAKES_STORY_H
#define PYREEL_TESTS_FAKES_STORY_H

#include "formats/base/alloc.h"
#include "formats/model/tables.h"
#include "formats/stream/stream_read.h"
#include "formats/stream/stream_write.h"

#define MS 1000000u

/* clang-format off */
#define T(literal) { literal, sizeof(literal) - 1 }
#define STRING(number, literal) { EVENT_STRING, .string = { number, T(literal) } }
#define FUNCTION(number, name, file, line) { EVENT_FUNCTION, .function = { number, name, file, line, 0, 0, 0 } }
#define SYNTHETIC(number, name, kind)      { EVENT_FUNCTION, .function = { number, name, 0, 0, kind, 0, 0 } }
#define FRAME(number, function, line) { EVENT_FRAME, .frame = { number, function, line, line, -1, -1, 0, 0, 0, 0, 0 } }
#define PROCESS(number, pid, folder) \
    { EVENT_PROCESS, .process = { number, pid, 0, 0x030f02f0, T("/usr/bin/python3.15"), T("python3 app.py"), T(folder), 0, T(""), 0, 0, T(""), T(""), 0 } }
#define TITLE(number, ns, title) { EVENT_PROCESS_TITLE, .change = { number, ns, T(title), false } }
#define THREAD(number, process, tid, name) \
    { EVENT_THREAD, .thread = { number, process, tid, (number) == 1, 0, 0, T(name), 0 } }
#define SAMPLE_OF(ns, of_thread) .thread = of_thread, .time_ns = ns, .count = 1
#define PUSHES(keeps, ...) .keep = keeps, .pushed = countof(((const uint32_t[]){ __VA_ARGS__ })), \
                           .frames = (const uint32_t[]){ __VA_ARGS__ }
#define STATE(bits, cpu) .status = bits, .cpu_ns = cpu
#define SAMPLE(ns, thread, keep, ...) \
    { EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, thread), PUSHES(keep, __VA_ARGS__) } }
#define STATUS_SAMPLE(ns, thread, keep, status, cpu, ...) \
    { EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, thread), PUSHES(keep, __VA_ARGS__), STATE(status, cpu) } }
#define STATUS_SAME(ns, thread, depth, status, cpu) \
    { EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, thread), .keep = depth, STATE(status, cpu) } }
#define STANDS_SAMPLE(ns, thread, keep, stands, ...) \
    { EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, thread), PUSHES(keep, __VA_ARGS__), .stands_ns = stands } }
#define STANDS_SAME(ns, thread, depth, stands) \
    { EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, thread), .keep = depth, .stands_ns = stands } }
#define TASK(number, process, name) { EVENT_TASK, .task = { number, process, T(name), 0 } }
#define TASK_WAITER(ns, task, waiter, waiters) { EVENT_TASK_WAITER, .task_waiter = { task, waiter, waiters, ns } }
#define TASK_ENTRY(number, process, tid, task, name) \
    { EVENT_THREAD, .thread = { number, process, tid, false, 0, 0, T(name), task } }
#define TASK_SAMPLE(ns, thread, number, keep, ...) \
    { EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, thread), PUSHES(keep, __VA_ARGS__), .task = number } }
#define TASK_SAME(ns, thread, number, depth) \
    { EVENT_SAMPLE, .sample = { SAMPLE_OF(ns, thread), .keep = depth, .task = number } }
#define LEFT_OUT(ns, thread, ticks, cpu) { EVENT_LEFT_OUT, .left_out = { thread, ticks, ns, cpu, 0, 0 } }
#define SAME(ns, thread, depth) TASK_SAME(ns, thread, 0, depth)
#define FAILED(ns, thread, cause) { EVENT_FAILED, .failed = { thread, cause, ns, 0 } }
#define MEASURE(ns, process, resident, cpu, recorder_cpu) \
    { EVENT_MEASURE, .measure = { process, ns, resident, cpu, recorder_cpu } }
#define MISSED(count) { EVENT_MISSED, .missed = count }
#define TICK(ns) { EVENT_TICK, .tick_ns = ns }
#define COUNTER(name, value) { EVENT_COUNTER, .counter = { T(name), value } }
/* How a story may begin: a tick each 100 ms, and thread 1 of a program that knows frame 1 and the file `a.py`. */
#define ONE_THREAD_BEGINS \
    { EVENT_RECORDING, .recording = { .interval_ns = 100 * MS, .time_unit_ns = 2 * MS } }, \
    PROCESS(1, 7, "/"), THREAD(1, 1, 7, "python3"), STRING(1, "<module>"), STRING(2, "a.py"), FUNCTION(1, 1, 2, 1), \
    FRAME(1, 1, 3)
/* clang-format on */

struct lines {
    char **rows;
    size_t count, room;
};

struct journal {
    struct tables tables;
    struct lines notes, ticks;
    size_t tick_at; /* where the lines of the open tick begin */
};

/* As a sink: takes an event if the tables do. */
struct sink journal_sink(struct journal *journal);

/* The journal of a story that breaks no rule. */
void journal_tell(struct journal *journal, const struct event *story, size_t count);

/* All lines; the caller frees it. */
char *journal_text(const struct journal *journal);
/* Only what happened in ticks. */
char *journal_ticks(const struct journal *journal);

/* Fails with the first line that differs; frees both. */
void assert_same_lines(char *ours, char *wanted);

void journal_free(struct journal *journal);

/* A recording that is read as the converters read it: what the tables refuse is damage, and it goes on. */
struct playback {
    struct journal journal;
    struct stream_reader reader;
    bool ahead; /* blocks are found ahead */
    bool opened;
    bool refused;
    struct fault why;
};

/* `playback` is zeroed but for `ahead`. */
void playback_read(struct playback *playback, const void *bytes, size_t size);
void playback_free(struct playback *playback);

/* Whether the file was in order from the first byte to the last. */
bool playback_whole(const struct playback *playback);

/* Writes a story as a stream, and reads the stream: the same story comes back, and the stream is whole. `playback` as
 * for playback_read(). Returns the stream; the caller frees both. */
struct bytes assert_story_comes_back(struct playback *playback, const struct event *story, size_t count,
                                     enum stream_codec codec);

/* The stream that the writer makes of a story. */
struct bytes stream_of(const struct event *story, size_t count, enum stream_codec codec);

/* The stream of a header's payload and of an EVENTS block's, if it has any; no end. */
struct bytes stream_of_payloads(const struct bytes *header, const void *events, size_t size);

/* A file in memory with these bytes, its position at the start. */
int memory_file(const void *bytes, size_t size);
/* All bytes of a file from its start; closes it. */
struct bytes file_bytes(int fd);

#endif
