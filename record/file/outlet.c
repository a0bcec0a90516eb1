/* SPDX-License-Identifier: MIT */
#include "record/file/outlet.h"

#include "formats/base/alloc.h"
#include "formats/intern/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLOSING_ROOM  8192u      /* bytes for the events at the end of a file, and its sums */
#define LEAST_NS      250000000u /* least age of a file: what lives may take more than the size that a file may have */
#define RETRY_NS      10000000000u /* how long a file that could not be created is not tried again */
#define ALIGN_MOST_NS 100000000u   /* streams begin at multiples of the interval, if it is not longer than this */

/* ---- events ---- */

/* Gives the stream its own part of a counter. */
static bool outlet_take_counter(struct outlet *outlet, struct event *event, struct fault *why)
{
    struct counter *counter = &event->counter;
    if (outlet_in_parts(outlet) && !counters_set(&outlet->latest, counter->name, counter->value, why))
        return false;
    const uint64_t before = counters_add_up(counter->name) ? counters_get(&outlet->before, counter->name.bytes) : 0;
    counter->value = counter->value > before ? counter->value - before : 0;
    return stream_write(outlet->writer, event, why);
}

static bool outlet_take(void *self, struct event *event, struct fault *why)
{
    struct outlet *outlet = self;
    if (event->kind == EVENT_COUNTER)
        return outlet_take_counter(outlet, event, why);
    triggers_take(&outlet->triggers, event);
    if (outlet->shift_ns)
        event_shift(event, -(int64_t)outlet->shift_ns);
    return stream_write(outlet->writer, event, why);
}

struct sink outlet_sink(struct outlet *outlet)
{
    return (struct sink){ .take = outlet_take, .self = outlet };
}

/* ---- streams ---- */

static void open_writer(struct outlet *outlet, int fd)
{
    stream_writer_open(outlet->writer, fd, outlet->codec);
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
static uint64_t recording_make_series(const struct recording *recording)
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
        outlet->recording.series = recording_make_series(recording);
        outlet->part = 1;
    }
    if (outlet->flight.span_ns) {
        outlet->segment_fd = flight_open_segment(&outlet->flight, why);
        if (outlet->segment_fd < 0)
            return false;
    }
    open_writer(outlet, outlet->flight.span_ns ? outlet->segment_fd : outlet->file->fd);
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
static void outlet_stay(struct outlet *outlet, uint64_t now_ns, const struct fault *cause)
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
    outlet->triggers.anew = true;
    return true;
}

/* Goes on in the next segment of a flight recorder. */
static bool go_on_in_memory(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    struct fault cause = { 0 };
    const int next_fd = flight_open_segment(&outlet->flight, &cause);
    if (next_fd < 0)
        return fault(why, "%s", cause.text);
    const uint64_t bytes = outlet->bytes_before;
    if (!leave_stream(outlet, now_ns, why)) {
        close(next_fd);
        return false;
    }
    flight_keep(&outlet->flight, outlet->segment_fd, outlet->bytes_before - bytes, now_ns - outlet->start_ns);
    outlet->segment_fd = next_fd;
    return enter_stream(outlet, next_fd, now_ns, why);
}

static bool go_on_in_file(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    struct recording_file next;
    struct fault cause = { 0 };
    if (!file_numbers_next(&outlet->numbers, &next, &cause)) {
        outlet_stay(outlet, now_ns, &cause);
        return true;
    }
    if (!leave_stream(outlet, now_ns, why)) {
        recording_file_discard(&next);
        return false;
    }
    free(outlet->previous_path);
    outlet->previous_path = alloc_copy(outlet->file->path, strlen(outlet->file->path));
    const bool closed = recording_file_close(outlet->file, &outlet->notice);
    *outlet->file = next;
    if (!closed)
        return fault(why, "%s", outlet->notice.text);
    file_numbers_tidy(&outlet->numbers);
    return enter_stream(outlet, next.fd, now_ns, why);
}

