/* SPDX-License-Identifier: MIT */
#include "record/code.h"

#include "formats/alloc.h"
#include "record/characters.h"
#include "record/linetable.h"
#include "record/opcodes.h"

#include <stdlib.h>
#include <string.h>

#define CODES_LIMIT      65536       /* remembered at once; then we start anew */
#define CHARACTERS_LIMIT (64u << 10) /* of a name; what is longer is cut with a mark */
#define LINE_TABLE_LIMIT (16u << 20) /* bytes */
#define UNITS_LIMIT      (1u << 22)
#define BYTES_LIMIT      (256u << 20) /* of what is kept of all code objects */
#define PLACES_LIMIT     (1u << 20)   /* remembered at once */
#define WORDS_LIMIT      (1u << 21)   /* of a frame: more than a chunk that we read has */
#define IDENTITY_PIECES  3            /* the most that an identity is read in */
#define COPIES_LIMIT     (1u << 16)   /* of the bytecode of one, each a thread's */

void codes_open(struct codes *codes, struct remote *remote, const struct layout *layout, struct sink sink)
{
    *codes = (struct codes){ .remote = remote, .layout = layout, .sink = sink };
}

static void free_code(struct code *code)
{
    free(code->line_table);
    free(code->kinds);
    free(code->instructions);
    free(code);
}

static size_t bytes_of(const struct code *code)
{
    return code->units * (1 + (code->instructions ? sizeof(*code->instructions) : 0)) + code->line_table_size;
}

static void forget_all(struct codes *codes)
{
    codes->epoch++;
    codes->recent = NULL;
    for (size_t i = 0; i < CODE_BUCKETS; i++) {
        for (struct code *code = codes->buckets[i], *next; code; code = next) {
            next = code->next;
            free_code(code);
        }
        codes->buckets[i] = NULL;
    }
    codes->count = 0;
    codes->bytes = 0;
    pairs_free(&codes->places);
}

void codes_follow(struct codes *codes, struct remote *remote, const struct layout *layout)
{
    forget_all(codes);
    codes->remote = remote;
    codes->layout = layout;
    codes->code_type = 0;
}

void codes_close(struct codes *codes)
{
    forget_all(codes);
    intern_free(&codes->strings);
    intern_free(&codes->functions);
    intern_free(&codes->frames);
    *codes = (struct codes){ 0 };
}

static struct code **bucket(const struct codes *codes, uint64_t address, uint32_t copy, uint64_t interpreter)
{
    const uint64_t mixed = address >> 5 ^ address >> 17 ^ copy * 31 ^ interpreter * 127;
    return (struct code **)&codes->buckets[mixed % CODE_BUCKETS];
}

static bool is_wanted(const struct codes *codes, const struct code *code, uint64_t address, uint32_t copy)
{
    return code->address == address && code->copy == copy && code->interpreter == codes->interpreter;
}

struct code *codes_find(struct codes *codes, uint64_t address, uint32_t copy)
{
    if (codes->recent && is_wanted(codes, codes->recent, address, copy))
        return codes->recent;
    struct code *code = *bucket(codes, address, copy, codes->interpreter);
    while (code && !is_wanted(codes, code, address, copy))
        code = code->next;
    return codes->recent = code;
}

void codes_trim(struct codes *codes)
{
    if (codes->count >= CODES_LIMIT || codes->bytes >= BYTES_LIMIT)
        forget_all(codes);
    if (codes->places.count >= PLACES_LIMIT)
        pairs_free(&codes->places);
}

static void forget(struct codes *codes, struct code *code)
{
    struct code **link = bucket(codes, code->address, code->copy, code->interpreter);
    while (*link != code)
        link = &(*link)->next;
    *link = code->next;
    codes->count--;
    codes->bytes -= bytes_of(code);
    codes->epoch++;
    codes->recent = NULL;
    free_code(code);
}

/* ---- identity ---- */

