/* SPDX-License-Identifier: MIT */
#include "convert/source.h"

#include "formats/base/alloc.h"
#include "formats/parts/part_join.h"
#include "formats/stream/stream_read.h"
#include "formats/tachyon/tachyon_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_ROOM ((size_t)64 << 10) /* most bytes of the first read; SOURCE_HEAD bytes are enough to find the kind */

/* All kinds of files that can be read. */
static const struct source_kind *const kinds[] = { &stream_read_kind, &tachyon_read_kind };

const struct source_kind *source_kind_of(struct text head)
{
    for (size_t i = 0; i < countof(kinds); i++)
        if (kinds[i]->recognises(head))
            return kinds[i];
    return NULL;
}

/* Reads the first bytes of the file into `room`: at least SOURCE_HEAD bytes, unless the file is shorter. Returns the
 * number of bytes, or -1 with the reason. */
static ssize_t read_head(int fd, char *room, struct fault *why)
{
    size_t size = 0;
    while (size < SOURCE_HEAD) {
        const ssize_t got = read(fd, room + size, HEAD_ROOM - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fault(why, "cannot read the recording: %s", strerror(errno));
        if (got <= 0)
            return got < 0 ? -1 : (ssize_t)size;
        size += (size_t)got;
    }
    return (ssize_t)size;
}

static bool open_head(struct source *source, int fd, struct text head, const struct source_options *options,
                      const struct sink *to, struct fault *why)
{
    const struct source_kind *kind = source_kind_of(head);
    if (!kind)
        return fault(why, head.size > 0 ? "it is not a pyreel recording" : "it is empty");
    source->kind = kind;
    source->reader = alloc_zeroed(1, kind->reader_size);
    source->damage = kind->damage ? kind->damage(source->reader) : NULL;
    return kind->open(source->reader, fd, head, options, to, why);
}

/* Opens a file with the reader of its kind. */
static bool source_open_file(struct source *source, int fd, const struct source_options *options, const struct sink *to,
                             struct fault *why)
{
    char *head = alloc_zeroed(HEAD_ROOM, 1);
    const ssize_t size = read_head(fd, head, why);
    const bool good = size >= 0 && open_head(source, fd, (struct text){ head, (size_t)size }, options, to, why);
    free(head);
    return good;
}

bool source_open(struct source *source, int fd, const struct source_options *options, const struct sink *to,
                 struct fault *why)
{
    *source = (struct source){ 0 };
    return source_open_file(source, fd, options, to, why);
}

static void close_reader(struct source *source)
{
    if (source->reader)
        source->kind->close(source->reader);
    free(source->reader);
    source->reader = NULL;
    source->damage = NULL;
}

/* ---- parts ---- */

/* A recording in parts. */
struct joined {
    const struct source_parts *parts;
    struct source_options options;
    struct part_join join;
    size_t at;                  /* index of the part that is being read, or of the last known one */
    uint32_t number;            /* of this part */
    int fd;                     /* of this part; -1: the caller's, or none */
    bool ended, finished;       /* all parts have been read; the end was given */
    struct source_report whole; /* of the parts so far */
};

static bool take_joined(void *self, struct event *event, struct fault *why)
{
    struct joined *joined = self;
    const struct source_following *following = joined->parts->following;
    if (event->kind == EVENT_END && following)
        following->ended(following->self);
    return part_join_take(&joined->join, event, why);
}

static struct sink join_sink(struct joined *joined)
{
    return (struct sink){ .take = take_joined, .self = joined };
}

static void add_damage(struct damage *sum, const struct damage *more)
{
    if (sum->first.text[0] == '\0')
        sum->first = more->first;
    sum->bytes += more->bytes;
    sum->tail += more->tail;
    sum->blocks += more->blocks;
    sum->duplicates += more->duplicates;
    sum->cut |= more->cut;
}

/* The report on the part that is being read. */
static struct source_report report_of_file(const struct source *source)
{
    struct source_report report = { .format = source->kind->name };
    if (source->damage)
        report.damage = *source->damage;
    source->kind->report(source->reader, &report);
    return report;
}

/* The report on the parts so far, and on the part that is being read. */
static struct source_report report_of_parts(const struct source *source)
{
    const struct joined *joined = source->joined;
    struct source_report whole = joined->whole;
    if (!source->reader)
        return whole;
    const struct source_report part = report_of_file(source);
    whole.format = part.format;
    whole.ending = part.ending;
    whole.complete &= part.complete;
    whole.ended &= part.ended;
    whole.bytes += part.bytes;
    whole.blocks += part.blocks;
    whole.plain_bytes += part.plain_bytes;
    whole.lost_ticks += part.lost_ticks;
    add_damage(&whole.damage, &part.damage);
    return whole;
}

/* Closes the part that is being read. */
static void leave_part(struct source *source)
{
    struct joined *joined = source->joined;
    joined->whole = report_of_parts(source);
    joined->whole.parts++;
    source->was_damaged |= source_is_damaged(source);
    close_reader(source);
    if (joined->fd >= 0)
        close(joined->fd);
    joined->fd = -1;
}

static void miss_parts(struct source *source, uint32_t count)
{
    source->joined->whole.missing += count;
    source->was_damaged |= count > 0; /* events may refer to what was lost */
}

/* Reads on in the file of a part; -1: the file could not be opened. *gap: no good part is just before it. False when
 * the file cannot be read. */
static bool enter_part(struct source *source, int fd, uint32_t number, bool *gap)
{
    struct joined *joined = source->joined;
    struct stat there;
    const struct sink sink = join_sink(joined);
    const uint32_t missing = number > joined->number ? number - joined->number - 1 : 0;
    miss_parts(source, missing);
    joined->number = number;
    joined->fd = fd;
    joined->options.file_bytes = fd >= 0 && fstat(fd, &there) == 0 ? (uint64_t)there.st_size : 0;
    part_join_next(&joined->join, *gap || missing > 0);
    if (fd >= 0 && source_open_file(source, fd, &joined->options, &sink, NULL))
        return true;
    *gap = true;
    close_reader(source);
    if (fd >= 0)
        close(fd);
    joined->fd = -1;
    miss_parts(source, 1);
    return false;
}

/* Opens the next part that can be opened. False: there is none. */
static bool open_next_part(struct source *source)
{
    struct joined *joined = source->joined;
    const struct source_parts *parts = joined->parts;
    const struct source_following *following = parts->following;
    bool gap = !joined->join.ended;
    const bool goes_on = !gap && joined->join.end.reason == END_CONTINUED;
    while (joined->at + 1 < parts->count) {
        joined->at++;
        if (enter_part(source, open(parts->paths[joined->at], O_RDONLY | O_CLOEXEC), parts->numbers[joined->at], &gap))
            return true;
    }
    uint32_t number;
    for (int fd; following && goes_on && (fd = following->open_next(following->self, &number)) >= 0;)
        if (enter_part(source, fd, number, &gap))
            return true;
    return false;
}

/* Ends the recording behind its last part. */
static enum source_state finish_parts(struct source *source, struct fault *why)
{
    struct joined *joined = source->joined;
    joined->ended = true;
    if (joined->finished)
        return SOURCE_ENDED;
    joined->finished = true;
    if (joined->join.ended && joined->join.end.reason == END_CONTINUED) {
        joined->whole.complete = false;
        joined->whole.ending = "the next part is missing";
    }
    return part_join_finish(&joined->join, why) ? SOURCE_ENDED : SOURCE_STOPPED;
}

/* Reads on in the part. An event that contradicts others of the part is damage of the part. */
static enum source_state source_read_part(struct source *source, struct fault *why)
{
    struct part_join *join = &source->joined->join;
    const struct sink sink = join_sink(source->joined);
    struct fault cause = { 0 };
    const enum source_state state = source->kind->read(source->reader, &sink, &cause);
    const bool refused = join->refused;
    join->refused = false;
    if (state != SOURCE_STOPPED)
        return state;
    if (refused && source_forgive(source, cause.text))
        return SOURCE_MORE;
    fault(why, "%s", cause.text);
    return SOURCE_STOPPED;
}

static enum source_state read_parts(struct source *source, struct fault *why)
{
    if (source->joined->ended)
        return finish_parts(source, why);
    const enum source_state state = source_read_part(source, why);
    if (state != SOURCE_ENDED)
        return state;
    leave_part(source);
    return open_next_part(source) ? SOURCE_MORE : finish_parts(source, why);
}

bool source_open_parts(struct source *source, int fd, const struct source_parts *parts,
                       const struct source_options *options, const struct sink *to, struct fault *why)
{
    *source = (struct source){ .joined = alloc_zeroed(1, sizeof(struct joined)) };
    struct joined *joined = source->joined;
    *joined = (struct joined){ .parts = parts, .options = *options, .number = parts->numbers[0], .fd = -1 };
    joined->whole = (struct source_report){ .complete = true, .ended = true, .before = parts->numbers[0] - 1 };
    joined->join.to = *to;
    part_join_next(&joined->join, false);
    const struct sink sink = join_sink(joined);
    return source_open_file(source, fd, &joined->options, &sink, why);
}

/* ---- any recording ---- */

enum source_state source_read(struct source *source, const struct sink *to, struct fault *why)
{
    if (!source->joined)
        return source->kind->read(source->reader, to, why);
    source->joined->join.to = *to;
    return read_parts(source, why);
}

bool source_forgive(struct source *source, const char *what)
{
    if (!source->reader || !source->kind->forgive)
        return false;
    source->kind->forgive(source->reader, what);
    return true;
}

struct source_report source_report(const struct source *source)
{
    return source->joined ? report_of_parts(source) : report_of_file(source);
}

void source_close(struct source *source)
{
    close_reader(source);
    if (source->joined) {
        part_join_free(&source->joined->join);
        if (source->joined->fd >= 0)
            close(source->joined->fd);
        free(source->joined);
    }
    *source = (struct source){ 0 };
}
