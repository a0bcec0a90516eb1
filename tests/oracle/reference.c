/* SPDX-License-Identifier: MIT */
/* The shares that recordings are judged by: reference PID COUNT OUTPUT [MEAN_US].
 *
 * Looks COUNT times at a process, at random moments, MEAN_US apart on average, and counts the stacks of its threads.
 * Each look stops all threads (ptrace), walks and lets go. What makes the shares right:
 *
 *   - A look is taken at the moment that was drawn, whatever the program does then, and it is never repeated. While the
 *     program is in a system call that lasts, or waits for the processor, it can't stop: the moments that are drawn
 *     until it does are its, too.
 *   - The process is kept on our own processor meanwhile. There the timer that wakes us interrupts it wherever it is;
 *     from another processor the stop would arrive late, mostly at the next system call.
 *   - The stack of a thread that stands still is its current frame and the links above it, as CPython itself has it.
 *
 * Nothing of this is the recorder's: of record/ it takes where things are (layout.h) and what code objects are called,
 * which is read while the process still stands still.
 *
 * Output: {"looks", "worth", "seconds", "unread", "stop_us", "frames": [[function, file, line]], "stacks": [[tid,
 * count, [frame]]]}, root first. `worth` is how many looks would tell as much if each stood for one moment, `unread`
 * counts threads whose links led nowhere. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "record/process/clock.h"
#include "record/python/code.h"
#include "record/python/runtime.h"
#include "tests/fakes/defined.h"
#include "tests/oracle/standstill.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEAN_US      2000.0
#define MOMENTS_MOST 2 /* times the looks that are asked for: on a busy machine one stands for several */
#define DEPTH_LIMIT  200000u
#define THREADS_MOST 4096u /* states in an interpreter's list, and interpreters */
#define PAGE         4096u
#define PAGES        64 /* of the process that are held while it stands still */

/* ---- the process ---- */

/* A frame as it was found. */
struct link {
    struct executed executed;
    uint64_t instruction;
};

struct stack {
    uint32_t tid;
    uint64_t looks, moments;
    uint32_t depth;
    uint32_t *frames; /* root first */
};

/* The frames of a thread state in this look. */
struct state {
    uint32_t tid, depth;
    uint32_t *frames; /* root first */
};

struct reference {
    struct standstill process;
    struct remote remote;
    struct runtime runtime;
    struct codes codes;
    struct definitions definitions;
    struct link *links; /* leaf first */
    size_t links_count, links_room;
    uint32_t *key; /* tid, then frames */
    size_t key_room;
    struct state *states; /* of this look */
    size_t states_count, states_room;
    struct intern known; /* keys → number of a stack */
    struct stack *stacks;
    size_t stacks_room;
    uint64_t next_ns, now_moments;                                   /* the next one; those that this look stands for */
    uint64_t looks, moments, squares, unread, stopped_ns, lasted_ns; /* squares: of the moments of each look */
    struct {
        uint64_t address; /* 0: free */
        unsigned char bytes[PAGE];
    } pages[PAGES];
};

/* ---- its memory, while it stands still ---- */

static void forget_pages(struct reference *r)
{
    for (size_t i = 0; i < PAGES; i++)
        r->pages[i].address = 0;
}

static bool peek_page(struct reference *r, uint64_t address, size_t size, unsigned char *into)
{
    const uint64_t page = address / PAGE;
    const size_t slot = page % PAGES;
    if (r->pages[slot].address != page * PAGE) {
        r->pages[slot].address = 0;
        if (remote_read(&r->remote, page * PAGE, r->pages[slot].bytes, PAGE) != REMOTE_READ)
            return false;
        r->pages[slot].address = page * PAGE;
    }
    memcpy(into, r->pages[slot].bytes + address % PAGE, size);
    return true;
}

static bool peek(struct reference *r, uint64_t address, size_t size, void *into)
{
    unsigned char *to = into;
    while (size > 0) {
        const size_t here = PAGE - address % PAGE, part = size < here ? size : here;
        if (address < PAGE || !peek_page(r, address, part, to))
            return false;
        address += part;
        to += part;
        size -= part;
    }
    return true;
}

