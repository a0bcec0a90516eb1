/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon_read.h"

#include "formats/base/alloc.h"
#include "formats/scratch/tempfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_SIZE   ((size_t)256 << 10)
#define AT_ONCE     65536    /* samples that one call emits */
#define TICKS_LIMIT 10000000 /* limit of the failed or missed ticks that the statistics may claim */

/* ---- the file ---- */

/* Copies a pipe to a temporary file, because the file is read from both ends. */
static bool copy_pipe(struct tachyon_reader *reader, int from, struct text head, struct fault *why)
{
    reader->fd = tempfile_create(why);
    reader->copied = reader->fd >= 0;
    if (!reader->copied || !tempfile_write(reader->fd, 0, head.bytes, head.size, why))
        return false;
    reader->size = head.size;
    unsigned char *piece = alloc_zeroed(COPY_SIZE, 1);
    bool good = true;
    for (ssize_t got = 1; got != 0 && good;) {
        got = read(from, piece, COPY_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        good = got >= 0 ? tempfile_write(reader->fd, reader->size, piece, (size_t)got, why)
                        : fault(why, "cannot read it: %s", strerror(errno));
        reader->size += got > 0 ? (uint64_t)got : 0;
    }
    free(piece);
    return good;
}

static bool tachyon_read_open_file(struct tachyon_reader *reader, int fd, struct text head, struct fault *why)
{
    struct stat there;
    *reader = (struct tachyon_reader){ .fd = fd };
    if (fstat(fd, &there) != 0)
        return fault(why, "cannot read it: %s", strerror(errno));
    if (!S_ISREG(there.st_mode))
        return copy_pipe(reader, fd, head, why);
    reader->size = (uint64_t)there.st_size;
    return true;
}

static bool tachyon_read_read_part(const struct tachyon_reader *reader, uint64_t at, void *bytes, size_t size,
                                   struct fault *why)
{
    ssize_t got;
    do
        got = pread(reader->fd, bytes, size, (off_t)at);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)size || fault(why, "cannot read it: %s", got < 0 ? strerror(errno) : "it is cut off");
}

static bool read_header(struct tachyon_reader *reader, struct fault *why)
{
    unsigned char header[TACHYON_HEADER], footer[TACHYON_FOOTER] = { 0 };
    if (!tachyon_read_read_part(reader, 0, header, sizeof(header), why))
        return false;
    const bool has_footer = reader->size >= TACHYON_HEADER + TACHYON_FOOTER;
    if (has_footer && !tachyon_read_read_part(reader, reader->size - TACHYON_FOOTER, footer, sizeof(footer), why))
        return false;
    return tachyon_header_take(&reader->header, header, footer, reader->size, why);
}

/* ---- definitions ---- */

static bool give_recording(const struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    const struct tachyon_header *header = &reader->header;
    struct event event = { .kind = EVENT_RECORDING,
                           .recording = { .format_version = TACHYON_VERSION,
                                          .mode = header->mode,
                                          .threads_option = header->capture,
                                          .start_monotonic_ns = header->start_us * 1000,
                                          .interval_ns = header->interval_us * 1000,
                                          .time_unit_ns = 1000,
                                          .no_end_reason = true } };
    return sink_take(to, &event, why);
}

static bool tachyon_read_is_main(const struct tachyon_reader *reader, const struct tachyon_thread *thread)
{
    return reader->pid && thread->tid == reader->pid;
}

static bool give_process(struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    const uint8_t *python = reader->header.python;
    for (uint32_t i = 0; i < reader->samples.threads_count && !reader->pid; i++) {
        const struct tachyon_thread *thread = &reader->samples.threads[i];
        if (thread->main && thread->interpreter == 0 && thread->tid <= INT32_MAX)
            reader->pid = (uint32_t)thread->tid;
    }
    struct event event = { .kind = EVENT_PROCESS,
                           .process = { .number = 1,
                                        .pid = reader->pid,
                                        .python_version = (uint32_t)python[0] << 24 | (uint32_t)python[1] << 16 |
                                                          (uint32_t)python[2] << 8 | 0xF0 } };
    return sink_take(to, &event, why);
}

/* Emits all threads. Thread numbers of a Linux kernel fit 32 bits; other numbers are cut to their lower half. */
static bool give_threads(const struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    for (uint32_t i = 0; i < reader->samples.threads_count; i++) {
        const struct tachyon_thread *thread = &reader->samples.threads[i];
        struct event event = { .kind = EVENT_THREAD,
                               .thread = { .number = i + 1,
                                           .process = 1,
                                           .tid = (uint32_t)thread->tid,
                                           .main = tachyon_read_is_main(reader, thread),
                                           .interpreter = thread->interpreter,
                                           .start_ns = thread->first_us * 1000 } };
        if (!sink_take(to, &event, why))
            return false;
    }
    return true;
}

