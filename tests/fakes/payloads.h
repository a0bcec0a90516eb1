/* SPDX-License-Identifier: MIT */
/* Payloads of EVENTS blocks that nobody recorded: records of all kinds, mostly nonsense. */
#ifndef PYREEL_TESTS_FAKES_PAYLOADS_H
#define PYREEL_TESTS_FAKES_PAYLOADS_H

#include "formats/base/bytes.h"
#include "formats/codec/stream_format.h"

/* The same numbers in each run, most of them small. */
uint64_t random_number(uint64_t *state);

/* A note of three numbers, of ten bytes to four, and so many bytes of text. */
void put_long_note(struct bytes *payload, uint64_t kind, size_t text);

/* A payload of at most some 20,000 bytes; the caller frees it. With `sane` stacks what goes was there, and is told from
 * the end that a writer chooses. */
struct bytes random_payload(uint64_t *state, bool sane);

/* Payloads that no codec gives back byte for byte: they must be stored as they are. */
extern const struct strange_payload {
    const char *what;
    size_t size;
    unsigned char bytes[20];
} strange_payloads[];
extern const size_t strange_payloads_count;

#endif
