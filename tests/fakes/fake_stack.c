/* SPDX-License-Identifier: MIT */
/* Threads of a small CPython, and their frames. */
#include "tests/fakes/fake_python.h"

#include <assert.h>

#define FRAME_ROOM 512 /* bytes of a frame outside the data stack, with what is before and in it */

/* ---- frames ---- */

static uint32_t locals_of(const struct fake_python *p, uint64_t code)
{
    return fake_peek4(p, code + fake_layout(p)->code_locals);
}

static uint64_t frame_bytes(const struct fake_python *p, uint64_t code)
{
    const struct layout *l = fake_layout(p);
    return l->frame_locals + 8 * ((uint64_t)locals_of(p, code) + fake_peek4(p, code + l->code_stack));
}

/* The word for a frame's instruction: in a line, so many units from its first on. */
static uint64_t instruction(const struct fake_python *p, uint64_t code, uint32_t copy, int line, uint32_t unit)
{
    const int64_t units = line < 0 ? line : (int64_t)line * FAKE_UNIT + unit;
    return fake_first(p, code, copy) + (uint64_t)(units * 2);
}

/* The copy of its bytecode that a frame has. */
static uint32_t copy_in(const struct fake_python *p, uint64_t frame)
{
    return fake_layout(p)->frame_copy ? fake_peek4(p, frame + fake_layout(p)->frame_copy) : 0;
}

/* Where in a line a frame stands: while it waits for one that it called, up to 3.12 at the last unit of the call. */
static uint32_t place_in_line(const struct fake_python *p, const struct fake_frame *next)
{
    const unsigned minor = fake_minor(p);
    if (!next || next->kind == SHIM)
        return 0;
    if (next->kind == GENERATOR)
        return minor == 12 ? FAKE_DRIVE + 1 : FAKE_DRIVE;
    return minor == 11 ? 4 : minor == 12 ? 3 : 0;
}

/* The note of where a frame's stack of values ends: so many words behind its first variable; -1: it runs. */
static void note_stack(struct fake_python *p, uint64_t frame, uint64_t code, int words)
{
    const struct layout *l = fake_layout(p);
    if (fake_minor(p) < 14) {
        fake_poke4(p, frame + l->frame_stack, (uint32_t)words);
        return;
    }
    /* While it runs, it is what it was when it was last written. */
    const uint64_t kept = words >= 0 ? (uint64_t)words : (uint64_t)locals_of(p, code) + 1;
    fake_poke(p, frame + l->frame_stack, frame + l->frame_locals + kept * 8);
}

static void write_shim(struct fake_python *p, uint64_t frame, uint64_t previous)
{
    const struct layout *l = fake_layout(p);
    fake_poke(p, frame + l->frame_previous, previous);
    fake_poke(p, frame + l->frame_executable, p->code_type | 1); /* stands for None */
    fake_poke(p, frame + l->frame_instruction, 0xABABABABABABABAB);
    *fake_bytes(p, frame + l->frame_owner) = (unsigned char)l->owner_shim;
}

/* What a frame has on its stack of values while it waits for `next`, and the note of it. */
static void write_values(struct fake_python *p, uint64_t frame, uint64_t code, const struct fake_frame *next,
                         uint64_t next_frame)
{
    const struct layout *l = fake_layout(p);
    const uint32_t locals = locals_of(p, code);
    const uint64_t values = frame + l->frame_locals + (uint64_t)locals * 8;
    const bool through_c = next && (next->kind == SHIM || (next->kind == GENERATOR && fake_minor(p) == 11));
    fake_poke(p, values, 0xDADADADADADADAD0);
    if (next && next->kind == GENERATOR)
        fake_poke(p, values, next_frame - l->generator_frame);
    if (fake_minor(p) >= 15)
        fake_poke(p, values + 8, 1); /* NULL lies above a generator */
    const int driving = fake_minor(p) >= 15 ? 2 : 1;
    note_stack(p, frame, code, !next || (through_c && fake_minor(p) < 14) ? -1 : (int)locals + driving);
}

