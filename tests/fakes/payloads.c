/* SPDX-License-Identifier: MIT */
#include "tests/fakes/payloads.h"

#include "formats/base/alloc.h"
#include "formats/stream/block_read.h"
#include "formats/stream/block_write.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <unistd.h>

#define THREADS 5

uint64_t random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t drawn = *state >> 20;
    return drawn % 16 == 0 ? drawn >> drawn % 43 : drawn >> 4 & 31;
}

/* Frames, and rounds of those before them in the stack, of which `there` are. */
static void put_frames(struct bytes *to, uint64_t *state, uint64_t there, bool sane)
{
    const uint64_t count = random_number(state) % 40;
    put_number(to, count);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t frame = random_number(state) % 9;
        if (frame != 0 || (sane && there + i == 0)) {
            put_number(to, frame + 1);
            continue;
        }
        const uint64_t distance = random_number(state), length = random_number(state) % (count - i) + 1;
        put_number(to, 0);
        put_number(to, sane ? distance % (there + i) + 1 : distance);
        put_number(to, length);
        i += length - 1;
    }
}

/* How many frames the last record has, of which so much is there. */
static uint64_t count_of(const struct bytes *payload, size_t at)
{
    struct cursor from = cursor_of(payload->at + at, payload->size - at);
    return take_number(&from);
}

static void put_sane_stack(struct bytes *to, uint64_t *state, uint64_t *depths)
{
    const uint64_t thread = random_number(state) % THREADS;
    const uint64_t pop = random_number(state) % (depths[thread] + 1), keep = depths[thread] - pop;
    put_number(to, thread << 3 | (pop < keep ? RECORD_POP_PUSH : RECORD_SUFFIX));
    put_number(to, pop < keep ? pop : keep);
    const size_t count_at = to->size;
    put_frames(to, state, keep, true);
    depths[thread] = keep + count_of(to, count_at);
}

/* Of a kind that has columns, or of one that nobody knows; with bytes behind what is known, or fewer. */
static void put_random_note(struct bytes *to, uint64_t *state)
{
    struct bytes fields = { 0 };
    put_number(to, random_number(state) % 20 << 3 | RECORD_NOTE);
    for (uint64_t i = 0; i < 6; i++)
        put_number(&fields, random_number(state));
    for (uint64_t i = random_number(state) % 8; i > 0; i--)
        put_number(&fields, random_number(state));
    put_number(to, fields.size);
    put_bytes(to, fields.at, fields.size);
    bytes_free(&fields);
}

void put_long_note(struct bytes *payload, uint64_t kind, size_t text)
{
    struct bytes fields = { 0 };
    for (uint64_t field = 0; field < 3; field++)
        put_number(&fields, UINT64_MAX >> 21 * field);
    for (size_t i = 0; i < text; i++)
        put_bytes(&fields, i == 0 ? "a" : i == 1 ? "b" : "", 1);
    put_number(payload, kind << 3 | RECORD_NOTE);
    put_number(payload, fields.size);
    put_bytes(payload, fields.at, fields.size);
    bytes_free(&fields);
}

static void put_random_record(struct bytes *to, uint64_t *state, uint64_t *depths, bool sane)
{
    const uint64_t kind = random_number(state) % 7 + 1;
    const bool has_stack = kind == RECORD_SUFFIX || kind == RECORD_POP_PUSH;
    if (kind == RECORD_NOTE) {
        put_random_note(to, state);
    } else if (has_stack && sane) {
        put_sane_stack(to, state, depths);
    } else {
        put_number(to, random_number(state) << 3 | kind);
        if (has_stack || kind == RECORD_FAILED)
            put_number(to, random_number(state));
        if (has_stack)
            put_frames(to, state, 0, false);
    }
}

struct bytes random_payload(uint64_t *state, bool sane)
{
    struct bytes payload = { 0 };
    uint64_t depths[THREADS] = { 0 };
    put_number(&payload, random_number(state));
    for (uint64_t i = random_number(state) * 4; i > 0 && payload.size < 20000; i--)
        put_random_record(&payload, state, depths, sane);
    return payload;
}

/* ---- codecs ---- */

const struct strange_payload strange_payloads[] = {
    { "no base", 0, { 0 } },
    { "a record of no kind", 2, { 0, 8 } },
    { "a number longer than it need be", 3, { 0, 0x81, 0 } },
    { "a cut number", 2, { 0, 0x81 } },
    { "a stack that is cut", 5, { 0, 0x0B, 0, 2, 1 } },
    { "a round of more frames than there are", 8, { 0, 0x0B, 0, 3, 1, 0, 1, 3 } },
    { "a note larger than the rest", 4, { 0, 0x27, 9, 1 } },
    { "a status without its fields", 4, { 0, 0x5F, 1, 1 } },
    { "a number of more than 64 bits", 12, { 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2 } },
};
const size_t strange_payloads_count = countof(strange_payloads);
