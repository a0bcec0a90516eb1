/* SPDX-License-Identifier: MIT */
#include "convert/source.h"

#include "formats/base/alloc.h"
#include "formats/stream/stream_read.h"
#include "formats/tachyon/tachyon_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

bool source_open(struct source *source, int fd, const struct source_options *options, const struct sink *to,
                 struct fault *why)
{
    *source = (struct source){ 0 };
    char *head = alloc_zeroed(HEAD_ROOM, 1);
    const ssize_t size = read_head(fd, head, why);
    const bool good = size >= 0 && open_head(source, fd, (struct text){ head, (size_t)size }, options, to, why);
    free(head);
    return good;
}

enum source_state source_read(struct source *source, const struct sink *to, struct fault *why)
{
    return source->kind->read(source->reader, to, why);
}

bool source_sums(struct source *source, struct tables *tables)
{
    return source->kind->sums && source->kind->sums(source->reader, tables);
}

bool source_agrees(const struct source *source, const struct tables *tables)
{
    return !source->kind->agrees || source->kind->agrees(source->reader, tables);
}

bool source_forgive(struct source *source, const char *what)
{
    if (!source->kind->forgive)
        return false;
    source->kind->forgive(source->reader, what);
    return true;
}

struct source_report source_report(const struct source *source)
{
    struct source_report report = { .format = source->kind->name };
    if (source->damage)
        report.damage = *source->damage;
    source->kind->report(source->reader, &report);
    return report;
}

void source_close(struct source *source)
{
    if (source->reader)
        source->kind->close(source->reader);
    free(source->reader);
    *source = (struct source){ 0 };
}
