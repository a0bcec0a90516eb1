/* SPDX-License-Identifier: MIT */
/* A recording whose one block of events is what a fuzzer made up, with a header that is in order. */
#ifndef PYREEL_TESTS_FUZZ_RECORDING_H
#define PYREEL_TESTS_FUZZ_RECORDING_H

#include "formats/stream/block_write.h"
#include "formats/stream/stream_fields.h"

/* False when it could not be written. */
static inline bool write_made_up(int fd, const struct recording *recording, const uint8_t *payload, size_t size)
{
    const struct bytes events = { (unsigned char *)payload, size, size };
    struct bytes header = { 0 };
    struct block_writer writer;
    stream_fields_put_recording(&header, recording);
    block_writer_open(&writer, fd, CODEC_PLAIN);
    const bool good = block_write(&writer, BLOCK_HEADER, &header, NULL) &&
                      block_write(&writer, BLOCK_EVENTS, &events, NULL);
    block_writer_close(&writer);
    bytes_free(&header);
    return good;
}

#endif
