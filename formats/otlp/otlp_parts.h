/* SPDX-License-Identifier: MIT */
/* The parts of a message that is written once: all are freed together. */
#ifndef PYREEL_FORMATS_OTLP_OTLP_PARTS_H
#define PYREEL_FORMATS_OTLP_OTLP_PARTS_H

#include <stddef.h>

/* `= {0}` is empty. */
struct otlp_parts {
    void **rows;
    size_t count, room;
};

/* Zeroed room for `count` things of `size` bytes. */
void *otlp_parts_new(struct otlp_parts *parts, size_t count, size_t size);

/* A list of pointers to `count` messages of `size` bytes in an array, as protobuf-c wants it. */
void *otlp_parts_list(struct otlp_parts *parts, void *messages, size_t count, size_t size);

/* A copy of a text as a string. */
char *otlp_parts_string(struct otlp_parts *parts, const char *bytes, size_t size);

/* Frees all. */
void otlp_parts_free(struct otlp_parts *parts);

#endif