static bool outlet_is_due(const struct outlet *outlet, uint64_t now_ns)
{
    const struct stream_writer *writer = outlet->writer;
    const struct rotation *rotation = &outlet->rotation;
    const uint64_t age_ns = now_ns - outlet->start_ns - outlet->shift_ns;
    const uint64_t span_ns = outlet->flight.span_ns;
    const uint64_t most_bytes = span_ns ? FLIGHT_SEGMENT_BYTES : rotation->bytes;
    const uint64_t most_ns = span_ns ? span_ns / FLIGHT_SEGMENTS : rotation->time_ns;
    const bool large = most_bytes && writer->blocks.written + writer->open.size + CLOSING_ROOM > most_bytes &&
                       age_ns >= LEAST_NS;
    return (large || (most_ns && age_ns >= most_ns)) && now_ns >= outlet->retry_ns;
}

static bool outlet_go_on(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    return outlet->flight.span_ns ? go_on_in_memory(outlet, now_ns, why) : go_on_in_file(outlet, now_ns, why);
}

/* ---- incidents ---- */

/* Tells the user about the incident that is complete. A recording that could not be written is no reason to end. */
static void tell_written(struct outlet *outlet)
{
    struct incident *incident = &outlet->flight.incident;
    struct recording_file *file = &incident->file;
    char size[32];
    char *path = alloc_copy(file->path, strlen(file->path));
    const bool empty = incident->good && incident->samples == 0;
    if (empty)
        recording_file_discard(file);
    const bool closed = empty || recording_file_close(file, &incident->why);
    snprintf(size, sizeof(size), "%.1f kB", (double)incident->bytes / 1e3);
    if (empty)
        fault(&outlet->notice, "%s: there is nothing to write yet", outlet->cause);
    else if (incident->good && closed)
        fault(&outlet->notice, "%s: wrote the last %.1f s to %s (%" PRIu64 " samples, %s)%s", outlet->cause,
              (double)incident->length_ns / 1e9, path, incident->samples, size,
              outlet->flight.short_of_room ? "; more has no room in " FLIGHT_BYTES_TEXT : "");
    else
        fault(&outlet->notice, "%s: %s is not complete: %s", outlet->cause, path, incident->why.text);
    outlet->incidents += incident->good && closed && !empty;
    free(path);
    free(outlet->cause);
    outlet->cause = NULL;
    file_numbers_tidy(&outlet->numbers);
}

/* Adds the deaths that the incident has to its cause; no cause: the deaths are. The caller frees the text. */
static char *with_deaths(const char *cause, const struct deaths *deaths)
{
    char told[DEATHS_TEXT_ROOM], *both;
    deaths_text(told, deaths);
    if (!cause || !told[0] || asprintf(&both, "%s; %s", cause, told) < 0)
        return cause ? alloc_copy(cause, strlen(cause)) : alloc_copy(told, strlen(told));
    return both;
}

/* Starts to write what is kept. `cause` NULL: because of deaths. */
static void write_kept(struct outlet *outlet, const char *cause)
{
    struct recording_file file;
    struct fault why = { 0 };
    free(outlet->cause);
    outlet->cause = with_deaths(cause, &outlet->deaths);
    deaths_forget(&outlet->deaths); /* also when there is no file: the user is told, as for the other causes */
    if (!file_numbers_next(&outlet->numbers, &file, &why)) {
        fault(&outlet->notice, "%s: %s", outlet->cause, why.text);
        return;
    }
    flight_write(&outlet->flight, &file, outlet->codec);
}

bool outlet_incident(struct outlet *outlet, uint64_t now_ns, const char *cause, struct fault *why)
{
    if (outlet->flight.incident.file.path) {
        outlet->wants_incident = true;
        return true;
    }
    outlet->wants_incident = false;
    if (!go_on_in_memory(outlet, now_ns, why))
        return false;
    write_kept(outlet, cause);
    return true;
}

bool outlet_is_writing(const struct outlet *outlet)
{
    return outlet->wants_incident || outlet->flight.incident.file.path;
}

/* Writes an incident because processes were killed. */
static bool write_deaths(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    outlet->deaths.written_ns = now_ns;
    if (!go_on_in_memory(outlet, now_ns, why))
        return false;
    write_kept(outlet, NULL);
    return true;
}

void outlet_process_ended(struct outlet *outlet, uint64_t now_ns, pid_t pid, int wait_status)
{
    if (outlet->flight.span_ns)
        deaths_note(&outlet->deaths, pid, wait_status, now_ns, outlet->flight.span_ns);
}