/* The pieces that tell this code object from any other that may come to its address. Returns how many. */
static size_t identity_pieces(const struct codes *codes, const struct code *code, unsigned char *into,
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
    /* Its strings may have been replaced by others at the same addresses: their lengths and hashes tell. */
    pieces[1] = (struct piece){ code->name + l->string_length, 16, rest };
    pieces[2] = (struct piece){ code->file + l->string_length, 16, rest + 16 };
    return IDENTITY_PIECES;
}

/* Whether the head of a code object, read before its identity, is of the same object: the first piece of the identity
 * lies in the head. */
static bool has_identity(const struct codes *codes, const struct code *code, const unsigned char *head)
{
    struct piece pieces[IDENTITY_PIECES];
    unsigned char unused[CODE_IDENTITY];
    identity_pieces(codes, code, unused, pieces);
    return memcmp(head + (pieces[0].address - code->address), code->identity, pieces[0].size) == 0;
}

static bool read_identity(const struct codes *codes, const struct code *code, unsigned char *into)
{
    struct piece pieces[IDENTITY_PIECES];
    memset(into, 0, CODE_IDENTITY);
    const size_t count = identity_pieces(codes, code, into, pieces);
    return remote_read_pieces(codes->remote, pieces, count, NULL) == REMOTE_READ;
}

static bool confirm_few(struct codes *codes, struct code *const *which, size_t count)
{
    enum { FEW = REMOTE_PIECES / IDENTITY_PIECES };
    static unsigned char identities[FEW][CODE_IDENTITY];
    struct piece pieces[REMOTE_PIECES];
    size_t used = 0;
    memset(identities, 0, count * CODE_IDENTITY);
    for (size_t i = 0; i < count; i++)
        used += identity_pieces(codes, which[i], identities[i], pieces + used);
    /* Where memory has gone in the middle, what was not read stays zero and differs. */
    remote_read_pieces(codes->remote, pieces, used, NULL);
    bool same = true;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(identities[i], which[i]->identity, CODE_IDENTITY) == 0)
            continue;
        forget(codes, which[i]);
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

/* ---- reading ---- */

/* Whether an object's type is the one called "code"; its address is remembered. */
static bool is_code(struct codes *codes, uint64_t type)
{
    if (codes->code_type)
        return type == codes->code_type;
    uint64_t name;
    char called[5];
    if (remote_read(codes->remote, type + codes->layout->type_name, &name, sizeof(name)) != REMOTE_READ ||
        remote_read(codes->remote, name, called, sizeof(called)) != REMOTE_READ || memcmp(called, "code", 5) != 0)
        return false;
    codes->code_type = type;
    return true;
}

/* Reads a str as UTF-8, which the caller frees; .bytes is NULL when it could not be read. */
static struct text read_string(struct codes *codes, uint64_t address)
{
    const struct layout *l = codes->layout;
    unsigned char head[LAYOUT_OBJECT_MAX];
    struct characters from;
    const uint32_t size = l->string_state + 4 > l->string_length + 8 ? l->string_state + 4 : l->string_length + 8;
    if (remote_read(codes->remote, address, head, size) != REMOTE_READ ||
        !characters_find(l, word_at(head, l->string_length), half_word_at(head, l->string_state), CHARACTERS_LIMIT,
                         &from))
        return (struct text){ 0 };
    struct text text = { 0 };
    const size_t raw_size = (size_t)from.count * from.kind;
    unsigned char *raw = alloc_zeroed(raw_size + 1, 1);
    if (raw_size == 0 || remote_read(codes->remote, address + from.offset, raw, raw_size) == REMOTE_READ)
        text = characters_text(&from, raw);
    free(raw);
    return text;
}

static bool read_line_table(struct codes *codes, struct code *code, uint64_t address)
{
    uint64_t size;
    if (remote_read(codes->remote, address + codes->layout->bytes_size, &size, sizeof(size)) != REMOTE_READ ||
        size > LINE_TABLE_LIMIT)
        return false;
    code->line_table_size = (size_t)size;
    code->line_table = alloc_zeroed(code->line_table_size + 1, 1);
    return size == 0 || remote_read(codes->remote, address + codes->layout->bytes_data, code->line_table,
                                    code->line_table_size) == REMOTE_READ;
}