static void write_frame(struct fake_python *p, const struct fake_thread *t, size_t n, uint64_t previous)
{
    const struct layout *l = fake_layout(p);
    const struct fake_frame *is = &t->stack[n].is, *next = n + 1 < t->depth ? &t->stack[n + 1].is : NULL;
    const uint64_t frame = t->stack[n].address;
    const uint32_t copy = fake_copy(p, (size_t)(t - p->threads));
    if (l->frame_copy)
        fake_poke4(p, frame + l->frame_copy, copy);
    fake_poke(p, frame + l->frame_previous, previous);
    fake_poke(p, frame + l->frame_executable, is->code | (l->executable_mask & 1 ? 0 : 1));
    fake_poke(p, frame + l->frame_instruction, instruction(p, is->code, copy, is->unit, place_in_line(p, next)));
    *fake_bytes(p, frame + l->frame_owner) = is->kind == GENERATOR;
    if (l->frame_entry)
        *fake_bytes(p, frame + l->frame_entry) = n == 0 || is->kind == GENERATOR || t->stack[n - 1].is.kind == SHIM;
    write_values(p, frame, is->code, next, next ? t->stack[n + 1].address : 0);
}

/* What remains of a frame that has returned, or that yielded. */
static void leave_frame(struct fake_python *p, const struct fake_frame *is, uint64_t frame)
{
    const struct layout *l = fake_layout(p);
    const uint32_t locals = locals_of(p, is->code);
    if (is->kind == GENERATOR) {
        fake_poke(p, frame + l->frame_previous, 0);
        note_stack(p, frame, is->code, (int)locals + 1);
        return;
    }
    const int lines = (int)(fake_peek(p, is->code + l->code_units) / FAKE_UNIT);
    fake_poke(p, frame + l->frame_instruction, instruction(p, is->code, copy_in(p, frame), lines - 1, 0));
    note_stack(p, frame, is->code, fake_minor(p) >= 13 ? 0 : (int)locals);
    if (fake_minor(p) >= 14)
        fake_poke(p, frame + l->frame_executable, 1);
}

void fake_revive(struct fake_python *p, uint64_t frame, uint64_t previous, uint64_t code, int unit)
{
    const struct layout *l = fake_layout(p);
    fake_poke(p, frame + l->frame_previous, previous);
    fake_poke(p, frame + l->frame_executable, code | (l->executable_mask & 1 ? 0 : 1));
    fake_poke(p, frame + l->frame_instruction,
              instruction(p, code, copy_in(p, frame), unit, place_in_line(p, &(struct fake_frame){ 0 })));
    *fake_bytes(p, frame + l->frame_owner) = 0;
    note_stack(p, frame, code, (int)locals_of(p, code) + 1);
}

/* Gives each frame its place. */
static void lay_out(struct fake_python *p, struct fake_thread *t, const struct fake_frame *frames, size_t count)
{
    const struct layout *l = fake_layout(p);
    uint64_t top = t->chunks[0] + l->chunk_data + 8;
    size_t shims = 0;
    t->depth = count;
    for (size_t n = 0, chunk = 0; n < count; n++) {
        if (chunk + 1 < t->chunks_count && n >= t->chunk_begins[chunk + 1])
            top = t->chunks[++chunk] + l->chunk_data;
        t->stack[n].is = frames[n];
        t->stack[n].address = frames[n].kind == PLAIN ? top : t->off_stack[n];
        if (frames[n].kind == SHIM)
            t->stack[n].address = l->frame_entry ? 0 : t->shims[shims++ % FAKE_SHIMS];
        if (frames[n].kind == PLAIN)
            top += frame_bytes(p, frames[n].code);
    }
}

void fake_frames(struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t count)
{
    struct fake_thread *t = &p->threads[thread];
    assert(count <= FAKE_FRAMES);
    for (size_t n = 0; n < t->depth; n++)
        if (t->stack[n].is.kind != SHIM)
            leave_frame(p, &t->stack[n].is, t->stack[n].address);
    lay_out(p, t, frames, count);
    uint64_t previous = t->base_frame;
    if (t->root_shim && count > 0)
        write_shim(p, previous = t->root_shim, 0);
    for (size_t n = 0; n < count; n++) {
        const uint64_t frame = t->stack[n].address;
        if (frame && frames[n].kind == SHIM)
            write_shim(p, frame, previous);
        else if (frame)
            write_frame(p, t, n, previous);
        previous = frame ? frame : previous;
    }
}

/* The end of the data stack, and of each of its chunks. */
static void write_top(struct fake_python *p, const struct fake_thread *t)
{
    const struct layout *l = fake_layout(p);
    uint64_t top = t->chunks[0] + l->chunk_data + 8;
    size_t chunk = 0;
    for (size_t n = 0; n < t->depth; n++) {
        if (chunk + 1 < t->chunks_count && n >= t->chunk_begins[chunk + 1]) {
            fake_poke(p, t->chunks[chunk] + l->chunk_top, (top - t->chunks[chunk] - l->chunk_data) / 8);
            top = t->chunks[++chunk] + l->chunk_data;
        }
        if (t->stack[n].is.kind == PLAIN)
            top = t->stack[n].address + frame_bytes(p, t->stack[n].is.code);
    }
    fake_poke(p, t->address + l->thread_chunk, t->chunks[chunk]);
    fake_poke(p, t->address + l->thread_chunk + 8, top);
}