/* ---- the order of samples ---- */

static bool earlier(const struct tachyon_reader *reader, uint32_t a, uint32_t b)
{
    const uint64_t a_us = reader->lines[a].next.time, b_us = reader->lines[b].next.time;
    return a_us < b_us || (a_us == b_us && a < b);
}

static void sink_down(struct tachyon_reader *reader, uint32_t at)
{
    uint32_t *queue = reader->queue;
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < reader->queued; child++)
            if (earlier(reader, queue[child], queue[least]))
                least = child;
        if (least == at)
            return;
        const uint32_t moved = queue[at];
        queue[at] = queue[least];
        queue[least] = moved;
        at = least;
    }
}

/* Goes to the thread's next sample and its status. False when there is none. */
static bool next_sample(struct tachyon_line *line)
{
    if (!spool_next(&line->samples, &line->next))
        return false;
    if (line->state.time == line->at) {
        line->status = (uint8_t)line->state.stack;
        if (!spool_next(&line->states, &line->state))
            line->state.time = UINT64_MAX;
    }
    line->at++;
    return true;
}

static void queue_all(struct tachyon_reader *reader)
{
    struct tachyon_samples *samples = &reader->samples;
    reader->lines = alloc_zeroed(samples->threads_count + 1, sizeof(*reader->lines));
    reader->queue = alloc_zeroed(samples->threads_count + 1, sizeof(*reader->queue));
    for (uint32_t i = 0; i < samples->threads_count; i++) {
        struct tachyon_line *line = &reader->lines[i];
        spool_rewind(&line->samples, &samples->spool, &samples->threads[i].samples);
        spool_rewind(&line->states, &samples->spool, &samples->threads[i].states);
        spool_next(&line->states, &line->state);
        if (next_sample(line))
            reader->queue[reader->queued++] = i;
    }
    for (uint32_t i = reader->queued / 2; i-- > 0;)
        sink_down(reader, i);
}

/* ---- samples ---- */

/* The CPU time since the previous sample: at most two intervals, because ticks may be drawn at random within their
 * intervals. */
static uint64_t cpu_ns(const struct tachyon_reader *reader, const struct tachyon_line *line)
{
    const uint64_t step_us = line->next.time - line->last_us, most_us = 2 * reader->header.interval_us;
    const bool used = line->status & STATUS_CPU && !(line->status & STATUS_CPU_UNKNOWN);
    return used ? (step_us < most_us ? step_us : most_us) * 1000 : 0;
}

static bool give_sample(struct tachyon_reader *reader, uint32_t thread, const struct sink *to, struct fault *why)
{
    struct tachyon_line *line = &reader->lines[thread];
    const struct stack *stacks = reader->samples.stacks;
    const uint32_t common = stack_common(stacks, line->stack, line->next.stack);
    const uint32_t keep = reader->samples.depths[common];
    const uint32_t pushed = reader->samples.depths[line->next.stack] - keep;
    uint32_t stack = line->next.stack;
    for (uint32_t i = pushed; i-- > 0; stack = stacks[stack].caller)
        reader->frames[i] = stacks[stack].frame;
    struct event event = { .kind = EVENT_SAMPLE,
                           .sample = { .thread = thread + 1,
                                       .keep = keep,
                                       .pushed = pushed,
                                       .frames = reader->frames,
                                       .time_ns = line->next.time * 1000,
                                       .status = (line->status & TACHYON_STATUS) | STATUS_RECORDED,
                                       .cpu_ns = cpu_ns(reader, line),
                                       .count = 1,
                                       .fresh = line->tick != reader->ticks } };
    line->tick = reader->ticks + 1;
    line->stack = line->next.stack;
    line->last_us = line->next.time;
    return sink_take(to, &event, why);
}

static bool tachyon_read_end_tick(struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    if (!reader->in_tick)
        return true;
    reader->in_tick = false;
    reader->ticks++;
    struct event event = { .kind = EVENT_TICK, .tick_ns = reader->tick_us * 1000 };
    return sink_take(to, &event, why);
}

/* Emits the earliest sample of all threads. */
static bool give_next(struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    const uint32_t thread = reader->queue[0];
    const uint64_t time_us = reader->lines[thread].next.time;
    if (time_us != reader->tick_us && !tachyon_read_end_tick(reader, to, why))
        return false;
    reader->in_tick = true;
    reader->tick_us = time_us;
    if (!give_sample(reader, thread, to, why))
        return false;
    if (!next_sample(&reader->lines[thread]))
        reader->queue[0] = reader->queue[--reader->queued];
    sink_down(reader, 0);
    return true;
}

/* ---- the end ---- */

/* `percent` of `ticks`; 0 when the result cannot be believed. */
static uint64_t ticks_of(double ticks, double percent)
{
    const double share = ticks * percent / 100 + 0.5;
    return share > 0 && share < TICKS_LIMIT ? (uint64_t)share : 0;
}

