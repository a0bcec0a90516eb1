/* SPDX-License-Identifier: MIT */
/* Writes a message as OTLP's JSON: the names of fields in lowerCamelCase, 64-bit numbers as strings, bytes as hexadecimal
 * digits, and no field that has its default. The fields are those that protobuf-c knows of the message. */
#ifndef PYREEL_FORMATS_OTLP_OTLP_JSON_H
#define PYREEL_FORMATS_OTLP_OTLP_JSON_H

#include "formats/base/output.h"

#include <protobuf-c/protobuf-c.h>

/* Write errors are kept in `to`. */
void otlp_json_write(struct output *to, const ProtobufCMessage *message);

#endif
