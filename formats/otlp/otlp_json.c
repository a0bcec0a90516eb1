/* SPDX-License-Identifier: MIT */
#include "formats/otlp/otlp_json.h"

#include "formats/base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_ROOM 64 /* of a field's name */

/* trace_id -> traceId. */
static const char *camel(char room[NAME_ROOM], const char *name)
{
    size_t size = 0;
    bool upper = false;
    for (; *name && size < NAME_ROOM - 1; name++) {
        if (*name == '_') {
            upper = true;
            continue;
        }
        room[size++] = upper && *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name;
        upper = false;
    }
    room[size] = '\0';
    return room;
}

static void emit_long(struct json_emitter *json, const char *key, bool has_sign, uint64_t value)
{
    char digits[24];
    const int size = has_sign ? snprintf(digits, sizeof(digits), "%" PRId64, (int64_t)value)
                              : snprintf(digits, sizeof(digits), "%" PRIu64, value);
    emit_text(json, key, (struct text){ digits, (size_t)size });
}

static void emit_bytes(struct json_emitter *json, const char *key, const ProtobufCBinaryData *bytes)
{
    char digits[2 * 16 + 1] = ""; /* an id has 16 bytes at most */
    for (size_t i = 0; i < bytes->len && i < 16; i++)
        snprintf(digits + 2 * i, 3, "%02x", bytes->data[i]);
    emit_text(json, key, text_of(digits));
}

static void emit_message(struct json_emitter *json, const char *key, const ProtobufCMessage *message);

/* Writes one value of a field, which lies at `at`. */
static void emit_field_value(struct json_emitter *json, const char *key, ProtobufCType type, const void *at)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        emit_long(json, key, type != PROTOBUF_C_TYPE_UINT64 && type != PROTOBUF_C_TYPE_FIXED64, *(const uint64_t *)at);
        return;
    case PROTOBUF_C_TYPE_STRING:
        emit_text(json, key, text_of(*(const char *const *)at));
        return;
    case PROTOBUF_C_TYPE_BYTES:
        emit_bytes(json, key, at);
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        emit_message(json, key, *(const ProtobufCMessage *const *)at);
        return;
    default: /* schemas/otlp.proto has no other type of 32 bits than int32 */
        emit_integer(json, key, *(const int32_t *)at);
    }
}

static size_t field_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
        return sizeof(int32_t);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return sizeof(uint64_t); /* 64 bits, or a pointer */
    }
}

/* Whether a field has another value than its default. One of several has a value, whatever it is. */
static bool is_told(const ProtobufCFieldDescriptor *field, const char *message)
{
    static const char zeros[sizeof(ProtobufCBinaryData)];
    const char *at = message + field->offset;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)(message + field->quantifier_offset) == field->id;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return *(const char *const *)at && **(const char *const *)at;
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)at)->len > 0;
    return memcmp(at, zeros, field_size(field->type)) != 0;
}

static void emit_repeated(struct json_emitter *json, const char *key, const ProtobufCFieldDescriptor *field,
                          const char *message)
{
    const size_t count = *(const size_t *)(message + field->quantifier_offset);
    const char *items = *(const char *const *)(message + field->offset);
    if (count == 0)
        return;
    emit_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        emit_field_value(json, NULL, field->type, items + i * field_size(field->type));
    emit_close(json, ']');
}

/* Messages lie no deeper in one another than the schema says. */
static void emit_message(struct json_emitter *json, const char *key, const ProtobufCMessage *message)
{
    emit_open(json, key, '{');
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        char room[NAME_ROOM];
        const char *name = camel(room, field->name);
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            emit_repeated(json, name, field, (const char *)message);
        else if (is_told(field, (const char *)message))
            emit_field_value(json, name, field->type, (const char *)message + field->offset);
    }
    emit_close(json, '}');
}

void otlp_json_write(struct output *to, const ProtobufCMessage *message)
{
    struct json_emitter json = { .to = to };
    emit_message(&json, NULL, message);
    output_string(to, "\n");
}