static bool peek_word(struct reference *r, uint64_t address, uint64_t *word)
{
    return peek(r, address, sizeof(*word), word);
}

/* ---- the stack of a thread ---- */

static bool current_frame(struct reference *r, const unsigned char *thread, uint64_t *frame)
{
    const struct layout *l = &r->runtime.layout;
    *frame = 0;
    if (!l->thread_cframe) {
        *frame = word_at(thread, l->thread_current_frame);
        return true;
    }
    const uint64_t cframe = word_at(thread, l->thread_cframe);
    return cframe == 0 || peek_word(r, cframe + l->cframe_current_frame, frame);
}

/* The frames from the current one up. Those that C code entered through have no code of their own. */
static bool find_links(struct reference *r, const unsigned char *thread)
{
    const struct layout *l = &r->runtime.layout;
    unsigned char bytes[LAYOUT_FRAME_MAX];
    uint64_t frame;
    r->links_count = 0;
    if (!current_frame(r, thread, &frame))
        return false;
    for (uint32_t steps = 0; frame; frame = word_at(bytes, l->frame_previous)) {
        if (steps++ == DEPTH_LIMIT || !peek(r, frame, l->frame_size, bytes))
            return false;
        if (bytes[l->frame_owner] >= l->owner_shim)
            continue;
        r->links = alloc_grow(r->links, &r->links_room, r->links_count + 1, sizeof(*r->links));
        r->links[r->links_count++] = (struct link){ code_executed(l, bytes), word_at(bytes, l->frame_instruction) };
    }
    return true;
}

/* The code objects that are remembered may be others by now. */
static void confirm_codes(struct reference *r)
{
    struct code **which = alloc_zeroed(r->links_count + 1, sizeof(struct code *));
    size_t count = 0;
    for (size_t i = 0; i < r->links_count; i++) {
        const struct executed executed = r->links[i].executed;
        if (i > 0 && executed.code == r->links[i - 1].executed.code)
            continue;
        which[count] = codes_find(&r->codes, executed.code, executed.copy);
        count += which[count] != NULL;
    }
    /* One that is found twice would be forgotten twice. */
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        size_t j = 0;
        while (j < distinct && which[j] != which[i])
            j++;
        which[distinct] = which[i];
        distinct += j == distinct;
    }
    codes_confirm(&r->codes, which, distinct);
    free(which);
}

/* The stack whose thread and frames are r->key. */
static void count_stack(struct reference *r, uint32_t depth)
{
    bool added;
    const uint32_t number = intern_number(&r->known, r->key, ((size_t)depth + 1) * sizeof(uint32_t), &added);
    if (added) {
        r->stacks = alloc_grow(r->stacks, &r->stacks_room, number, sizeof(*r->stacks));
        r->stacks[number - 1] = (struct stack){
            .tid = r->key[0], .depth = depth, .frames = (uint32_t *)alloc_copy(r->key + 1, depth * sizeof(uint32_t))
        };
    }
    r->stacks[number - 1].looks++;
    r->stacks[number - 1].moments += r->now_moments;
}

/* Names the frames from the root on. CPython's own are no functions of the program. */
static bool name_links(struct reference *r, uint32_t tid)
{
    struct state state = { .tid = tid, .frames = alloc_zeroed(r->links_count + 1, sizeof(*state.frames)) };
    r->states = alloc_grow(r->states, &r->states_room, r->states_count + 1, sizeof(*r->states));
    for (size_t i = r->links_count; i-- > 0;) {
        const struct link *link = &r->links[i];
        const struct code *code = codes_find(&r->codes, link->executed.code, link->executed.copy);
        if (!code)
            code = link->executed.code ? codes_read(&r->codes, link->executed.code, link->executed.copy) : NULL;
        if (!code) {
            free(state.frames);
            return false;
        }
        if (!code->hidden)
            state.frames[state.depth++] = codes_frame(&r->codes, code, (int64_t)(link->instruction - code->first) / 2,
                                                      0);
    }
    r->states[r->states_count++] = state;
    return true;
}

