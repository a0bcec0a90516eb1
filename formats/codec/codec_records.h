/* SPDX-License-Identifier: MIT */
/* The walk over the records of a payload (schemas/stream.md, "Records") for codec_group.c and codec_predict.c. An
 * encoder takes each number from the payload and codes the number. A decoder decodes each number and puts the number
 * into the payload. Each record takes at least a byte of the payload, so a walk ends.
 *
 * The codec passes a table of functions. The table is known at compile time, so the compiler inlines the functions into
 * the walk. `decodes` is mostly known at compile time, too.
 *
 * codec_ungroup.c has a walk of its own: this walk checks the room for each number, and ungrouping would take a tenth
 * more instructions. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_RECORDS_H
#define PYREEL_FORMATS_CODEC_CODEC_RECORDS_H

#include "formats/codec/codec_columns.h"

#include <string.h>

/* Without the attribute, the compiler calls the functions of the table by their addresses. */
#define WALK_INLINE static inline __attribute__((always_inline))

/* A walk; the first member of the codec's own struct. */
struct records {
    bool bad;
    struct cursor payload;                        /* encoder: rest of the payload */
    unsigned char *to, *end;                      /* decoder: room for the rest of the payload */
    uint64_t last[GROUP_NOTES][GROUP_FIELDS];     /* fields of the last note of each kind */
    uint64_t last_of[GROUP_NOTES][GROUP_THREADS]; /* fields coded as DIFFERENCE_OF */
};

/* How a codec codes the parts of a record. The functions that return a number return the number that the encoder was
 * given; a decoder ignores its argument and returns the decoded number. */
struct record_codec {
    /* Codes a tag. A decoder may take SUFFIX for POP-PUSH here, because `stack` puts the tag. */
    uint64_t (*tag)(struct records *records, uint64_t tag);
    /* Codes a SUFFIX or POP-PUSH without the tag. A decoder puts the tag, too. */
    void (*stack)(struct records *records, uint64_t tag);
    /* Codes the cause of FAILED. */
    uint64_t (*cause)(struct records *records, uint64_t cause);
    /* Codes a field of a note that has a column; `coded` is the field or its difference (note_columns). */
    uint64_t (*field)(struct records *records, uint64_t note, unsigned field, uint64_t coded);
    /* Codes the bytes of a note behind these fields. An encoder takes the bytes up to payload.end. */
    void (*behind)(struct records *records, uint64_t note);
};

/* Encoder: takes a number from the payload. Bad if the number is coded in more bytes than necessary: decoding would
 * give fewer bytes. Decoder: returns 0. */
static inline uint64_t records_take(struct records *records, bool decodes)
{
    if (decodes)
        return 0;
    /* Most numbers take one byte. */
    if (records->payload.at < records->payload.end && *records->payload.at < 0x80)
        return *records->payload.at++;
    const unsigned char *before = records->payload.at;
    const uint64_t value = take_number(&records->payload);
    records->bad |= records->payload.bad || (size_t)(records->payload.at - before) != number_size(value);
    return value;
}

/* Decoder: whether `size` bytes have room. */
static inline bool records_have_room(struct records *records, size_t size)
{
    records->bad |= size > (size_t)(records->end - records->to);
    return !records->bad;
}

/* Decoder: puts a number into the payload. */
static inline void records_put(struct records *records, bool decodes, uint64_t value)
{
    if (decodes && records_have_room(records, number_size(value)))
        records->to = number_write(records->to, value);
}

/* Codes the fields of a note that have columns. */
WALK_INLINE void records_fields(struct records *records, const struct record_codec *codec, bool decodes, uint64_t note)
{
    const struct note_columns *const columns = &note_columns[note];
    uint64_t first = 0;
    for (unsigned i = 0; i < columns->fields && !records->bad; i++) {
        const bool as_it_is = columns->field[i].coding == AS_IT_IS, of = columns->field[i].coding == DIFFERENCE_OF;
        uint64_t *const last = of ? &records->last_of[note][first % GROUP_THREADS] : &records->last[note][i];
        uint64_t value = records_take(records, decodes);
        const uint64_t coded = as_it_is ? value : signed_to_number((int64_t)(value - *last));
        const uint64_t found = codec->field(records, note, i, coded);
        if (decodes)
            value = as_it_is ? found : *last + (uint64_t)number_to_signed(found);
        *last = value;
        records_put(records, decodes, value);
        if (i == 0)
            first = value;
    }
}

/* Codes the inside of a note. */
WALK_INLINE void records_inside(struct records *records, const struct record_codec *codec, bool decodes, uint64_t note)
{
    if (note < GROUP_NOTES)
        records_fields(records, codec, decodes, note);
    codec->behind(records, note);
}

/* Encoder: codes a note. In the payload, the size of all fields comes first. */
WALK_INLINE void records_take_note(struct records *records, const struct record_codec *codec, uint64_t note)
{
    const unsigned char *const end = records->payload.end;
    const uint64_t size = records_take(records, false);
    records->bad |= size > cursor_left(&records->payload);
    if (records->bad)
        return;
    records->payload.end = records->payload.at + size;
    records_inside(records, codec, false, note);
    records->payload.end = end;
}

/* Decoder: puts a note. The size comes before the fields and mostly takes one byte, so one byte is reserved; a longer
 * size moves the fields. */
WALK_INLINE void records_put_note(struct records *records, const struct record_codec *codec, uint64_t note)
{
    unsigned char *const size_at = records->to;
    records_put(records, true, 0);
    if (records->bad)
        return;
    records_inside(records, codec, true, note);
    const size_t size = (size_t)(records->to - size_at) - 1, longer = number_size(size) - 1;
    if (records->bad || !records_have_room(records, longer))
        return;
    memmove(size_at + 1 + longer, size_at + 1, size);
    records->to = size_at;
    records_put(records, true, size);
    records->to += size;
}

/* Codes a record. */
WALK_INLINE void records_code(struct records *records, const struct record_codec *codec, bool decodes)
{
    const uint64_t taken = records_take(records, decodes);
    if (!decodes && (taken & 7) == 0)
        records->bad = true;
    const uint64_t tag = codec->tag(records, taken), kind = tag & 7;
    if (records->bad)
        return;
    if (kind == RECORD_SUFFIX || kind == RECORD_POP_PUSH) {
        codec->stack(records, tag);
        return;
    }
    records_put(records, decodes, tag);
    if (kind == RECORD_FAILED)
        records_put(records, decodes, codec->cause(records, records_take(records, decodes)));
    else if (kind == RECORD_NOTE && decodes)
        records_put_note(records, codec, tag >> 3);
    else if (kind == RECORD_NOTE)
        records_take_note(records, codec, tag >> 3);
}

#endif
