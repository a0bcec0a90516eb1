/* SPDX-License-Identifier: MIT */
#include "record/python/code.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/python/code_internal.h"
#include "record/python/linetable.h"

#include <stdlib.h>
#include <string.h>

#define CODES_LIMIT   65536        /* remembered code objects; at this number all are forgotten */
#define BYTES_LIMIT   (256u << 20) /* bytes of all remembered code objects; then all are forgotten */
#define PROCESSES     32           /* when all processes together have BYTES_LIMIT, those with 1/32 of it forget */
#define FIRST_BUCKETS 64
#define FRAMES_LIMIT  (1u << 20) /* remembered frames of instructions; at this number all are forgotten */

void codes_open(struct codes *codes, struct remote *remote, const struct layout *layout,
                struct definitions *definitions)
{
    *codes = (struct codes){ .remote = remote, .layout = layout, .definitions = definitions };
    codes->bodies = &codes->own;
    codes->identity_size = layout->code_identity_size + (!layout->code_version ? 32 : layout->code_copies ? 16 : 0);
}

void codes_share(struct codes *codes, struct code_bodies *bodies)
{
    codes->bodies = bodies;
}

/* ---- memory ---- */

static struct code *make_code(const struct codes *codes)
{
    struct code *code = alloc_zeroed(1, sizeof(*code) + codes->identity_size);
    code->identity = (unsigned char *)(code + 1);
    return code;
}

static void free_code(struct codes *codes, struct code *code)
{
    if (code->body)
        code_bodies_release(codes->bodies, code->body);
    free(code);
}

static size_t code_bytes(const struct codes *codes, const struct code *code)
{
    return sizeof(*code) + codes->identity_size + code_body_bytes(code->body);
}

/* Gives a heritage back. The last process that has it frees it. */
static void drop_heritage(struct codes **heritage)
{
    struct codes *codes = *heritage;
    *heritage = NULL;
    if (!codes || --codes->references > 0)
        return;
    codes_close(codes);
    free(codes);
}

void codes_forget(struct codes *codes)
{
    codes->epoch++;
    codes->recent = NULL;
    drop_heritage(&codes->heritage);
    drop_heritage(&codes->handed_on);
    free(codes->taken);
    codes->taken = NULL;
    for (size_t i = 0; i < codes->buckets_count; i++)
        for (struct code *code = codes->buckets[i], *next; code; code = next) {
            next = code->next;
            free_code(codes, code);
        }
    free(codes->buckets);
    codes->buckets = NULL;
    codes->buckets_count = 0;
    codes->count = 0;
    codes->bytes = 0;
}

void codes_close(struct codes *codes)
{
    codes_forget(codes);
    code_bodies_free(&codes->own);
    *codes = (struct codes){ 0 };
}

/* ---- the table ---- */

static struct code **codes_bucket(const struct codes *codes, uint64_t address, uint32_t copy, uint64_t interpreter)
{
    const uint64_t mixed = address >> 5 ^ address >> 17 ^ copy * 31 ^ interpreter * 127;
    return &codes->buckets[mixed & (codes->buckets_count - 1)];
}

static void codes_put(struct codes *codes, struct code *code)
{
    struct code **head = codes_bucket(codes, code->address, code->copy, code->interpreter);
    code->next = *head;
    *head = code;
}

static void codes_grow(struct codes *codes)
{
    struct code **const buckets = codes->buckets;
    const size_t count = codes->buckets_count;
    codes->buckets_count = count ? count * 2 : FIRST_BUCKETS;
    codes->buckets = alloc_zeroed(codes->buckets_count, sizeof(struct code *));
    for (size_t i = 0; i < count; i++)
        for (struct code *code = buckets[i], *next; code; code = next) {
            next = code->next;
            codes_put(codes, code);
        }
    free(buckets);
}

static bool code_is_wanted(const struct codes *codes, const struct code *code, uint64_t address, uint32_t copy)
{
    return code->address == address && code->copy == copy && code->interpreter == codes->interpreter;
}

/* Adds a code object, which has its number. */
static void codes_add(struct codes *codes, struct code *code)
{
    if (codes->count >= codes->buckets_count)
        codes_grow(codes);
    codes->bytes += code_bytes(codes, code);
    codes->count++;
    codes_put(codes, code);
}

/* ---- code objects of the process that forked this one ---- */

static struct code *copy_code(const struct codes *codes, const struct code *of_other)
{
    struct code *code = make_code(codes);
    unsigned char *const identity = code->identity;
    *code = *of_other;
    code->identity = identity;
    code->generation = code->asked_in = 0;
    memcpy(identity, of_other->identity, codes->identity_size);
    code_bodies_share(code->body);
    return code;
}