/* Before 3.13 each entry from C has a place for the current frame: what the place before the last one has is the frame
 * above the last entry. */
static void note_caller(struct fake_python *p, const struct fake_thread *t, uint64_t leaf)
{
    const struct layout *l = fake_layout(p);
    uint64_t frame = leaf, caller = 0;
    bool entered = false;
    if (!l->thread_cframe)
        return;
    while (frame && !entered) {
        entered = l->frame_entry ? *fake_bytes(p, frame + l->frame_entry)
                                 : *fake_bytes(p, frame + l->frame_owner) >= l->owner_shim;
        caller = fake_peek(p, frame + l->frame_previous);
        frame = caller;
    }
    fake_poke(p, t->cframe + l->cframe_current_frame + 8, caller ? t->caller_cframe : 0);
    fake_poke(p, t->caller_cframe + l->cframe_current_frame, caller);
}

void fake_stack(struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t count)
{
    struct fake_thread *t = &p->threads[thread];
    fake_frames(p, thread, frames, count);
    write_top(p, t);
    uint64_t leaf = count ? t->root_shim : 0;
    leaf = t->base_frame ? t->base_frame : leaf;
    for (size_t n = 0; n < count; n++)
        leaf = t->stack[n].address ? t->stack[n].address : leaf;
    fake_poke(p, fake_leaf_at(p, thread), leaf);
    note_caller(p, t, leaf);
}

uint64_t fake_frame_address(const struct fake_python *p, size_t thread, size_t n)
{
    return p->threads[thread].stack[n].address;
}

/* ---- threads ---- */

static void make_chunk(struct fake_python *p, struct fake_thread *t, size_t first)
{
    const struct layout *l = fake_layout(p);
    const uint64_t chunk = fake_pages(p, FAKE_CHUNK);
    fake_poke(p, chunk + l->chunk_previous, t->chunks_count ? t->chunks[t->chunks_count - 1] : 0);
    fake_poke(p, chunk + l->chunk_size, FAKE_CHUNK);
    assert(t->chunks_count < sizeof(t->chunks) / sizeof(t->chunks[0]));
    t->chunk_begins[t->chunks_count] = first;
    t->chunks[t->chunks_count++] = chunk;
}

void fake_chunk(struct fake_python *p, size_t thread, size_t first)
{
    make_chunk(p, &p->threads[thread], first);
}

size_t fake_thread(struct fake_python *p, uint32_t native_id)
{
    const struct layout *l = fake_layout(p);
    assert(p->threads_count < FAKE_THREADS);
    const size_t number = p->threads_count++;
    struct fake_thread *thread = &p->threads[number];
    thread->address = fake_room(p, l->thread_size + 64);
    make_chunk(p, thread, 0);
    const uint64_t head = p->interpreter + l->interpreter_threads_head, next = fake_peek(p, head);
    fake_poke(p, head, thread->address);
    fake_poke(p, thread->address + l->thread_next, next);
    if (next)
        fake_poke(p, next + l->thread_prev, thread->address);
    fake_poke(p, thread->address + l->thread_interpreter, p->interpreter);
    fake_poke(p, thread->address + l->thread_native_id, native_id);
    if (l->thread_cframe) {
        thread->cframe = fake_room(p, 32);
        thread->caller_cframe = fake_room(p, 32);
        fake_poke(p, thread->address + l->thread_cframe, thread->cframe);
    }
    for (size_t i = 0; i < FAKE_FRAMES; i++)
        thread->off_stack[i] = fake_room(p, FRAME_ROOM) + l->generator_frame;
    for (size_t i = 0; i < FAKE_SHIMS; i++)
        thread->shims[i] = fake_room(p, FRAME_ROOM);
    if (l->thread_base_frame) {
        thread->base_frame = fake_room(p, FRAME_ROOM);
        fake_poke(p, thread->address + l->thread_base_frame, thread->base_frame);
        write_shim(p, thread->base_frame, 0);
    } else if (l->root_is_shim) {
        thread->root_shim = fake_room(p, FRAME_ROOM);
    }
    fake_stack(p, number, NULL, 0);
    return number;
}

uint64_t fake_leaf_at(const struct fake_python *p, size_t thread)
{
    const struct layout *l = fake_layout(p);
    if (l->thread_cframe)
        return p->threads[thread].cframe + l->cframe_current_frame;
    return p->threads[thread].address + l->thread_current_frame;
}