/* Moves the frames of states [first, ...) of one thread into the key. Returns their number. */
static uint32_t take_thread(struct reference *r, size_t first)
{
    const uint32_t tid = r->states[first].tid;
    uint32_t depth = 0;
    for (size_t i = r->states_count; i-- > first;) {
        struct state *state = &r->states[i];
        if (state->tid != tid || !state->frames)
            continue;
        r->key = alloc_grow(r->key, &r->key_room, (size_t)depth + state->depth + 1, sizeof(*r->key));
        memcpy(r->key + 1 + depth, state->frames, state->depth * sizeof(*r->key));
        depth += state->depth;
        free(state->frames);
        state->frames = NULL;
    }
    r->key[0] = tid;
    return depth;
}

/* A thread has one stack, which goes on in the interpreter that it has entered. The list of interpreters begins with
 * the newest one, and no program here enters an older one. A state that is made for a new interpreter, or (3.11) a new
 * thread, has no frames yet. */
static void count_threads(struct reference *r)
{
    for (size_t i = 0; i < r->states_count; i++)
        if (r->states[i].frames)
            count_stack(r, take_thread(r, i));
    r->states_count = 0;
}

static void look_at_thread(struct reference *r, const unsigned char *thread)
{
    const uint32_t tid = (uint32_t)word_at(thread, r->runtime.layout.thread_native_id);
    if (tid == 0) /* it is just being started */
        return;
    codes_trim(&r->codes);
    bool good = find_links(r, thread);
    if (good) {
        confirm_codes(r);
        good = name_links(r, tid);
    }
    r->unread += !good;
}

/* All threads of all interpreters. False when a list is broken. */
static bool look(struct reference *r)
{
    const struct layout *l = &r->runtime.layout;
    unsigned char thread[LAYOUT_THREAD_MAX];
    uint64_t interpreter, at;
    uint32_t steps = 0;
    bool good = peek_word(r, r->runtime.address + l->runtime_interpreters_head, &interpreter);
    while (good && interpreter) {
        good = peek_word(r, interpreter + l->interpreter_id, &r->codes.interpreter) &&
               peek_word(r, interpreter + l->interpreter_threads_head, &at);
        for (; good && at; at = word_at(thread, l->thread_next)) {
            good = steps++ < THREADS_MOST && peek(r, at, l->thread_size, thread);
            if (good)
                look_at_thread(r, thread);
        }
        good = good && steps++ < THREADS_MOST && peek_word(r, interpreter + l->interpreter_next, &interpreter);
    }
    return good;
}

/* ---- the moments ---- */

/* Nothing in the program can be in step with these. */
static uint64_t drawn_ns(double mean_us)
{
    return (uint64_t)(-log(1.0 - drand48()) * mean_us * 1000.0);
}

static void sleep_until(uint64_t wake_ns)
{
    while (clock_now_ns() < wake_ns)
        clock_sleep_until(wake_ns);
}

/* A moment, and those that are drawn until the program has stopped. */
static bool take_look(struct reference *r, double mean_us, struct fault *why)
{
    const uint64_t began_ns = clock_now_ns();
    const bool good = standstill_begin(&r->process, why);
    const uint64_t stopped_ns = clock_now_ns();
    for (r->now_moments = 0; r->next_ns <= stopped_ns; r->now_moments++)
        r->next_ns += drawn_ns(mean_us);
    forget_pages(r);
    if (good && !look(r))
        r->unread++;
    count_threads(r);
    standstill_end(&r->process);
    const uint64_t ended_ns = clock_now_ns();
    r->next_ns += ended_ns - stopped_ns; /* of the program's own time */
    r->stopped_ns += ended_ns - began_ns;
    r->moments += r->now_moments;
    r->squares += r->now_moments * r->now_moments;
    r->looks++;
    return good;
}

