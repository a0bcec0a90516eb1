/* SPDX-License-Identifier: MIT */
#include "record/python/code_internal.h"

#include "formats/base/alloc.h"
#include "record/python/unicode.h"

#include <stdlib.h>
#include <string.h>

#define LINE_TABLE_LIMIT (16u << 20) /* bytes */
#define UNITS_LIMIT      (1u << 22)
#define WORDS_LIMIT      (1u << 21) /* of a frame; a chunk of the data stack has fewer */
#define COPIES_LIMIT     (1u << 16) /* of one code object's bytecode, one for each thread */
#define AHEAD_LIMIT      (64u << 10) /* bytes of a part; a code object with a larger part is read only as the first one */
#define STRING_START     256         /* assumed size of a str, with its head, ... */
#define TABLE_START      64          /* ... and of a line table, with its head, plus one byte for each unit of code */
#define PAGE             4096        /* bytes; the smallest page size */

/* An object that contains its own size. A guess of its size is read first, then the rest. */
struct code_part {
    uint64_t address;
    unsigned char *bytes;
    size_t came, size; /* bytes that were read first; bytes that the object has */
};

/* A code object that is being read. */
struct code_reading {
    struct code *code;
    bool first, good;
    unsigned char head[LAYOUT_CODE_MAX];
    struct code_part name, file, line_table, instructions;
    struct characters name_is, file_is;
    unsigned char *name_end, *file_end; /* the ends of longer strings, see unicode_name() */
    uint64_t copies;                    /* number of copies of the bytecode */
    unsigned char after[CODE_IDENTITY];
    uint32_t first_line;
    size_t line_table_size;
};

/* The code objects that are read together, and the pieces of the next system call. */
struct code_batch {
    struct codes *codes;
    struct code_reading *readings;
    size_t count;
    struct piece pieces[REMOTE_PIECES];
    size_t pieces_count;
};

/* ---- system calls ---- */

static void code_batch_add(struct code_batch *b, uint64_t address, size_t size, void *into)
{
    b->pieces[b->pieces_count++] = (struct piece){ address, (uint32_t)size, into };
}

/* Adds the pieces of the identity from the n-th one on. */
static void add_identity(struct code_batch *b, const struct code *code, unsigned char *into, size_t n)
{
    struct piece pieces[IDENTITY_PIECES];
    const size_t count = code_identity_pieces(b->codes, code, into, pieces);
    for (; n < count; n++)
        b->pieces[b->pieces_count++] = pieces[n];
}

/* Reads the pieces that `add_pieces` adds for all code objects. A code object of which a piece is not readable is given
 * up. */
static void code_batch_read(struct code_batch *b, void (*add_pieces)(struct code_batch *b, struct code_reading *r))
{
    size_t ends[CODES_AT_ONCE];
    bool there[REMOTE_PIECES];
    b->pieces_count = 0;
    for (size_t i = 0; i < b->count; i++) {
        if (b->readings[i].good)
            add_pieces(b, &b->readings[i]);
        ends[i] = b->pieces_count;
    }
    remote_read_readable(b->codes->remote, b->pieces, b->pieces_count, there);
    for (size_t i = 0, piece = 0; i < b->count; i++)
        for (; piece < ends[i]; piece++)
            b->readings[i].good &= there[piece];
}

/* How many bytes to read first of an object with at least `least` bytes and probably `wanted` bytes. Bytes in the same
 * page as the object's start are readable for sure. */
static size_t object_guess_size(uint64_t address, size_t least, size_t wanted)
{
    const size_t there = PAGE - address % PAGE;
    const size_t size = wanted < there ? wanted : there;
    return size > least ? size : least;
}

static void begin_part(struct code_batch *b, struct code_part *part, size_t least, size_t wanted)
{
    part->came = object_guess_size(part->address, least, wanted);
    part->bytes = alloc_resize(part->bytes, part->came, 1);
    code_batch_add(b, part->address, part->came, part->bytes);
}

static void part_add_rest(struct code_batch *b, struct code_part *part)
{
    if (part->size <= part->came)
        return;
    part->bytes = alloc_resize(part->bytes, part->size, 1);
    code_batch_add(b, part->address + part->came, part->size - part->came, part->bytes + part->came);
}

/* ---- first: the code object itself ---- */

static void add_head(struct code_batch *b, struct code_reading *r)
{
    code_batch_add(b, r->code->address, b->codes->layout->code_size, r->head);
}

/* Whether `type` is the address of the type "code"; remembers the address. */
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

/* Notes that the bytecode begins at address `first`. The bytecode, which only --opcodes needs, is never read together
 * with the head: CPython writes a new code object's identity before its bytecode. So right after the identity was read,
 * the bytecode may still be that of the code object that had this memory before. */
