/* SPDX-License-Identifier: MIT */
#include "tests/fakes/fake_python.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/defined.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/published.h"
#include "tests/fakes/testing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_LIMIT  4000 /* of one sample, however much the memory lies */
#define BYTES_LIMIT  ((uint64_t)256 << 20)
#define CO_GENERATOR 0x20 /* of co_flags */

/* ---- memory ---- */

unsigned char *fake_bytes(const struct fake_python *p, uint64_t address)
{
    assert(address >= FAKE_BASE && address < FAKE_BASE + FAKE_SIZE);
    return p->memory + (address - FAKE_BASE);
}

uint64_t fake_room(struct fake_python *p, size_t size)
{
    const uint64_t address = FAKE_BASE + p->used;
    p->used += (size + 31) & ~(size_t)31;
    assert(p->used <= FAKE_SIZE);
    return address;
}

uint64_t fake_pages(struct fake_python *p, size_t size)
{
    p->used = (p->used + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE;
    return fake_room(p, (size + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE);
}

void fake_poke(struct fake_python *p, uint64_t address, uint64_t value)
{
    memcpy(fake_bytes(p, address), &value, sizeof(value));
}

void fake_poke4(struct fake_python *p, uint64_t address, uint32_t value)
{
    memcpy(fake_bytes(p, address), &value, sizeof(value));
}

uint64_t fake_peek(const struct fake_python *p, uint64_t address)
{
    return word_at(fake_bytes(p, address), 0);
}

uint32_t fake_peek4(const struct fake_python *p, uint64_t address)
{
    return half_word_at(fake_bytes(p, address), 0);
}

const struct layout *fake_layout(const struct fake_python *p)
{
    return &p->target.runtime.layout;
}

unsigned fake_minor(const struct fake_python *p)
{
    return fake_layout(p)->version >> 16 & 0xFF;
}

/* ---- objects ---- */

uint64_t fake_string(struct fake_python *p, const char *text)
{
    const struct layout *l = fake_layout(p);
    const uint64_t string = fake_room(p, l->string_ascii + strlen(text) + 1);
    fake_poke(p, string + l->string_length, strlen(text));
    fake_poke(p, string + l->string_hash, string * 31);
    fake_poke4(p, string + l->string_state, (1 | 1 << 3 | 1 << 4) << l->string_kind); /* one byte, compact, ASCII */
    memcpy(fake_bytes(p, string + l->string_ascii), text, strlen(text));
    return string;
}

static uint64_t line_table(struct fake_python *p, uint32_t lines)
{
    const struct layout *l = fake_layout(p);
    const uint64_t table = fake_room(p, l->bytes_data + (size_t)lines * 3);
    fake_poke(p, table + l->bytes_size, (uint64_t)lines * 3);
    for (uint32_t i = 0; i < lines; i++) {
        /* This line, then the next, columns 4 to 9. */
        const unsigned char entry[] = { (i == 0 ? 0xD0 : 0xD8) + FAKE_UNIT - 1, 4, 9 };
        memcpy(fake_bytes(p, table + l->bytes_data + (uint64_t)i * 3), entry, sizeof(entry));
    }
    return table;
}

/* ---- code objects ---- */

int fake_opcode_called(const struct fake_python *p, const char *name)
{
    const struct opcode_name *names = fake_layout(p)->opcode_names;
    for (int opcode = 0; opcode < 256; opcode++)
        if (names[opcode].name && strcmp(names[opcode].name, name) == 0)
            return opcode;
    return -1;
}

uint64_t fake_first(const struct fake_python *p, uint64_t code, uint32_t copy)
{
    const struct layout *l = fake_layout(p);
    if (copy == 0)
        return code + l->code_instructions;
    return fake_peek(p, fake_peek(p, code + l->code_copies) + LAYOUT_COPIES_FIRST + (uint64_t)copy * 8);
}

uint32_t fake_copy(const struct fake_python *p, size_t thread)
{
    return fake_layout(p)->code_copies ? 1 + (uint32_t)thread : 0;
}

static uint32_t copies_of(const struct fake_python *p)
{
    return fake_layout(p)->code_copies ? FAKE_COPIES : 1;
}

static void make_copies(struct fake_python *p, uint64_t code, uint32_t lines)
{
    const uint64_t at = code + fake_layout(p)->code_copies;
    /* Made anew at its address, it has its copies where they were, if they fit. */
    if (fake_peek(p, at) && p->last_lines == lines)
        return;
    const uint64_t copies = fake_room(p, LAYOUT_COPIES_FIRST + FAKE_COPIES * 8);
    p->last_lines = lines;
    fake_poke(p, at, copies);
    fake_poke(p, copies, FAKE_COPIES);
    for (uint32_t i = 0; i < FAKE_COPIES; i++)
        fake_poke(p, copies + LAYOUT_COPIES_FIRST + (uint64_t)i * 8,
                  i ? fake_room(p, (size_t)lines * FAKE_UNIT * 2) : fake_first(p, code, 0));
}

/* In all copies. */
static void write_unit(struct fake_python *p, uint64_t code, uint32_t line, uint32_t unit, uint8_t opcode)
{
    for (uint32_t copy = 0; copy < copies_of(p); copy++)
        *fake_bytes(p, fake_first(p, code, copy) + ((uint64_t)line * FAKE_UNIT + unit) * 2) = opcode;
}

void fake_opcode(struct fake_python *p, uint64_t code, uint32_t line, uint8_t opcode)
{
    for (uint32_t i = 0; i < FAKE_UNIT; i++)
        write_unit(p, code, line, i, opcode);
}

void fake_code_words(struct fake_python *p, uint64_t code, uint32_t locals, uint32_t stack)
{
    fake_poke4(p, code + fake_layout(p)->code_locals, locals);
    fake_poke4(p, code + fake_layout(p)->code_stack, stack);
}

void fake_hide(struct fake_python *p, uint64_t code)
{
    fake_poke4(p, code + fake_layout(p)->code_first_traceable, 1000000);
}

static void write_instructions(struct fake_python *p, uint64_t code, uint32_t lines)
{
    const uint8_t call = (uint8_t)fake_opcode_called(p, "CALL"), for_iter = (uint8_t)fake_opcode_called(p, "FOR_ITER");
    for (uint32_t i = 0; i < lines; i++) {
        fake_opcode(p, code, i, 0); /* caches */
        write_unit(p, code, i, 0, call);
        write_unit(p, code, i, FAKE_DRIVE, for_iter);
    }
    if (lines > 1)
        fake_opcode(p, code, lines - 1, (uint8_t)fake_opcode_called(p, "RETURN_VALUE"));
}

void fake_code_at(struct fake_python *p, uint64_t address, const char *name, uint32_t first_line, uint32_t lines)
{
    const struct layout *l = fake_layout(p);
    fake_poke(p, address + l->object_type, p->code_type);
    fake_poke(p, address + l->code_units, (uint64_t)lines * FAKE_UNIT);
    fake_poke(p, address + l->code_name, fake_string(p, name));
    fake_poke(p, address + l->code_file, fake_string(p, "a.py"));
    fake_poke(p, address + l->code_line_table, line_table(p, lines));
    fake_poke4(p, address + l->code_first_line, first_line);
    fake_poke4(p, address + l->code_flags, 0);
    fake_poke4(p, address + l->code_first_traceable, 0);
    fake_code_words(p, address, FAKE_LOCALS, FAKE_STACK);
    if (l->code_copies)
        make_copies(p, address, lines);
    write_instructions(p, address, lines);
    if (l->code_version)
        fake_poke4(p, address + l->code_version, ++p->last_code_version);
    if (l->interpreter_code_generation) {
        const uint64_t generation = p->interpreter + l->interpreter_code_generation;
        fake_poke(p, generation, fake_peek(p, generation) + 1);
    }
}

uint64_t fake_code(struct fake_python *p, const char *name, uint32_t first_line, uint32_t lines)
{
    const uint64_t address = fake_room(p, fake_layout(p)->code_instructions + (size_t)lines * FAKE_UNIT * 2);
    fake_code_at(p, address, name, first_line, lines);
    return address;
}

uint64_t fake_generator(struct fake_python *p, const char *name, uint32_t first_line, uint32_t lines)
{
    const uint64_t address = fake_code(p, name, first_line, lines);
    fake_poke4(p, address + fake_layout(p)->code_flags, CO_GENERATOR);
    return address;
}

/* ---- the whole ---- */

/* Where the interpreter's lock is, from its word last_holder on. */
static uint64_t gil_at(const struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    return l->runtime_gil ? p->target.runtime.address + l->runtime_gil : p->interpreter + l->interpreter_own_gil;
}

void fake_take_lock(struct fake_python *p, size_t thread)
{
    const struct layout *l = fake_layout(p);
    const uint64_t taker = p->threads[thread].address;
    for (size_t i = 0; l->thread_attachment && i < p->threads_count; i++)
        fake_poke4(p, p->threads[i].address + l->thread_attachment, i == thread ? THREAD_ATTACHED : THREAD_DETACHED);
    if (l->free_threaded)
        return;
    const uint64_t gil = gil_at(p);
    fake_poke4(p, gil + 8, 1);
    if (l->runtime_gil)
        fake_poke(p, gil + LAYOUT_GIL_CURRENT, taker);
    if (fake_peek(p, gil) == taker)
        return;
    fake_poke(p, gil, taker);
    fake_poke(p, gil + 16, fake_peek(p, gil + 16) + 1);
}

static const void *published(uint32_t version, size_t *size)
{
    static const struct {
        const void *table;
        size_t size;
    } tables[2][4] = {
        { { published_3_13, sizeof(published_3_13) },
          { published_3_14, sizeof(published_3_14) },
          { published_3_15, sizeof(published_3_15) },
          { published_3_16, sizeof(published_3_16) } },
        { { published_3_13t, sizeof(published_3_13t) },
          { published_3_14t, sizeof(published_3_14t) },
          { published_3_15t, sizeof(published_3_15t) },
          { published_3_16t, sizeof(published_3_16t) } },
    };
    *size = 0;
    if (version >> 16 < 0x30d)
        return NULL;
    const unsigned threaded = version & FAKE_FREE_THREADED, minor = (version >> 16) - 0x30d;
    *size = tables[threaded][minor].size;
    return tables[threaded][minor].table;
}

struct fake_python *fake_python_start(uint32_t version)
{
    struct fake_python *p = alloc_zeroed(1, sizeof(*p));
    size_t size;
    const void *table = published(version, &size);
    const bool loaded = layout_load(&p->target.runtime.layout, version & ~FAKE_FREE_THREADED, table, size, NULL);
    assert(loaded);
    (void)loaded;
    const struct layout *l = fake_layout(p);
    p->memory = alloc_zeroed(FAKE_SIZE, 1);
    fake_remote_reset();
    fake_remote_map(FAKE_BASE, p->memory, FAKE_SIZE);
    fake_remote_time(1000000000, 1000);
    p->target.pid = p->target.ns_pid = p->target.remote.pid = 4711;
    p->target.remote.memory = -1;
    p->target.runtime.address = fake_room(p, LAYOUT_PUBLISHED_MAX);
    if (table)
        memcpy(fake_bytes(p, p->target.runtime.address), table, size);
    p->interpreter = fake_room(p, FAKE_INTERPRETER);
    fake_poke(p, p->target.runtime.address + l->runtime_interpreters_head, p->interpreter);
    p->code_type = fake_room(p, 512);
    const uint64_t name = fake_room(p, 8);
    memcpy(fake_bytes(p, name), "code", 5);
    fake_poke(p, p->code_type + l->type_name, name);
    if (l->interpreter_gil)
        fake_poke(p, p->interpreter + l->interpreter_gil, gil_at(p) - 8);
    codes_open(&p->codes, &p->target.remote, l, &p->definitions);
    unwinder_open(&p->unwinder, &p->target, &p->codes, false);
    fake_thread(p, 4711);
    fake_take_lock(p, 0);
    return p;
}

void fake_python_end(struct fake_python *p)
{
    for (size_t i = 0; i < FAKE_THREADS; i++)
        walk_free(&p->threads[i].walk);
    unwinder_close(&p->unwinder);
    codes_close(&p->codes);
    definitions_free(&p->definitions);
    target_close(&p->target);
    fake_remote_reset();
    free(p->memory);
    free(p);
}

void fake_each_version(void (*story)(struct fake_python *p))
{
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct fake_python *p = fake_python_start(fake_versions[v]);
        story(p);
        fake_python_end(p);
    }
}

/* ---- what is seen ---- */

const char *fake_walk_text(struct fake_python *p, const struct walk *walk)
{
    size_t used = 0;
    p->text[0] = '\0';
    for (uint32_t i = 0; i < walk->depth && used + 100 < sizeof(p->text); i++) {
        const struct frame *frame = &p->definitions.frames.rows[walk->links[i].frame].frame;
        const struct text name = defined_name(&p->definitions, frame->function);
        used += (size_t)snprintf(p->text + used, sizeof(p->text) - used, "%s%.*s:%u", i ? " " : "", (int)name.size,
                                 name.bytes, frame->line);
    }
    return p->text;
}

const char *fake_sample(struct fake_python *p, size_t thread)
{
    struct fake_thread *t = &p->threads[thread];
    if (p->target.interpreters_count == 0)
        target_read_interpreters(&p->target);
    struct wanted wanted = { .walk = &t->walk, .thread = t->address };
    bool same;
    if (p->target.interpreters_count == 0 || !unwind_threads(&p->unwinder, &wanted, 1, clock_now_ns(), &same))
        return "gone";
    t->state = wanted.state;
    t->unwound = wanted.unwound;
    t->attempts = wanted.attempts;
    switch (t->state) {
    case UNWIND_DONE:
        t->keep = t->walk.same;
        t->walk.same = t->walk.depth; /* as it was told */
        return fake_walk_text(p, &t->walk);
    case UNWIND_FAILED:
        snprintf(p->text, sizeof(p->text), "failed: %s", event_failure_text(t->unwound.cause));
        return p->text;
    case UNWIND_ELSEWHERE:
        return "elsewhere";
    case UNWIND_WANTED:
        break;
    }
    return "?";
}

void fake_fill(struct fake_frame *frames, size_t count, uint64_t code, int unit)
{
    for (size_t i = 0; i < count; i++)
        frames[i] = (struct fake_frame){ PLAIN, code, unit };
}

const char *fake_bounded_sample(struct fake_python *p)
{
    const uint64_t calls = p->target.remote.calls, bytes = p->target.remote.bytes;
    const char *seen = fake_sample(p, 0);
    assert_true(p->target.remote.calls - calls < CALLS_LIMIT);
    assert_true(p->target.remote.bytes - bytes < BYTES_LIMIT);
    return seen;
}

void fake_assert_seen(struct fake_python *p, const char *wanted)
{
    const char *seen = fake_bounded_sample(p);
    if (strcmp(seen, wanted) != 0)
        fail_msg("Python %x: '%s' and should be '%s'", fake_layout(p)->version, seen, wanted);
}

void fake_assert_depth(struct fake_python *p, size_t depth)
{
    const char *seen = fake_sample(p, 0);
    if (p->threads[0].state != UNWIND_DONE || p->threads[0].walk.depth != depth)
        fail_msg("Python %x: %u frames and not %zu (%u attempts): %.100s", fake_layout(p)->version,
                 p->threads[0].walk.depth, depth, p->threads[0].attempts, seen);
}