/* Writes an incident when a condition became true, a process was killed, or an incident waits. */
static bool watch_incidents(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    const struct trigger *fired = outlet->triggers.fired;
    if (outlet->flight.incident.file.path && flight_written(&outlet->flight, false))
        tell_written(outlet);
    outlet->triggers.fired = NULL;
    if (fired && (outlet->fired_ns == 0 || now_ns - outlet->fired_ns >= outlet->flight.span_ns)) {
        outlet->fired_ns = now_ns;
        return outlet_incident(outlet, now_ns, fired->text, why);
    }
    if (outlet->wants_incident && !outlet->flight.incident.file.path)
        return outlet_incident(outlet, now_ns, "asked for while another one was being written", why);
    if (deaths_are_due(&outlet->deaths, now_ns) && !outlet->flight.incident.file.path)
        return write_deaths(outlet, now_ns, why);
    return true;
}

bool outlet_turn(struct outlet *outlet, uint64_t now_ns, struct fault *why)
{
    if (!outlet_in_parts(outlet))
        return true;
    if (outlet->flight.span_ns && !watch_incidents(outlet, now_ns, why))
        return false;
    return !outlet_is_due(outlet, now_ns) || outlet_go_on(outlet, now_ns, why);
}

/* ---- the two ends ---- */

bool outlet_open_file(struct outlet *outlet, const char *path, bool force, pid_t pid, struct text command,
                      struct fault *why)
{
    bool good;
    outlet->segment_fd = -1;
    if (outlet->flight.span_ns) {
        file_numbers_open(&outlet->numbers, path, outlet->rotation.keep, pid, command);
        *outlet->file = (struct recording_file){ .fd = -1 };
        return true;
    }
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

/* Writes the last incident: the end of the recording. */
static bool end_flight(struct outlet *outlet, const struct end *end, struct fault *why)
{
    const uint64_t bytes = outlet->writer->blocks.written;
    if (flight_written(&outlet->flight, true))
        tell_written(outlet);
    flight_keep(&outlet->flight, outlet->segment_fd, bytes, end->time_ns);
    outlet->segment_fd = -1;
    write_kept(outlet, event_end_reason_text(end->reason));
    if (!flight_written(&outlet->flight, true))
        return fault(why, "%s", outlet->notice.text);
    const bool good = outlet->flight.incident.good;
    tell_written(outlet);
    return good || fault(why, "%s", outlet->notice.text);
}

bool outlet_end(struct outlet *outlet, const struct end *end, struct fault *why)
{
    return end_stream(outlet, end, why) && (!outlet->flight.span_ns || end_flight(outlet, end, why));
}

uint64_t outlet_bytes(const struct outlet *outlet)
{
    return outlet->bytes_before + outlet->writer->blocks.written;
}

/* Whether the disk was too full for the first block of the file. */
static bool is_empty(const struct outlet *outlet)
{
    struct stat there;
    return outlet->file->created && fstat(outlet->file->fd, &there) == 0 && there.st_size == 0;
}

bool outlet_close_file(struct outlet *outlet, struct fault *why)
{
    if (!is_empty(outlet))
        return recording_file_close(outlet->file, why);
    recording_file_discard(outlet->file);
    return true;
}

char *outlet_paths(const struct outlet *outlet)
{
    char *paths = NULL;
    const bool empty = outlet->part > 1 && is_empty(outlet);
    const char *path = empty && outlet->previous_path ? outlet->previous_path : outlet->file->path;
    const uint32_t parts = outlet->part - empty;
    if (outlet->flight.span_ns && asprintf(&paths, "flight recorder, %" PRIu32 " file%s", outlet->incidents,
                                           outlet->incidents == 1 ? "" : "s") >= 0)
        return paths;
    if (strcmp(path, "-") == 0)
        return alloc_copy("standard output", strlen("standard output"));
    if (parts <= 1 || asprintf(&paths, "%s to %s", outlet->first_path, path) < 0)
        return alloc_copy(path, strlen(path));
    return paths;
}

void outlet_close(struct outlet *outlet)
{
    flight_close(&outlet->flight);
    triggers_free(&outlet->triggers);
    if (outlet->flight.span_ns && outlet->segment_fd >= 0)
        close(outlet->segment_fd);
    free(outlet->cause);
    outlet->cause = NULL;
    file_numbers_close(&outlet->numbers);
    counters_free(&outlet->before);
    counters_free(&outlet->latest);
    free(outlet->first_path);
    free(outlet->previous_path);
    outlet->first_path = outlet->previous_path = NULL;
}