static void locate_instructions(const struct codes *codes, struct code_reading *r, uint64_t first)
{
    struct code_part *part = &r->instructions;
    r->code->first = part->address = first;
    part->size = codes->instructions ? (size_t)r->code->units * 2 : 0;
}

/* Whether a part of the code object may have `size` bytes (AHEAD_LIMIT). */
static bool part_is_wanted(const struct code_reading *r, uint64_t size)
{
    return r->first || size <= AHEAD_LIMIT;
}

static bool take_head(struct code_batch *b, struct code_reading *r)
{
    const struct layout *l = b->codes->layout;
    const unsigned char *head = r->head;
    struct code *code = r->code;
    const uint64_t units = word_at(head, l->code_units);
    if (!is_code(b->codes, word_at(head, l->object_type)) || units == 0 || units > UNITS_LIMIT ||
        !part_is_wanted(r, units * 2))
        return false;
    code->name = r->name.address = word_at(head, l->code_name);
    code->file = r->file.address = word_at(head, l->code_file);
    r->line_table.address = word_at(head, l->code_line_table);
    r->first_line = half_word_at(head, l->code_first_line);
    code->units = (uint32_t)units;
    code->flags = half_word_at(head, l->code_flags);
    code->locals = half_word_at(head, l->code_locals);
    code->stack = half_word_at(head, l->code_stack);
    code->hidden = half_word_at(head, l->code_first_traceable) >= code->units;
    memcpy(code->identity, head + l->code_identity, l->code_identity_size);
    if (code->locals > WORDS_LIMIT || code->stack > WORDS_LIMIT)
        return false;
    if (code->copy == 0) {
        locate_instructions(b->codes, r, code->address + l->code_instructions);
        return true;
    }
    code->copies = l->code_copies ? word_at(head, l->code_copies) : 0;
    return code->copies && code->copy < COPIES_LIMIT;
}

/* ---- then: the parts to which it points ---- */

static void add_parts(struct code_batch *b, struct code_reading *r)
{
    const struct layout *l = b->codes->layout;
    const size_t length_end = l->string_length + 8, state_end = l->string_state + 4;
    const size_t head = state_end > length_end ? state_end : length_end;
    add_identity(b, r->code, r->code->identity, 1);
    if (r->code->copy)
        code_batch_add(b, r->code->copies, sizeof(r->copies), &r->copies);
    begin_part(b, &r->name, head, STRING_START);
    begin_part(b, &r->file, head, STRING_START);
    begin_part(b, &r->line_table, l->bytes_size + 8, TABLE_START + r->code->units);
    part_add_rest(b, &r->instructions);
    add_identity(b, r->code, r->after, 0);
}

static bool string_take(const struct layout *l, struct code_reading *r, struct code_part *part, struct characters *is)
{
    if (!unicode_find(l, word_at(part->bytes, l->string_length), half_word_at(part->bytes, l->string_state),
                      UNICODE_NAME, is))
        return false;
    part->size = is->offset + (size_t)is->count * is->kind;
    return part_is_wanted(r, part->size);
}

static bool take_line_table(const struct layout *l, struct code_reading *r)
{
    const uint64_t size = word_at(r->line_table.bytes, l->bytes_size);
    r->line_table_size = (size_t)size;
    r->line_table.size = l->bytes_data + (size_t)size;
    return size <= LINE_TABLE_LIMIT && part_is_wanted(r, size);
}

/* Finds the address of a copy of the bytecode. The copy may not exist yet. */
static bool take_copy(const struct codes *codes, struct code_reading *r)
{
    const struct layout *l = codes->layout;
    struct code *code = r->code;
    if (code->copy == 0) {
        r->instructions.came = r->instructions.size;
        return true;
    }
    const uint64_t first = word_at(code->identity, l->code_identity_size + 8);
    if (r->copies > COPIES_LIMIT || code->copy >= r->copies || first == 0 ||
        word_at(code->identity, l->code_identity_size) != code->copies)
        return false;
    locate_instructions(codes, r, first);
    return true;
}

static bool take_parts(struct code_batch *b, struct code_reading *r)
{
    const struct layout *l = b->codes->layout;
    return string_take(l, r, &r->name, &r->name_is) && string_take(l, r, &r->file, &r->file_is) &&
           take_line_table(l, r) && take_copy(b->codes, r);
}

/* ---- at last: the rest of parts that are longer than the guess ---- */

static void string_add_end(struct code_batch *b, const struct code_part *part, const struct characters *is,
                           unsigned char **end)
{
    const size_t size = (size_t)UNICODE_NAME * is->kind;
    if (!is->cut)
        return;
    *end = alloc_resize(*end, size, 1);
    code_batch_add(b, part->address + is->offset + is->length * is->kind - size, size, *end);
}

