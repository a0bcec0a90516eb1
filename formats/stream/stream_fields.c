/* SPDX-License-Identifier: MIT */
#include "formats/stream/stream_fields.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <string.h>

struct stream_fields_field {
    uint32_t number;
    enum { TEXT_FIELD, NUMBER_FIELD, OPTIONAL_NUMBER_FIELD } holds; /* optional: not written when it is 0 */
    size_t offset, size;                                            /* of the struct member that holds the field */
};

#define FIELD(number, holds, type, member) { number, holds, offsetof(type, member), sizeof(((type *)0)->member) }

static const struct stream_fields_field recording_fields[] = {
    FIELD(1, NUMBER_FIELD, struct recording, format_version),
    FIELD(2, TEXT_FIELD, struct recording, pyreel_version),
    FIELD(3, TEXT_FIELD, struct recording, host),
    FIELD(4, TEXT_FIELD, struct recording, kernel),
    FIELD(5, TEXT_FIELD, struct recording, machine),
    FIELD(6, NUMBER_FIELD, struct recording, start_unix_ns),
    FIELD(7, NUMBER_FIELD, struct recording, start_monotonic_ns),
    FIELD(8, NUMBER_FIELD, struct recording, interval_ns),
    FIELD(9, NUMBER_FIELD, struct recording, time_unit_ns),
    FIELD(10, TEXT_FIELD, struct recording, mode),
    FIELD(11, TEXT_FIELD, struct recording, threads_option),
    FIELD(12, TEXT_FIELD, struct recording, command),
    FIELD(13, NUMBER_FIELD, struct recording, attached),
    FIELD(14, NUMBER_FIELD, struct recording, processors),
    FIELD(15, TEXT_FIELD, struct recording, processor),
    FIELD(16, NUMBER_FIELD, struct recording, memory_bytes),
    FIELD(19, OPTIONAL_NUMBER_FIELD, struct recording, cores),
    FIELD(20, OPTIONAL_NUMBER_FIELD, struct recording, process_ticks),
    FIELD(24, OPTIONAL_NUMBER_FIELD, struct recording, series),
    FIELD(25, OPTIONAL_NUMBER_FIELD, struct recording, part),
};

/* The fields of END as numbers: the members of struct end have other types and units. */
struct end_numbers {
    uint64_t reason, time_units, ticks, samples, missed, failed, wait_status_plus_1;
};

static const struct stream_fields_field end_fields[] = {
    FIELD(1, NUMBER_FIELD, struct end_numbers, reason),
    FIELD(2, NUMBER_FIELD, struct end_numbers, time_units),
    FIELD(3, NUMBER_FIELD, struct end_numbers, ticks),
    FIELD(4, NUMBER_FIELD, struct end_numbers, samples),
    FIELD(5, NUMBER_FIELD, struct end_numbers, missed),
    FIELD(6, NUMBER_FIELD, struct end_numbers, failed),
    FIELD(7, NUMBER_FIELD, struct end_numbers, wait_status_plus_1),
};

void stream_fields_put_number(struct bytes *to, uint32_t number, uint64_t value)
{
    struct bytes digits = { 0 };
    put_number(&digits, value);
    put_number(to, number);
    put_number(to, digits.size);
    put_bytes(to, digits.at, digits.size);
    bytes_free(&digits);
}

static void put_fields(struct bytes *to, const struct stream_fields_field *fields, size_t count, const void *from)
{
    for (const struct stream_fields_field *field = fields; field < fields + count; field++) {
        const void *member = (const char *)from + field->offset;
        if (field->holds == TEXT_FIELD) {
            put_number(to, field->number);
            put_text(to, *(const struct text *)member);
            continue;
        }
        uint64_t value = 0; /* little-endian: a smaller member fills the low bytes */
        memcpy(&value, member, field->size);
        if (value || field->holds == NUMBER_FIELD)
            stream_fields_put_number(to, field->number, value);
    }
}

static void take_field(struct cursor from, const struct stream_fields_field *field, void *to)
{
    void *member = (char *)to + field->offset;
    if (field->holds == TEXT_FIELD) {
        const struct text text = { (const char *)from.at, cursor_left(&from) };
        if (utf8_valid(text.bytes, text.size))
            *(struct text *)member = text;
        return;
    }
    uint64_t value = take_number(&from);
    if (field->size < sizeof(value) && value >> 8 * field->size)
        value = UINT64_MAX; /* a number that does not fit the member becomes the largest number */
    memcpy(member, &value, field->size);
}

static bool take_fields(struct cursor from, const struct stream_fields_field *fields, size_t count, void *to)
{
    while (cursor_left(&from) > 0) {
        const uint64_t number = take_number(&from);
        const struct cursor part = take_part(&from, take_number(&from));
        for (const struct stream_fields_field *field = fields; field < fields + count && !from.bad; field++)
            if (field->number == number)
                take_field(part, field, to);
    }
    return !from.bad;
}

void stream_fields_put_recording(struct bytes *to, const struct recording *recording)
{
    put_fields(to, recording_fields, countof(recording_fields), recording);
}

bool stream_fields_take_recording(struct cursor from, struct recording *recording)
{
    return take_fields(from, recording_fields, countof(recording_fields), recording);
}

void stream_fields_put_end(struct bytes *to, const struct end *end, uint64_t unit_ns)
{
    const struct end_numbers numbers = {
        .reason = end->reason,
        .time_units = end->time_ns / unit_ns,
        .ticks = end->ticks,
        .samples = end->samples,
        .missed = end->missed,
        .failed = end->failed,
        .wait_status_plus_1 = (uint64_t)(end->wait_status + 1),
    };
    put_fields(to, end_fields, countof(end_fields), &numbers);
}

bool stream_fields_take_end(struct cursor from, struct end *end, uint64_t unit_ns)
{
    struct end_numbers numbers = { 0 };
    if (!take_fields(from, end_fields, countof(end_fields), &numbers))
        return false;
    *end = (struct end){
        .reason = numbers.reason < END_REASONS ? (enum end_reason)numbers.reason : END_ERROR,
        .time_ns = numbers.time_units * unit_ns,
        .ticks = numbers.ticks,
        .samples = numbers.samples,
        .missed = numbers.missed,
        .failed = numbers.failed,
        .wait_status = (int)(numbers.wait_status_plus_1 - 1),
    };
    return true;
}
