/* SPDX-License-Identifier: MIT */
#include "tests/fake_python.h"

#include "formats/alloc.h"
#include "tests/fake_remote.h"
#include "tests/published.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_ROOM      160 /* bytes of a frame with its local variables */
#define CODE_VERSION_AT 92  /* co_version, since 3.12 */

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

void fake_poke(struct fake_python *p, uint64_t address, uint64_t value)
{
    memcpy(fake_bytes(p, address), &value, sizeof(value));
}

static void poke4(struct fake_python *p, uint64_t address, uint32_t value)
{
    memcpy(fake_bytes(p, address), &value, sizeof(value));
}

uint64_t fake_peek(const struct fake_python *p, uint64_t address)
{
    return word_at(fake_bytes(p, address), 0);
}

static const struct layout *layout_of(const struct fake_python *p)
{
    return &p->target.runtime.layout;
}

/* ---- objects ---- */

uint64_t fake_string(struct fake_python *p, const char *text)
{
    const struct layout *l = layout_of(p);
    const uint64_t string = fake_room(p, l->string_ascii + strlen(text) + 1);
    fake_poke(p, string + l->string_length, strlen(text));
    fake_poke(p, string + l->string_hash, string * 31);
    poke4(p, string + l->string_state, 1 << 2 | 1 << 5 | 1 << 6); /* one byte each, compact, ASCII */
    memcpy(fake_bytes(p, string + l->string_ascii), text, strlen(text));
    return string;
}

static uint64_t line_table(struct fake_python *p, uint32_t units)
{
    const struct layout *l = layout_of(p);
    const uint64_t table = fake_room(p, l->bytes_data + (size_t)units * 3);
    fake_poke(p, table + l->bytes_size, (uint64_t)units * 3);
    for (uint32_t i = 0; i < units; i++) {
        const unsigned char entry[] = { i == 0 ? 0xD0 : 0xD8, 4, 9 }; /* this line, then the next, columns 4 to 9 */
        memcpy(fake_bytes(p, table + l->bytes_data + (uint64_t)i * 3), entry, sizeof(entry));
    }
    return table;
}

void fake_code_at(struct fake_python *p, uint64_t address, const char *name, uint32_t first_line, uint32_t units)
{
    const struct layout *l = layout_of(p);
    fake_poke(p, address + l->object_type, p->code_type);
    fake_poke(p, address + l->code_units, units);
    fake_poke(p, address + l->code_name, fake_string(p, name));
    fake_poke(p, address + l->code_file, fake_string(p, "a.py"));
    fake_poke(p, address + l->code_line_table, line_table(p, units));
    poke4(p, address + l->code_first_line, first_line);
    if (l->version >> 16 >= 0x030c)
        poke4(p, address + CODE_VERSION_AT, ++p->last_code_version);
    if (l->interpreter_code_generation) {
        const uint64_t generation = p->interpreter + l->interpreter_code_generation;
        fake_poke(p, generation, fake_peek(p, generation) + 1);
    }
}

uint64_t fake_code(struct fake_python *p, const char *name, uint32_t first_line, uint32_t units)
{
    const uint64_t address = fake_room(p, layout_of(p)->code_instructions + (size_t)units * 2);
    fake_code_at(p, address, name, first_line, units);
    return address;
}

/* ---- threads ---- */

static uint64_t shim_owner(const struct fake_python *p)
{
    return layout_of(p)->owner_shim;
}

static void write_frame(struct fake_python *p, uint64_t frame, uint64_t previous, uint64_t code, int unit,
                        uint64_t owner)
{
    const struct layout *l = layout_of(p);
    const bool tagged = l->executable_mask != ~(uint64_t)0;
    fake_poke(p, frame + l->frame_previous, previous);
    fake_poke(p, frame + l->frame_executable, code | (code && tagged ? 1 : 0));
    fake_poke(p, frame + l->frame_instruction, code ? code + l->code_instructions + (uint64_t)(int64_t)unit * 2 : 0);
    *fake_bytes(p, frame + l->frame_owner) = (unsigned char)owner;
}

size_t fake_thread(struct fake_python *p, uint32_t native_id)
{
    const struct layout *l = layout_of(p);
    assert(p->threads_count < FAKE_THREADS);
    const size_t number = p->threads_count++;
    struct fake_thread *thread = &p->threads[number];
    thread->address = fake_room(p, l->thread_size + 64);
    thread->chunk = fake_room(p, FAKE_CHUNK);
    const uint64_t head = p->interpreter + l->interpreter_threads_head, next = fake_peek(p, head);
    fake_poke(p, head, thread->address);
    fake_poke(p, thread->address + l->thread_next, next);
    if (next)
        fake_poke(p, next + l->thread_prev, thread->address);
    fake_poke(p, thread->address + l->thread_interpreter, p->interpreter);
    fake_poke(p, thread->address + l->thread_native_id, native_id);
    fake_poke(p, thread->address + l->thread_chunk, thread->chunk);
    fake_poke(p, thread->chunk + l->chunk_size, FAKE_CHUNK);
    if (l->thread_cframe) {
        thread->cframe = fake_room(p, 32);
        fake_poke(p, thread->address + l->thread_cframe, thread->cframe);
    }
    if (l->thread_base_frame) {
        thread->base_frame = fake_room(p, FRAME_ROOM);
        fake_poke(p, thread->address + l->thread_base_frame, thread->base_frame);
        write_frame(p, thread->base_frame, 0, 0, 0, shim_owner(p));
    }
    fake_stack(p, number, NULL, 0);
    return number;
}