/* What each instruction can do. It may be replaced by others of its kind later. */
static bool read_kinds(struct codes *codes, struct code *code)
{
    unsigned char *instructions = alloc_zeroed(code->units, 2);
    code->kinds = alloc_zeroed(code->units, 1);
    const bool read = remote_read(codes->remote, code->first, instructions, (size_t)code->units * 2) == REMOTE_READ;
    if (read)
        opcodes_mark(codes->layout->opcodes, instructions, code->units, code->kinds);
    if (read && codes->instructions) {
        code->instructions = alloc_zeroed(code->units, sizeof(*code->instructions));
        opcode_marks_make(codes->layout->opcode_names, codes->layout->opcodes, instructions, code->units,
                          code->instructions);
    }
    free(instructions);
    return read;
}

/* ---- definitions ---- */

/* A note only waits in the open block: it can't fail. */
static void define(struct codes *codes, struct event event)
{
    struct fault unused = { 0 };
    sink_take(&codes->sink, &event, &unused);
}

static uint32_t define_string(struct codes *codes, struct text text)
{
    bool added;
    const uint32_t number = intern_number(&codes->strings, text.bytes, text.size, &added);
    if (added)
        define(codes, (struct event){ .kind = EVENT_STRING, .string = { number, text } });
    return number;
}

static uint32_t define_function(struct codes *codes, struct text name, struct text file, uint32_t first_line)
{
    const uint32_t key[] = { define_string(codes, name), define_string(codes, file), first_line };
    bool added;
    const uint32_t number = intern_number(&codes->functions, key, sizeof(key), &added);
    if (added)
        define(codes, (struct event){ .kind = EVENT_FUNCTION, .function = { number, key[0], key[1], key[2] } });
    return number;
}

static uint32_t define_name(struct codes *codes, uint8_t opcode)
{
    const char *name = opcode ? codes->layout->opcode_names[opcode].name : NULL;
    return name ? define_string(codes, (struct text){ name, strlen(name) }) : 0;
}

static uint32_t define_frame(struct codes *codes, uint32_t function, const struct place *place, uint8_t opcode,
                             uint8_t base)
{
    const uint32_t key[] = { function,
                             place->line,
                             place->end_line,
                             (uint32_t)place->column,
                             (uint32_t)place->end_column,
                             define_name(codes, opcode),
                             define_name(codes, base) };
    bool added;
    const uint32_t number = intern_number(&codes->frames, key, sizeof(key), &added);
    if (added)
        define(codes, (struct event){ .kind = EVENT_FRAME,
                                      .frame = { .number = number,
                                                 .function = function,
                                                 .line = place->line,
                                                 .end_line = place->end_line,
                                                 .column = place->column,
                                                 .end_column = place->end_column,
                                                 .instruction = key[5],
                                                 .base = key[6] } });
    return number;
}

uint32_t codes_mark(struct codes *codes, struct text name)
{
    static const struct place nowhere = { .column = -1, .end_column = -1 };
    const uint32_t key[] = { define_string(codes, name), 0, 0 };
    bool added;
    const uint32_t function = intern_number(&codes->functions, key, sizeof(key), &added);
    if (added)
        define(codes, (struct event){ .kind = EVENT_FUNCTION, .function = { function, key[0], 0, 0 } });
    return define_frame(codes, function, &nowhere, 0, 0);
}

/* ---- the whole ---- */

/* Where the copies are, and how many: from the head of the code object. */
static bool find_copies(struct codes *codes, struct code *code, const unsigned char *head)
{
    uint64_t count = 0;
    if (code->copy == 0 || !codes->layout->code_copies)
        return code->copy == 0;
    code->copies = word_at(head, codes->layout->code_copies);
    return code->copies && remote_read(codes->remote, code->copies, &count, sizeof(count)) == REMOTE_READ &&
           count <= COPIES_LIMIT && code->copy < count;
}

