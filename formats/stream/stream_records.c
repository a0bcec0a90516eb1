/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_records.h"

#define PERIOD_MOST    4 /* longest cycle of a recursion, in frames, ... */
#define REPEATED_LEAST 8 /* ... and fewest repeated frames, that are written as a repetition */

void stream_records_put_tag(struct bytes *to, enum stream_record kind, uint64_t argument)
{
    put_number(to, argument << 3 | kind);
}

void stream_records_put_numbers_note(struct bytes *to, enum stream_note note, const uint64_t *numbers, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += number_size(numbers[i]);
    stream_records_put_tag(to, RECORD_NOTE, note);
    put_number(to, size);
    for (size_t i = 0; i < count; i++)
        put_number(to, numbers[i]);
}

/* How many frames from index `at` on are equal to the frames `distance` before them. */
static uint32_t repeated(const uint32_t *frames, uint32_t count, uint32_t at, uint32_t distance)
{
    uint32_t length = 0;
    while (at + length < count && frames[at + length] == frames[at + length - distance])
        length++;
    return length;
}

void stream_records_put_frames(struct bytes *to, const uint32_t *frames, uint32_t count)
{
    put_number(to, count);
    for (uint32_t at = 0; at < count;) {
        uint32_t distance = 0, length = 0;
        while (distance < PERIOD_MOST && distance < at && length < REPEATED_LEAST)
            length = repeated(frames, count, at, ++distance);
        if (length < REPEATED_LEAST) {
            put_number(to, frames[at++]);
            continue;
        }
        put_number(to, 0);
        put_number(to, distance);
        put_number(to, length);
        at += length;
    }
}