static void add_rests(struct code_batch *b, struct code_reading *r)
{
    struct code_part *const parts[] = { &r->name, &r->file, &r->line_table, &r->instructions };
    const size_t before = b->pieces_count;
    for (size_t i = 0; i < countof(parts); i++)
        part_add_rest(b, parts[i]);
    string_add_end(b, &r->name, &r->name_is, &r->name_end);
    string_add_end(b, &r->file, &r->file_is, &r->file_end);
    if (b->pieces_count > before)
        add_identity(b, r->code, r->after, 0);
}

/* Fills in which instruction each unit belongs to. CPython only replaces an instruction by forms of the same base. */
static void describe_instructions(const struct layout *l, struct code_body *body, const unsigned char *instructions)
{
    body->instructions = alloc_zeroed(body->units, sizeof(*body->instructions));
    opcode_bases_make(l->opcode_names, instructions, body->units, body->instructions);
}

/* The functions of asyncio that wake somebody (enum wakes), in CPython 3.11 to 3.13: gather(), wait(), shield(),
 * wait_for(), TaskGroup. */
static const struct waking {
    const char *name, *file;
    enum wakes wakes;
} wakings[] = {
    { "gather.<locals>._done_callback", "asyncio/tasks.py", WAKES_OF_CLOSURE },
    { "_wait.<locals>._on_completion", "asyncio/tasks.py", WAKES_OF_CLOSURE },
    { "shield.<locals>._inner_done_callback", "asyncio/tasks.py", WAKES_OF_CLOSURE },
    { "_release_waiter", "asyncio/tasks.py", WAKES_OF_ARGUMENT },
    { "TaskGroup._on_task_done", "asyncio/taskgroups.py", WAKES_OF_GROUP },
};

static uint8_t wakes_of(struct text name, struct text file)
{
    for (const struct waking *row = wakings; row < wakings + countof(wakings); row++)
        if (text_equal(name, text_of(row->name)) && text_ends(file, text_of(row->file)))
            return (uint8_t)row->wakes;
    return WAKES_NOBODY;
}

/* Completes a code object from its parts. Its identity was read before and behind the parts, and must be the same: then
 * all parts are of one code object. */
static bool code_complete(struct code_batch *b, struct code_reading *r)
{
    struct code *code = r->code;
    if (memcmp(r->after, code->identity, b->codes->identity_size) != 0)
        return false;
    const struct text name = unicode_name(&r->name_is, r->name.bytes + r->name_is.offset, r->name_end);
    const struct text file = unicode_name(&r->file_is, r->file.bytes + r->file_is.offset, r->file_end);
    struct definitions *definitions = b->codes->definitions;
    code->function = definitions_function(
        definitions, name,
        &(struct function){ .file = definitions_string(definitions, file), .first_line = r->first_line });
    code->wakes = wakes_of(name, file);
    code->turns = text_equal(name, TEXT("BaseEventLoop._run_once")) && text_ends(file, TEXT("asyncio/base_events.py"));
    text_free(name);
    text_free(file);
    const unsigned char *line_table = r->line_table.bytes + b->codes->layout->bytes_data;
    struct code_body content = { .function = code->function,
                                 .first_line = r->first_line,
                                 .units = code->units,
                                 .line_table = (uint8_t *)alloc_copy(line_table, r->line_table_size),
                                 .line_table_size = r->line_table_size };
    if (b->codes->instructions)
        describe_instructions(b->codes->layout, &content, r->instructions.bytes);
    code->body = code_bodies_take(b->codes->bodies, &content);
    return true;
}

/* ---- all of it ---- */

static void take_all(struct code_batch *b, bool (*take)(struct code_batch *b, struct code_reading *r))
{
    for (size_t i = 0; i < b->count; i++)
        b->readings[i].good = b->readings[i].good && take(b, &b->readings[i]);
}

static void free_reading(struct code_reading *r)
{
    free(r->name.bytes);
    free(r->file.bytes);
    free(r->line_table.bytes);
    free(r->instructions.bytes);
    free(r->name_end);
    free(r->file_end);
}

void code_read(struct codes *codes, struct code *const *which, bool *read, size_t count)
{
    struct code_batch b = { .codes = codes, .readings = alloc_zeroed(count, sizeof(*b.readings)), .count = count };
    for (size_t i = 0; i < count; i++) {
        b.readings[i].code = which[i];
        b.readings[i].first = i == 0;
        b.readings[i].good = codes->layout->code_size <= LAYOUT_CODE_MAX;
    }
    code_batch_read(&b, add_head);
    take_all(&b, take_head);
    code_batch_read(&b, add_parts);
    take_all(&b, take_parts);
    code_batch_read(&b, add_rests);
    take_all(&b, code_complete);
    for (size_t i = 0; i < count; i++) {
        read[i] = b.readings[i].good;
        free_reading(&b.readings[i]);
    }
    free(b.readings);
}
