/* SPDX-License-Identifier: MIT */
#include "convert/source.h"

/* The stream's reader has looked at the first bytes and refused them. */
static bool open_tachyon(struct source *source, int fd, const struct sink *to, struct fault *why)
{
    struct block_reader *blocks = &source->stream.blocks;
    const struct text begun = { (const char *)blocks->window + blocks->start, blocks->end - blocks->start };
    if (!tachyon_header_recognised(begun.bytes, begun.size))
        return false;
    if (why)
        why->text[0] = '\0';
    source->of_tachyon = true;
    if (!tachyon_reader_open(&source->tachyon, fd, begun, to, why))
        return false;
    blocks->bytes_read = source->tachyon.size;
    blocks->good_plain = source->tachyon.samples.plain_bytes;
    source->stream.complete = true;
    return true;
}

bool source_open(struct source *source, int fd, const struct sink *to, struct fault *why)
{
    *source = (struct source){ 0 };
    return stream_reader_open(&source->stream, fd, to, why) || open_tachyon(source, fd, to, why);
}

enum source_state source_read(struct source *source, const struct sink *to, struct fault *why)
{
    return source->of_tachyon ? tachyon_read_some(&source->tachyon, to, why)
                              : stream_read_block(&source->stream, to, why);
}

void source_close(struct source *source)
{
    stream_reader_close(&source->stream);
    tachyon_reader_close(&source->tachyon);
    *source = (struct source){ 0 };
}

const char *source_ending(const struct source *source, enum end_reason reason)
{
    if (source->of_tachyon)
        return "it does not say what ended it";
    if (source->stream.ended)
        return event_end_reason_text(reason);
    return source->stream.blocks.damage.cut ? "it is cut off" : "it has no end (was the recorder killed?)";
}
