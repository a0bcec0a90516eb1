/* SPDX-License-Identifier: MIT */
#include "record/file/outlet.h"

#include "formats/base/alloc.h"
#include "formats/intern/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLOSING_ROOM  8192u        /* bytes for the events at the end of a file, and its sums */
#define LEAST_NS      250000000u   /* least age of a file: what lives may take more than the size that a file may have */
#define RETRY_NS      10000000000u /* how long a file that could not be created is not tried again */
#define ALIGN_MOST_NS 100000000u   /* streams begin at multiples of the interval, if it is not longer than this */

/* ---- events ---- */

/* Gives the stream its own part of a counter. */
static bool take_counter(struct outlet *outlet, struct event *event, struct fault *why)
{
    struct counter *counter = &event->counter;
    if (outlet_in_parts(outlet) && !counters_set(&outlet->latest, counter->name, counter->value, why))
        return false;
    const uint64_t before = counters_add_up(counter->name) ? counters_get(&outlet->before, counter->name.bytes) : 0;
    counter->value = counter->value > before ? counter->value - before : 0;
    return stream_write(outlet->writer, event, why);
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct outlet *outlet = self;
    if (event->kind == EVENT_COUNTER)
        return take_counter(outlet, event, why);
    if (outlet->shift_ns)
        event_shift(event, -(int64_t)outlet->shift_ns);
    return stream_write(outlet->writer, event, why);
}

struct sink outlet_sink(struct outlet *outlet)
{
    return (struct sink){ .take = take, .self = outlet };
}

/* ---- streams ---- */

static void open_writer(struct outlet *outlet, int fd)
{
    stream_writer_open(outlet->writer, fd, outlet->codec, outlet->level);
    stream_writer_sum_up(outlet->writer);
    if (!outlet_in_parts(outlet))
        stream_writer_limit(outlet->writer, outlet->size_limit);
}

/* Writes the header of the present stream. */
static bool begin_stream(struct outlet *outlet, struct fault *why)
{
    struct event event = { .kind = EVENT_RECORDING, .recording = outlet->recording };
    struct recording *recording = &event.recording;
    recording->start_unix_ns += outlet->shift_ns;
    recording->start_monotonic_ns += outlet->shift_ns;
    recording->part = outlet->part;
    return stream_write(outlet->writer, &event, why);
}

/* A number that no other recording has, for practical purposes. */
static uint64_t make_series(const struct recording *recording)
{
    const uint64_t words[] = { recording->start_unix_ns, recording->start_monotonic_ns, (uint64_t)getpid() };
    uint64_t series = 0;
    for (size_t i = 0; i < countof(words); i++)
        series = hash_mix(series ^ words[i]);
    return series | 1;
}

bool outlet_begin(struct outlet *outlet, const struct recording *recording, struct fault *why)
{
    outlet->recording = *recording;
    outlet->start_ns = recording->start_monotonic_ns;
    outlet->shift_ns = 0;
    if (outlet_in_parts(outlet)) {
        outlet->recording.series = make_series(recording);
        outlet->part = 1;
    }
    open_writer(outlet, outlet->file->fd);
    return recording_file_begin(outlet->file, why) && begin_stream(outlet, why);
}

/* Ends the present stream. `end` has the time since the start of the source. */
static bool end_stream(struct outlet *outlet, const struct end *end, struct fault *why)
{
    struct event event = { .kind = EVENT_END, .end = *end };
    if (!outlet->source.flush(outlet->source.self, why))
        return false;
    event_shift(&event, -(int64_t)outlet->shift_ns);
    return stream_write(outlet->writer, &event, why);
}

/* The start of a stream that begins now. */
static uint64_t aligned_shift(const struct outlet *outlet, uint64_t now_ns)
{
    const uint64_t interval_ns = outlet->recording.interval_ns, unit_ns = outlet->recording.time_unit_ns;
    const uint64_t step_ns = interval_ns <= ALIGN_MOST_NS ? interval_ns : unit_ns ? unit_ns : 1;
    return (now_ns - outlet->start_ns) / step_ns * step_ns;
}

/* ---- the next file ---- */

