/* SPDX-License-Identifier: MIT */
#include "record/python/code_bodies.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 256

static size_t instructions_size(const struct code_body *body)
{
    return body->instructions ? body->units * sizeof(*body->instructions) : 0;
}

size_t code_body_bytes(const struct code_body *body)
{
    return instructions_size(body) + body->line_table_size;
}

static void free_arrays(const struct code_body *body)
{
    free(body->instructions);
    free(body->line_table);
}

/* ---- content ---- */

static uint64_t body_hash(const struct code_bodies *bodies, const struct code_body *body)
{
    const uint32_t head[] = { body->function, body->first_line, body->units, (uint32_t)body->line_table_size };
    uint64_t hash = hash_bytes(bodies->secret.a, head, sizeof(head));
    if (body->instructions)
        hash = hash_bytes(hash, body->instructions, instructions_size(body));
    return hash_bytes(hash, body->line_table, body->line_table_size);
}

static bool has_content(const struct code_body *body, const struct code_body *content)
{
    const size_t size = instructions_size(content);
    return body->function == content->function && body->first_line == content->first_line &&
           body->units == content->units && body->line_table_size == content->line_table_size &&
           instructions_size(body) == size &&
           memcmp(body->line_table, content->line_table, content->line_table_size) == 0 &&
           (size == 0 || memcmp(body->instructions, content->instructions, size) == 0);
}

/* ---- the table ---- */

static struct code_body **bodies_bucket(const struct code_bodies *bodies, uint64_t hash)
{
    return &bodies->buckets[hash & (bodies->buckets_count - 1)];
}

static void bodies_grow(struct code_bodies *bodies)
{
    struct code_bodies larger = *bodies;
    larger.buckets_count = bodies->buckets_count ? bodies->buckets_count * 2 : FIRST_BUCKETS;
    larger.buckets = alloc_zeroed(larger.buckets_count, sizeof(struct code_body *));
    for (size_t i = 0; i < bodies->buckets_count; i++)
        for (struct code_body *body = bodies->buckets[i], *next; body; body = next) {
            next = body->next;
            body->next = *bodies_bucket(&larger, body->hash);
            *bodies_bucket(&larger, body->hash) = body;
        }
    free(bodies->buckets);
    *bodies = larger;
}

struct code_body *code_bodies_take(struct code_bodies *bodies, const struct code_body *content)
{
    if (bodies->buckets_count == 0)
        bodies->secret = hash_anew();
    if (bodies->count >= bodies->buckets_count)
        bodies_grow(bodies);
    const uint64_t hash = body_hash(bodies, content);
    struct code_body *body = *bodies_bucket(bodies, hash);
    while (body && (body->hash != hash || !has_content(body, content)))
        body = body->next;
    if (body) {
        free_arrays(content);
        body->references++;
        return body;
    }
    body = alloc_zeroed(1, sizeof(*body));
    *body = *content;
    body->references = 1;
    body->hash = hash;
    body->next = *bodies_bucket(bodies, hash);
    *bodies_bucket(bodies, hash) = body;
    bodies->count++;
    bodies->bytes += code_body_bytes(body);
    return body;
}

/* ---- frames ---- */

static struct intern_pairs *body_frames(struct code_bodies *bodies, struct code_body *body)
{
    return body ? &body->frames : &bodies->no_bodies;
}

uint32_t code_bodies_frame(struct code_bodies *bodies, struct code_body *body, int64_t unit, uint8_t opcode)
{
    return intern_pairs_find(body_frames(bodies, body), (uint32_t)(unit + 1), opcode);
}

void code_bodies_note_frame(struct code_bodies *bodies, struct code_body *body, int64_t unit, uint8_t opcode,
                            uint32_t frame)
{
    intern_pairs_add(body_frames(bodies, body), (uint32_t)(unit + 1), opcode, frame);
    bodies->frames++;
}

static void forget_frames(struct code_bodies *bodies, struct intern_pairs *frames)
{
    bodies->frames -= frames->count;
    intern_pairs_free(frames);
}

void code_bodies_forget_frames(struct code_bodies *bodies)
{
    for (size_t i = 0; i < bodies->buckets_count; i++)
        for (struct code_body *body = bodies->buckets[i]; body; body = body->next)
            forget_frames(bodies, &body->frames);
    forget_frames(bodies, &bodies->no_bodies);
}

/* ---- references ---- */

void code_bodies_share(struct code_body *body)
{
    body->references++;
}

void code_bodies_release(struct code_bodies *bodies, struct code_body *body)
{
    if (--body->references > 0)
        return;
    struct code_body **link = bodies_bucket(bodies, body->hash);
    while (*link != body)
        link = &(*link)->next;
    *link = body->next;
    bodies->count--;
    bodies->bytes -= code_body_bytes(body);
    forget_frames(bodies, &body->frames);
    free_arrays(body);
    free(body);
}

void code_bodies_free(struct code_bodies *bodies)
{
    code_bodies_forget_frames(bodies);
    for (size_t i = 0; i < bodies->buckets_count; i++)
        for (struct code_body *body = bodies->buckets[i], *next; body; body = next) {
            next = body->next;
            free_arrays(body);
            free(body);
        }
    free(bodies->buckets);
    *bodies = (struct code_bodies){ 0 };
}