uint64_t fake_leaf_at(const struct fake_python *p, size_t thread)
{
    const struct layout *l = layout_of(p);
    if (l->thread_cframe)
        return p->threads[thread].cframe + l->cframe_current_frame;
    return p->threads[thread].address + l->thread_current_frame;
}

uint64_t fake_frame_address(const struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t n)
{
    if (frames[n].kind != PLAIN)
        return p->strays[thread * 100 + n];
    size_t below = 0;
    for (size_t i = 0; i < n; i++)
        below += frames[i].kind == PLAIN;
    return p->threads[thread].chunk + layout_of(p)->chunk_data + below * FRAME_ROOM;
}

void fake_stack(struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t count)
{
    const struct layout *l = layout_of(p);
    const struct fake_thread *t = &p->threads[thread];
    uint64_t previous = t->base_frame;
    /* The mark of the entry from C that every stack begins with. */
    if (l->root_is_shim && !l->thread_base_frame && count > 0) {
        previous = p->strays[thread * 100 + 99];
        write_frame(p, previous, 0, 0, 0, shim_owner(p));
    }
    uint64_t top = t->chunk + l->chunk_data;
    for (size_t i = 0; i < count; i++) {
        const uint64_t frame = fake_frame_address(p, thread, frames, i);
        const uint64_t owner = frames[i].kind == SHIM ? shim_owner(p) : frames[i].kind == GENERATOR;
        write_frame(p, frame, previous, frames[i].kind == SHIM ? 0 : frames[i].code, frames[i].unit, owner);
        top = frames[i].kind == PLAIN ? frame + FRAME_ROOM : top;
        previous = frame;
    }
    fake_poke(p, t->address + l->thread_chunk + 8, top);
    fake_poke(p, fake_leaf_at(p, thread), previous);
}

/* ---- the whole ---- */

static const void *published(uint32_t version, size_t *size)
{
    *size = version >> 16 == 0x30d   ? sizeof(published_3_13)
            : version >> 16 == 0x30e ? sizeof(published_3_14)
                                     : sizeof(published_3_15);
    if (version >> 16 < 0x30d)
        return NULL;
    return version >> 16 == 0x30d ? published_3_13 : version >> 16 == 0x30e ? published_3_14 : published_3_15;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    return tables_take(self, event, why);
}

struct fake_python *fake_python_start(uint32_t version)
{
    struct fake_python *p = alloc_zeroed(1, sizeof(*p));
    size_t size;
    const void *table = published(version, &size);
    const bool loaded = layout_load(&p->target.runtime.layout, version, table, size, NULL);
    assert(loaded);
    (void)loaded;
    const struct layout *l = layout_of(p);
    p->memory = alloc_zeroed(FAKE_SIZE, 1);
    fake_remote_reset();
    fake_remote_map(FAKE_BASE, p->memory, FAKE_SIZE);
    p->target.pid = p->target.ns_pid = p->target.remote.pid = 4711;
    p->target.remote.memory = -1;
    p->target.runtime.address = fake_room(p, LAYOUT_PUBLISHED_MAX);
    if (table)
        memcpy(fake_bytes(p, p->target.runtime.address), table, size);
    p->interpreter = fake_room(p, 9000);
    fake_poke(p, p->target.runtime.address + l->runtime_interpreters_head, p->interpreter);
    p->code_type = fake_room(p, 512);
    const uint64_t name = fake_room(p, 8);
    memcpy(fake_bytes(p, name), "code", 5);
    fake_poke(p, p->code_type + l->type_name, name);
    for (size_t i = 0; i < FAKE_STRAYS; i++)
        p->strays[i] = fake_room(p, FRAME_ROOM);
    codes_open(&p->codes, &p->target.remote, l, (struct sink){ .take = take, .self = &p->tables });
    unwinder_open(&p->unwinder, &p->target, &p->codes);
    fake_thread(p, 4711);
    return p;
}

void fake_python_end(struct fake_python *p)
{
    for (size_t i = 0; i < FAKE_THREADS; i++)
        walk_free(&p->threads[i].walk);
    unwinder_close(&p->unwinder);
    codes_close(&p->codes);
    tables_free(&p->tables);
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

static const char *stack_text(struct fake_python *p, const struct unwound *unwound)
{
    size_t used = 0;
    p->text[0] = '\0';
    for (uint32_t i = 0; i < unwound->depth && used + 100 < sizeof(p->text); i++) {
        const struct frame *frame = &p->tables.frames[unwound->frames[i]];
        const struct text name = tables_function_name(&p->tables, frame->function);
        used += (size_t)snprintf(p->text + used, sizeof(p->text) - used, "%s%.*s:%u", i ? " " : "", (int)name.size,
                                 name.bytes, frame->line);
    }
    return p->text;
}

const char *fake_sample(struct fake_python *p, size_t thread)
{
    struct fake_thread *t = &p->threads[thread];
    t->unwound = (struct unwound){ 0 };
    t->state = unwind_thread(&p->unwinder, &t->walk, p->interpreter, t->address, &t->unwound);
    switch (t->state) {
    case UNWOUND:
        stack_text(p, &t->unwound);
        walk_follow(&t->walk, &t->unwound);
        return p->text;
    case UNWIND_FAILED:
        snprintf(p->text, sizeof(p->text), "failed: %s", failure_text(t->unwound.cause));
        return p->text;
    case UNWIND_ELSEWHERE:
        return "elsewhere";
    case UNWIND_GONE:
        return "gone";
    }
    return "?";
}
