/* SPDX-License-Identifier: MIT */
#include "record/labels/process_context.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT_MAGIC   "OTEL_CTX"
#define CONTEXT_VERSION 2
#define HEAD_SIZE       32
#define VERSION_AT      8
#define SIZE_AT         12
#define PUBLISHED_AT    16
#define PAYLOAD_AT      24

/* Numbers of fields. */
enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2, RESOURCE_ATTRIBUTES = 1, PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_BOOL = 2, VALUE_INT = 3 };

/* ---- protobuf ---- */

enum wire { WIRE_NUMBER = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct field {
    uint64_t number;
    enum wire wire;
    uint64_t value;    /* WIRE_NUMBER */
    struct text bytes; /* WIRE_BYTES */
};

/* Takes the next field. False: there is none, or the message is broken. */
static bool context_take_field(struct cursor *from, struct field *field)
{
    if (cursor_left(from) == 0)
        return false;
    const uint64_t tag = take_number(from);
    *field = (struct field){ .number = tag >> 3, .wire = tag & 7 };
    switch (field->wire) {
    case WIRE_NUMBER:
        field->value = take_number(from);
        break;
    case WIRE_BYTES: {
        const struct cursor part = take_part(from, take_number(from));
        field->bytes = (struct text){ (const char *)part.at, cursor_left(&part) };
        break;
    }
    case WIRE_64:
    case WIRE_32:
        take_part(from, field->wire == WIRE_64 ? 8 : 4);
        break;
    default:
        from->bad = true;
    }
    return !from->bad;
}

static struct cursor context_cursor(struct text bytes)
{
    return cursor_of(bytes.bytes, bytes.size);
}

/* The last field of a message that has this number and is bytes; no bytes if there is none. */
static struct text find_bytes(struct text message, uint64_t number)
{
    struct cursor from = context_cursor(message);
    struct text found = { 0 };
    for (struct field field; context_take_field(&from, &field);)
        if (field.number == number && field.wire == WIRE_BYTES)
            found = field.bytes;
    return found;
}

/* ---- attributes ---- */

/* Appends bytes of the program as a part of a line. */
static void put_raw(struct bytes *lines, struct text raw)
{
    for (size_t i = 0; i < raw.size; i++)
        put_bytes(lines, raw.bytes[i] == '\n' || raw.bytes[i] == '\0' ? " " : &raw.bytes[i], 1);
}

/* Appends a value that is a text, a number or a truth value. False: it is none of these. */
static bool put_value(struct bytes *lines, struct text value)
{
    struct cursor from = context_cursor(value);
    bool put = false;
    for (struct field field; !put && context_take_field(&from, &field);) {
        put = true;
        if (field.number == VALUE_STRING && field.wire == WIRE_BYTES)
            put_raw(lines, field.bytes);
        else if (field.number == VALUE_BOOL && field.wire == WIRE_NUMBER)
            put_string(lines, field.value ? "true" : "false");
        else if (field.number == VALUE_INT && field.wire == WIRE_NUMBER)
            put_format(lines, "%" PRId64, (int64_t)field.value);
        else
            put = false;
    }
    return put;
}

static void put_pair(struct bytes *lines, struct text pair)
{
    const size_t before = lines->size;
    const struct text key = find_bytes(pair, PAIR_KEY);
    put_raw(lines, key);
    put_string(lines, "=");
    if (key.size == 0 || memchr(key.bytes, '=', key.size) || !put_value(lines, find_bytes(pair, PAIR_VALUE)))
        lines->size = before;
    else
        put_string(lines, "\n");
}

static void put_resource(struct bytes *lines, struct text resource)
{
    struct cursor from = context_cursor(resource);
    for (struct field field; context_take_field(&from, &field);)
        if (field.number == RESOURCE_ATTRIBUTES && field.wire == WIRE_BYTES)
            put_pair(lines, field.bytes);
}

/* Whether an attribute says that threads publish their spans in a variable of a library. */
static bool tells_of_threads(struct text pair)
{
    const struct text version = find_bytes(find_bytes(pair, PAIR_VALUE), VALUE_STRING);
    return text_equal(find_bytes(pair, PAIR_KEY), TEXT("threadlocal.schema_version")) &&
           text_begins(version, TEXT("tls"));
}

bool process_context_put(struct bytes *lines, struct text payload)
{
    struct cursor from = context_cursor(payload);
    bool threads = false;
    for (struct field field; context_take_field(&from, &field);) {
        if (field.number == CONTEXT_RESOURCE && field.wire == WIRE_BYTES)
            put_resource(lines, field.bytes);
        if (field.number == CONTEXT_ATTRIBUTES && field.wire == WIRE_BYTES)
            threads |= tells_of_threads(field.bytes);
    }
    return threads;
}

/* ---- the mapping ---- */

/* Reads the payload. False: it was changed meanwhile, or is not there. */
static bool read_payload(struct process_context *context, struct remote *remote, const unsigned char head[HEAD_SIZE])
{
    const uint32_t size = half_word_at(head, SIZE_AT);
    uint64_t after = 0;
    if (size > PROCESS_CONTEXT_MOST)
        return false;
    unsigned char *payload = alloc_zeroed(size + 1, 1);
    const struct piece pieces[] = { { word_at(head, PAYLOAD_AT), size, payload },
                                    { context->address + PUBLISHED_AT, sizeof(after), &after } };
    const bool whole = remote_read_pieces(remote, pieces + (size == 0), countof(pieces) - (size == 0), NULL) ==
                           REMOTE_READ &&
                       after == word_at(head, PUBLISHED_AT);
    if (whole) {
        context->lines.size = 0;
        context->threads = process_context_put(&context->lines, (struct text){ (const char *)payload, size });
        context->published_ns = after;
    }
    free(payload);
    return whole;
}

bool process_context_look(struct process_context *context, struct remote *remote)
{
    unsigned char head[HEAD_SIZE];
    if (!context->address)
        return false;
    if (remote_read(remote, context->address, head, sizeof(head)) != REMOTE_READ ||
        memcmp(head, CONTEXT_MAGIC, strlen(CONTEXT_MAGIC)) != 0 || half_word_at(head, VERSION_AT) != CONTEXT_VERSION) {
        process_context_close(context);
        return false;
    }
    const uint64_t published_ns = word_at(head, PUBLISHED_AT);
    return published_ns != 0 && published_ns != context->published_ns && read_payload(context, remote, head);
}

bool process_context_open(struct process_context *context, struct remote *remote, const struct mapping *mapping)
{
    context->address = mapping->low;
    if (process_context_look(context, remote))
        return true;
    process_context_close(context);
    return false;
}

void process_context_close(struct process_context *context)
{
    bytes_free(&context->lines);
    *context = (struct process_context){ 0 };
}