/* Emits the missed and failed ticks. The file has only their numbers, not their times, so they come at the end. */
static bool give_statistics(const struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    const struct tachyon_statistics *statistics = &reader->statistics;
    const double due = statistics->duration_s * 1e6 / (double)reader->header.interval_us;
    const double tried = statistics->duration_s * statistics->rate_hz;
    struct event missed = { .kind = EVENT_MISSED };
    if (statistics->missed_known)
        missed.missed = ticks_of(due, statistics->missed_percent);
    if (missed.missed > 0 && !sink_take(to, &missed, why))
        return false;
    uint64_t left = statistics->failed_known ? ticks_of(tried, statistics->failed_percent) : 0;
    for (; left > 0; left--) {
        struct event failed = { .kind = EVENT_FAILED, .failed = { .time_ns = reader->tick_us * 1000 } };
        if (!sink_take(to, &failed, why))
            return false;
    }
    return true;
}

static bool give_end(struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    if (!tachyon_read_end_tick(reader, to, why) || (reader->statistics.known && !give_statistics(reader, to, why)))
        return false;
    const double duration_ns = reader->statistics.duration_s * 1e9;
    uint64_t time_ns = reader->tick_us * 1000;
    if (reader->statistics.known && duration_ns > (double)time_ns && duration_ns < 1e18)
        time_ns = (uint64_t)duration_ns;
    struct event event = {
        .kind = EVENT_END,
        .end = { .time_ns = time_ns, .ticks = reader->ticks, .samples = reader->samples.count, .wait_status = -1 }
    };
    return sink_take(to, &event, why);
}

/* ---- the whole ---- */

bool tachyon_reader_open(struct tachyon_reader *reader, int fd, struct text head, const struct sink *to,
                         struct fault *why)
{
    if (!tachyon_read_open_file(reader, fd, head, why) || !read_header(reader, why) || !give_recording(reader, to, why))
        return false;
    const struct tachyon_header *header = &reader->header;
    if (!tachyon_tables_read(&reader->tables, reader->fd, header, reader->size, &reader->statistics, to, why) ||
        !tachyon_samples_read(&reader->samples, reader->fd, header, &reader->tables, why))
        return false;
    queue_all(reader);
    return give_process(reader, to, why) && give_threads(reader, to, why);
}

enum source_state tachyon_read_some(struct tachyon_reader *reader, const struct sink *to, struct fault *why)
{
    for (int left = AT_ONCE; left > 0 && reader->queued > 0; left--)
        if (!give_next(reader, to, why))
            return SOURCE_STOPPED;
    if (reader->samples.spool.failure.text[0]) {
        fault(why, "%s", reader->samples.spool.failure.text);
        return SOURCE_STOPPED;
    }
    if (reader->queued > 0)
        return SOURCE_MORE;
    return give_end(reader, to, why) ? SOURCE_ENDED : SOURCE_STOPPED;
}

void tachyon_reader_close(struct tachyon_reader *reader)
{
    for (uint32_t i = 0; reader->lines && i < reader->samples.threads_count; i++) {
        spool_reader_free(&reader->lines[i].samples);
        spool_reader_free(&reader->lines[i].states);
    }
    free(reader->lines);
    free(reader->queue);
    tachyon_tables_free(&reader->tables);
    tachyon_samples_free(&reader->samples);
    if (reader->copied)
        close(reader->fd);
    *reader = (struct tachyon_reader){ 0 };
}

/* ---- as a source ---- */

static bool tachyon_read_kind_recognises(struct text head)
{
    return tachyon_header_recognised(head.bytes, head.size);
}

static bool tachyon_read_kind_open(void *self, int fd, struct text head, const struct source_options *options,
                                   const struct sink *to, struct fault *why)
{
    (void)options;
    return tachyon_reader_open(self, fd, head, to, why);
}

static enum source_state tachyon_read_kind_read(void *self, const struct sink *to, struct fault *why)
{
    return tachyon_read_some(self, to, why);
}

/* A file that could be opened is whole. */
static void tachyon_read_kind_report(const void *self, struct source_report *report)
{
    const struct tachyon_reader *reader = self;
    report->undated_by = "by Tachyon (date and host unknown)";
    report->ending = "it does not say what ended it";
    report->complete = true;
    report->bytes = reader->size;
    report->plain_bytes = reader->samples.plain_bytes;
}

static void tachyon_read_kind_close(void *self)
{
    tachyon_reader_close(self);
}

const struct source_kind tachyon_read_kind = {
    .name = "tachyon",
    .reader_size = sizeof(struct tachyon_reader),
    .recognises = tachyon_read_kind_recognises,
    .open = tachyon_read_kind_open,
    .read = tachyon_read_kind_read,
    .report = tachyon_read_kind_report,
    .close = tachyon_read_kind_close,
};