/* Tells the user that there is no next file. The recording goes on in the present one. */
static void stay(struct outlet *outlet, uint64_t now_ns, const struct fault *cause)
{
    fault(&outlet->notice, "%s; the recording goes on in %s", cause->text, outlet->file->path);
    outlet->retry_ns = now_ns + RETRY_NS;
}

/* Ends the present stream, because another one follows. */
static bool leave_stream(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    const struct end end = { .reason = END_CONTINUED, .time_ns = now_ns - outlet->start_ns, .wait_status = -1 };
    if (!end_stream(outlet, &end, why))
        return false;
    const struct counters before = outlet->before;
    outlet->before = outlet->latest;
    outlet->latest = before;
    counters_free(&outlet->latest);
    outlet->bytes_before += outlet->writer->blocks.written;
    stream_writer_close(outlet->writer);
    return true;
}

static bool enter_stream(struct outlet *outlet, int fd, uint64_t now_ns, struct fault *why)
{
    outlet->shift_ns = aligned_shift(outlet, now_ns);
    outlet->part++;
    open_writer(outlet, fd);
    if (!begin_stream(outlet, why))
        return false;
    outlet->source.restart(outlet->source.self);
    return true;
}

static bool go_on(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    struct recording_file next;
    struct fault cause = { 0 };
    if (!file_numbers_next(&outlet->numbers, &next, &cause)) {
        stay(outlet, now_ns, &cause);
        return true;
    }
    if (!leave_stream(outlet, now_ns, why)) {
        recording_file_discard(&next);
        return false;
    }
    const bool closed = recording_file_close(outlet->file, &outlet->notice);
    *outlet->file = next;
    if (!closed)
        return fault(why, "%s", outlet->notice.text);
    file_numbers_tidy(&outlet->numbers);
    return enter_stream(outlet, next.fd, now_ns, why);
}

static bool is_due(const struct outlet *outlet, uint64_t now_ns)
{
    const struct stream_writer *writer = outlet->writer;
    const struct rotation *rotation = &outlet->rotation;
    const uint64_t age_ns = now_ns - outlet->start_ns - outlet->shift_ns;
    const bool large = rotation->bytes && writer->blocks.written + writer->open.size + CLOSING_ROOM > rotation->bytes &&
                       age_ns >= LEAST_NS;
    return (large || (rotation->time_ns && age_ns >= rotation->time_ns)) && now_ns >= outlet->retry_ns;
}

bool outlet_turn(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    return !outlet_in_parts(outlet) || !is_due(outlet, now_ns) || go_on(outlet, now_ns, why);
}

/* ---- the two ends ---- */

bool outlet_open_file(struct outlet *outlet, const char *path, bool force, pid_t pid, struct text command,
                      struct fault *why)
{
    bool good;
    if (outlet_in_parts(outlet)) {
        file_numbers_open(&outlet->numbers, path, outlet->rotation.keep, pid, command);
        good = file_numbers_next(&outlet->numbers, outlet->file, why);
    } else {
        good = recording_file_open(outlet->file, path, force, pid, command, why);
    }
    if (good)
        outlet->first_path = alloc_copy(outlet->file->path, strlen(outlet->file->path));
    return good;
}

bool outlet_end(struct outlet *outlet, const struct end *end, struct fault *why)
{
    return end_stream(outlet, end, why);
}

uint64_t outlet_bytes(const struct outlet *outlet)
{
    return outlet->bytes_before + outlet->writer->blocks.written;
}

char *outlet_paths(const struct outlet *outlet)
{
    char *paths = NULL;
    const char *path = outlet->file->path;
    if (strcmp(path, "-") == 0)
        return alloc_copy("standard output", strlen("standard output"));
    if (outlet->part <= 1 || asprintf(&paths, "%s to %s", outlet->first_path, path) < 0)
        return alloc_copy(path, strlen(path));
    return paths;
}

void outlet_close(struct outlet *outlet)
{
    file_numbers_close(&outlet->numbers);
    counters_free(&outlet->before);
    counters_free(&outlet->latest);
    free(outlet->first_path);
    outlet->first_path = NULL;
}