static bool is_left(const struct codes *codes, const struct code *inherited)
{
    return inherited->read_ns < codes->forked_ns && !(codes->taken[inherited->number / 8] >> inherited->number % 8 & 1);
}

/* Takes a code object out of the heritage. NULL: there is none. A code object that was forgotten is not taken again. */
static struct code *codes_take_over(struct codes *codes, uint64_t address, uint32_t copy)
{
    if (!codes->heritage)
        return NULL;
    codes->heritage->interpreter = codes->interpreter;
    const struct code *inherited = codes_find(codes->heritage, address, copy);
    if (!inherited || !is_left(codes, inherited))
        return NULL;
    codes->taken[inherited->number / 8] |= (uint8_t)(1u << inherited->number % 8);
    struct code *code = copy_code(codes, inherited);
    codes_add(codes, code);
    return code;
}

/* Copies of the bytecode belong to threads, and a forked process has none of its parent's other threads. */
static void put_into(struct codes *heritage, const struct code *code)
{
    if (code->copy)
        return;
    struct code *copy = copy_code(heritage, code);
    copy->number = ++heritage->last_number;
    codes_add(heritage, copy);
}

static struct codes *make_heritage(const struct codes *codes)
{
    struct codes *heritage = alloc_zeroed(1, sizeof(*heritage));
    codes_open(heritage, NULL, codes->layout, codes->definitions);
    codes_share(heritage, codes->bodies);
    heritage->references = 1;
    for (size_t i = 0; i < codes->buckets_count; i++)
        for (const struct code *code = codes->buckets[i]; code; code = code->next)
            put_into(heritage, code);
    for (size_t i = 0; codes->heritage && i < codes->heritage->buckets_count; i++)
        for (const struct code *code = codes->heritage->buckets[i]; code; code = code->next)
            if (is_left(codes, code))
                put_into(heritage, code);
    return heritage;
}

void codes_inherit(struct codes *codes, struct codes *parent, uint64_t forked_ns)
{
    if (codes->bodies != parent->bodies || codes->identity_size != parent->identity_size || codes->last_number > 0)
        return;
    if (!parent->handed_on || parent->handed_epoch != parent->epoch || parent->handed_number != parent->last_number) {
        drop_heritage(&parent->handed_on);
        parent->handed_on = make_heritage(parent);
        parent->handed_epoch = parent->epoch;
        parent->handed_number = parent->last_number;
    }
    codes->heritage = parent->handed_on;
    codes->heritage->references++;
    codes->forked_ns = forked_ns;
    codes->code_type = parent->code_type;
    codes->last_number = codes->heritage->last_number; /* the numbers up to this one are those of the heritage */
    codes->taken = alloc_zeroed(codes->last_number / 8 + 1, 1);
}

/* ---- what is remembered ---- */

struct code *codes_find(struct codes *codes, uint64_t address, uint32_t copy)
{
    if (codes->recent && code_is_wanted(codes, codes->recent, address, copy))
        return codes->recent;
    struct code *code = codes->count ? *codes_bucket(codes, address, copy, codes->interpreter) : NULL;
    while (code && !code_is_wanted(codes, code, address, copy))
        code = code->next;
    return codes->recent = code ? code : codes_take_over(codes, address, copy);
}

void codes_trim(struct codes *codes)
{
    const bool shared_full = codes->bodies->bytes >= BYTES_LIMIT && codes->bytes >= BYTES_LIMIT / PROCESSES;
    if (codes->count >= CODES_LIMIT || codes->bytes >= BYTES_LIMIT || shared_full)
        codes_forget(codes);
    if (codes->bodies->frames >= FRAMES_LIMIT)
        code_bodies_forget_frames(codes->bodies);
}

static void codes_forget_one(struct codes *codes, struct code *code)
{
    struct code **link = codes_bucket(codes, code->address, code->copy, code->interpreter);
    while (*link != code)
        link = &(*link)->next;
    *link = code->next;
    codes->count--;
    codes->bytes -= code_bytes(codes, code);
    codes->epoch++;
    codes->recent = NULL;
    free_code(codes, code);
}

/* ---- identity ---- */

size_t code_identity_pieces(const struct codes *codes, const struct code *code, unsigned char *into,
                            struct piece *pieces)
{
    const struct layout *l = codes->layout;
    unsigned char *rest = into + l->code_identity_size;
    pieces[0] = (struct piece){ code->address + l->code_identity, l->code_identity_size, into };
    if (code->copy) {
        pieces[1] = (struct piece){ code->address + l->code_copies, 8, rest };
        pieces[2] = (struct piece){ code->copies + LAYOUT_COPIES_FIRST + (uint64_t)code->copy * 8, 8, rest + 8 };
        return IDENTITY_PIECES;
    }
    if (l->code_version)
        return 1;
    /* 3.11: other strings may have got the addresses of the name and the file. Their lengths and hashes show it. */
    pieces[1] = (struct piece){ code->name + l->string_length, 16, rest };
    pieces[2] = (struct piece){ code->file + l->string_length, 16, rest + 16 };
    return IDENTITY_PIECES;
}

