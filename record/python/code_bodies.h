/* SPDX-License-Identifier: MIT */
/* The bodies of code objects: what all code objects of the same function have in common, in all processes of a
 * recording. A body is found by its content, so nobody has to know which process was forked by which. Where a code
 * object lies and how to tell that it is still the same one is not part of the body (code.h).
 *
 * A body has no memory of the process: its function and its frames are indexes in the recording's definitions. */
#ifndef PYREEL_RECORD_PYTHON_CODE_BODIES_H
#define PYREEL_RECORD_PYTHON_CODE_BODIES_H

#include "formats/intern/hash.h"
#include "formats/intern/intern.h"
#include "record/python/opcode_bases.h"

struct code_body {
    uint32_t function; /* index in the definitions */
    uint32_t first_line;
    uint32_t units;                   /* two-byte instructions */
    struct instruction *instructions; /* for each unit, see opcode_bases.h; NULL without --opcodes */
    uint8_t *line_table;
    size_t line_table_size;

    struct intern_pairs frames; /* (unit + 1, opcode) → frame, as far as they were asked for */
    uint32_t references;        /* code objects that have the body */
    uint64_t hash;
    struct code_body *next; /* in its bucket */
};

/* `= {0}` is empty. */
struct code_bodies {
    struct code_body **buckets;
    size_t buckets_count; /* a power of two, or 0 */
    size_t count;
    size_t bytes;                  /* of memory that the bodies take, without their structs */
    struct hash_factors secret;    /* makes it hard to choose bodies that collide */
    struct intern_pairs no_bodies; /* (unit + 1, opcode) → frame, of codes_gone() */
    size_t frames;                 /* remembered frames of all bodies */
};

/* Returns the body with this content, and adds one reference. The arrays of `content` are the callee's now: they become
 * part of the body or are freed. `frames` and what is behind it are not set. */
struct code_body *code_bodies_take(struct code_bodies *bodies, const struct code_body *content);

/* Adds one more reference. */
void code_bodies_share(struct code_body *body);

/* Gives a reference back. The last one frees the body. */
void code_bodies_release(struct code_bodies *bodies, struct code_body *body);

/* The frame of a place in the body; NULL: of codes_gone(). 0: it was not noted. `unit`: -1: not known. */
uint32_t code_bodies_frame(struct code_bodies *bodies, struct code_body *body, int64_t unit, uint8_t opcode);

/* Notes the frame of a place that was not noted. */
void code_bodies_note_frame(struct code_bodies *bodies, struct code_body *body, int64_t unit, uint8_t opcode,
                            uint32_t frame);

/* Forgets the frames of all bodies. */
void code_bodies_forget_frames(struct code_bodies *bodies);

/* The bytes of memory that the body's arrays take. */
size_t code_body_bytes(const struct code_body *body);

/* Frees all bodies. */
void code_bodies_free(struct code_bodies *bodies);

#endif