static bool take_looks(struct reference *r, uint64_t count, double mean_us, struct fault *why)
{
    bool good = true;
    const uint64_t start_ns = clock_now_ns();
    r->next_ns = start_ns + drawn_ns(mean_us);
    while (good && r->looks < count && r->moments < MOMENTS_MOST * count) {
        sleep_until(r->next_ns);
        good = take_look(r, mean_us, why);
    }
    r->lasted_ns = clock_now_ns() - start_ns;
    return good;
}

/* ---- what came of it ---- */

static json_t *text_told(struct text text)
{
    return json_stringn_nocheck(text.bytes, text.size);
}

static json_t *frames_told(const struct definitions *d)
{
    json_t *rows = json_array();
    for (uint32_t i = 1; i <= d->frames.ids.count; i++) {
        const struct frame *frame = &d->frames.rows[i].frame;
        json_t *row = json_array();
        json_array_append_new(row, text_told(defined_name(d, frame->function)));
        json_array_append_new(row, text_told(defined_file(d, frame->function)));
        json_array_append_new(row, json_integer(frame->line));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *stacks_told(const struct reference *r)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < r->known.count; i++) {
        const struct stack *stack = &r->stacks[i];
        json_t *frames = json_array();
        for (uint32_t j = 0; j < stack->depth; j++) /* from 0 on, as the rows of frames are */
            json_array_append_new(frames, json_integer(stack->frames[j] - 1));
        json_array_append_new(rows, json_pack("[I, I, I, o]", (json_int_t)stack->tid, (json_int_t)stack->looks,
                                              (json_int_t)stack->moments, frames));
    }
    return rows;
}

static bool tell(const struct reference *r, const char *path, struct fault *why)
{
    const double us = 1000.0, s = 1e9, moments = (double)r->moments;
    const double worth = moments * moments / (double)r->squares;
    json_t *told = json_pack("{s: I, s: f, s: f, s: I, s: f, s: o, s: o}", "looks", (json_int_t)r->looks, "worth",
                             worth, "seconds", (double)r->lasted_ns / s, "unread", (json_int_t)r->unread, "stop_us",
                             (double)r->stopped_ns / us / (double)r->looks, "frames", frames_told(&r->definitions),
                             "stacks", stacks_told(r));
    const bool good = told && json_dump_file(told, path, JSON_COMPACT) == 0;
    json_decref(told);
    return good || fault(why, "cannot write %s", path);
}

static void close_all(struct reference *r)
{
    for (uint32_t i = 0; i < r->known.count; i++)
        free(r->stacks[i].frames);
    codes_close(&r->codes);
    remote_close(&r->remote);
    intern_free(&r->known);
    definitions_free(&r->definitions);
    free(r->links);
    free(r->key);
    free(r->states);
    free(r->stacks);
}

static bool take(struct reference *r, uint64_t count, double mean_us, const char *path, struct fault *why)
{
    if (!remote_open(&r->remote, r->process.pid, why))
        return false;
    if (runtime_find(&r->runtime, &r->remote, why) != RUNTIME_READY)
        return fault(why, "process %d has no CPython that can be read", (int)r->process.pid);
    codes_open(&r->codes, &r->remote, &r->runtime.layout, &r->definitions);
    standstill_open(&r->process);
    const bool good = take_looks(r, count, mean_us, why);
    standstill_close(&r->process);
    return good && tell(r, path, why);
}

int main(int argc, char **argv)
{
    static struct reference reference;
    struct fault why = { 0 };
    startup(EXIT_FAILURE);
    const bool given = argc == 4 || argc == 5;
    const long count = given ? atol(argv[2]) : 0;
    const double mean_us = argc == 5 ? atof(argv[4]) : MEAN_US;
    reference.process.pid = given ? atoi(argv[1]) : 0;
    reference.remote.memory = -1;
    if (reference.process.pid <= 0 || count <= 0 || mean_us <= 0) {
        fprintf(stderr, "usage: reference PID COUNT OUTPUT [MEAN_US]\n");
        return EXIT_MISUSE;
    }
    srand48((long)clock_now_ns());
    const bool good = take(&reference, (uint64_t)count, mean_us, argv[3], &why);
    if (!good)
        fprintf(stderr, "reference: %s\n", why.text);
    close_all(&reference);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