/* Confirms at least one code object, and no more than have room in one read. */
static bool confirm_few(struct codes *codes, struct code *const *which, size_t count)
{
    enum { FEW = REMOTE_PIECES / IDENTITY_PIECES };
    static unsigned char identities[FEW][CODE_IDENTITY];
    struct piece pieces[REMOTE_PIECES];
    memset(identities, 0, count * CODE_IDENTITY);
    size_t used = code_identity_pieces(codes, which[0], identities[0], pieces);
    for (size_t i = 1; i < count; i++)
        used += code_identity_pieces(codes, which[i], identities[i], pieces + used);
    /* If some memory is gone, the unread identities stay zero, so they differ. */
    remote_read_pieces(codes->remote, pieces, used, NULL);
    if (codes->remote->over) /* nothing was read */
        return false;
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(identities[i], which[i]->identity, codes->identity_size) == 0)
            continue;
        codes_forget_one(codes, which[i]);
        same = false;
    }
    return same;
}

bool codes_confirm(struct codes *codes, struct code *const *which, size_t count)
{
    const size_t few = REMOTE_PIECES / IDENTITY_PIECES;
    bool same = true;
    for (size_t at = 0; at < count; at += few)
        same &= confirm_few(codes, which + at, count - at < few ? count - at : few);
    return same;
}

/* ---- definitions ---- */

static uint32_t define_name(struct codes *codes, uint8_t opcode)
{
    const char *name = opcode ? codes->layout->opcode_names[opcode].name : NULL;
    return name ? definitions_string(codes->definitions, text_of(name)) : 0;
}

struct code *codes_gone(struct codes *codes)
{
    struct code *gone = &codes->gone;
    codes->gone_count++;
    if (gone->function == 0) {
        gone->number = ++codes->last_number;
        gone->function = definitions_function(codes->definitions, TEXT("<code that was gone>"),
                                              &(struct function){ .kind = KIND_HOLE });
    }
    return gone;
}

/* ---- reading ---- */

static void remember(struct codes *codes, struct code *code)
{
    code->number = ++codes->last_number;
    codes_add(codes, code);
}

bool codes_read_all(struct codes *codes, const struct executed *which, size_t count)
{
    struct code *fresh[CODES_AT_ONCE] = { 0 };
    bool read[CODES_AT_ONCE] = { false };
    for (size_t i = 0; i < count; i++) {
        fresh[i] = make_code(codes);
        fresh[i]->address = which[i].code;
        fresh[i]->copy = which[i].copy;
        fresh[i]->interpreter = codes->interpreter;
    }
    code_read(codes, fresh, read, count);
    const uint64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < count; i++) {
        fresh[i]->read_ns = now_ns;
        codes->reads += read[i];
        if (read[i])
            remember(codes, fresh[i]);
        else
            free_code(codes, fresh[i]);
    }
    return read[0];
}

struct code *codes_read(struct codes *codes, uint64_t address, uint32_t copy)
{
    const struct executed which = { .code = address, .copy = copy };
    return codes_read_all(codes, &which, 1) ? codes_find(codes, address, copy) : NULL;
}

int64_t code_instruction(const struct code *code, uint64_t address)
{
    const uint64_t unit = (address - code->first) / 2;
    const struct instruction *instructions = code->body ? code->body->instructions : NULL;
    if (unit >= code->units || !instructions || !instructions[unit].base)
        return -1;
    return (int64_t)unit - instructions[unit].before;
}

uint32_t codes_frame(struct codes *codes, const struct code *code, int64_t unit, uint8_t opcode)
{
    struct code_body *body = code->body;
    const uint32_t known = code_bodies_frame(codes->bodies, body, unit, opcode);
    if (known)
        return known;
    const int32_t first_line = body && unit != UNIT_UNKNOWN ? (int32_t)body->first_line : 0;
    struct location location = { first_line, first_line, -1, -1 };
    if (unit >= 0 && body)
        linetable_find(body->line_table, body->line_table_size, body->first_line, (uint32_t)unit, &location);
    const uint8_t base = opcode ? body->instructions[unit].base : 0;
    const uint32_t frame = definitions_frame(codes->definitions,
                                             &(struct frame){ .function = code->function,
                                                              .line = location.line,
                                                              .end_line = location.end_line,
                                                              .column = location.column,
                                                              .end_column = location.end_column,
                                                              .instruction = define_name(codes, opcode),
                                                              .base = define_name(codes, base) });
    code_bodies_note_frame(codes->bodies, body, unit, opcode, frame);
    return frame;
}