/* Where the bytecode begins: for a copy, its identity says so. False when there is none yet, or they have moved. */
static bool find_first(struct codes *codes, struct code *code)
{
    const uint32_t rest = codes->layout->code_identity_size;
    code->first = code->copy ? word_at(code->identity, rest + 8) : code->address + codes->layout->code_instructions;
    return code->copy == 0 || (code->first && word_at(code->identity, rest) == code->copies);
}

/* The identity is read with the head and again at the end: what lies between is of one object. */
static bool read_code(struct codes *codes, struct code *code)
{
    const struct layout *l = codes->layout;
    unsigned char head[LAYOUT_CODE_MAX], after[CODE_IDENTITY];
    if (l->code_size > sizeof(head) || remote_read(codes->remote, code->address, head, l->code_size) != REMOTE_READ ||
        !is_code(codes, word_at(head, l->object_type)))
        return false;
    code->name = word_at(head, l->code_name);
    code->file = word_at(head, l->code_file);
    code->first_line = half_word_at(head, l->code_first_line);
    const uint64_t units = word_at(head, l->code_units);
    if (units == 0 || units > UNITS_LIMIT || !find_copies(codes, code, head) ||
        !read_identity(codes, code, code->identity) || !has_identity(codes, code, head) || !find_first(codes, code))
        return false;
    code->units = (uint32_t)units;
    code->flags = half_word_at(head, l->code_flags);
    code->locals = half_word_at(head, l->code_locals);
    code->stack = half_word_at(head, l->code_stack);
    code->hidden = half_word_at(head, l->code_first_traceable) >= code->units;
    if (code->locals > WORDS_LIMIT || code->stack > WORDS_LIMIT)
        return false;
    const struct text name = read_string(codes, code->name);
    const struct text file = read_string(codes, code->file);
    const bool whole = name.bytes && file.bytes && read_line_table(codes, code, word_at(head, l->code_line_table)) &&
                       read_kinds(codes, code) && read_identity(codes, code, after) &&
                       memcmp(after, code->identity, CODE_IDENTITY) == 0;
    if (whole)
        code->function = define_function(codes, name, file, code->first_line);
    free((char *)name.bytes);
    free((char *)file.bytes);
    return whole;
}

struct code *codes_read(struct codes *codes, uint64_t address, uint32_t copy)
{
    struct code *code = alloc_zeroed(1, sizeof(*code));
    code->address = address;
    code->copy = copy;
    code->interpreter = codes->interpreter;
    if (!read_code(codes, code)) {
        free_code(code);
        return NULL;
    }
    code->number = ++codes->last_number;
    codes->bytes += bytes_of(code);
    struct code **head = bucket(codes, address, copy, codes->interpreter);
    code->next = *head;
    *head = code;
    codes->count++;
    return code;
}

int64_t code_instruction(const struct code *code, uint64_t address)
{
    const uint64_t unit = (address - code->first) / 2;
    if (unit >= code->units || !code->instructions || !code->instructions[unit].base)
        return -1;
    return (int64_t)unit - code->instructions[unit].before;
}

uint32_t codes_frame(struct codes *codes, const struct code *code, int64_t unit, uint8_t opcode)
{
    const uint32_t key = (uint32_t)(unit + 1) << 8 | opcode; /* there are no more than UNITS_LIMIT */
    const uint32_t known = pairs_find(&codes->places, code->number, key);
    if (known)
        return known;
    struct place place = { code->first_line, code->first_line, -1, -1 };
    if (unit >= 0)
        linetable_find(code->line_table, code->line_table_size, code->first_line, (uint32_t)unit, &place);
    const uint8_t base = opcode ? code->instructions[unit].base : 0;
    const uint32_t frame = define_frame(codes, code->function, &place, opcode, base);
    pairs_add(&codes->places, code->number, key, frame);
    return frame;
}
