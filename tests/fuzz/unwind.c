/* SPDX-License-Identifier: MIT */
/* Memory that lies to the unwinder. The first byte is the version, and 128 if the thread comes from C into a function
 * that has not begun; the second says how it begins, the rest are commands of four bytes, { what, where (two bytes),
 * value }: a small CPython in fake memory is built, and each command changes a word of it at once, or when so many
 * pieces of it have been read. */
#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/unwind/thread_list.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define CALLS_LIMIT 100000 /* of a tick: its list may be read 8 times, and a thread 64 times */
#define BYTES_LIMIT ((uint64_t)2 << 30)

struct liar {
    struct fake_python *p;
    const uint8_t *commands;
    size_t count, next;
    uint64_t pieces;
    uint64_t places[16]; /* addresses that matter */
    uint64_t heads[2];   /* of the runtime and of the interpreter: the list of interpreters */
};

static uint64_t value_of(const struct liar *liar, const uint8_t *command)
{
    static const uint64_t values[] = { 0,
                                       1,
                                       3,
                                       8,
                                       UINT64_MAX,
                                       UINT64_MAX - 7,
                                       1ull << 63,
                                       1ull << 32,
                                       FAKE_BASE,
                                       FAKE_BASE + FAKE_SIZE - 8,
                                       0xDDDDDDDDDDDDDDDD,
                                       16 << 20 };
    const uint8_t value = command[3];
    if (value < countof(values))
        return values[value];
    if (value < 64)
        return liar->places[value % 16] + (value >> 4) * 8;
    return value < 128 ? value - 64u : (uint64_t)(value - 128) * 4096;
}

static void obey(struct liar *liar, const uint8_t *command)
{
    struct fake_python *p = liar->p;
    const uint64_t begin = command[0] & 32 ? liar->heads[command[1] % 2] : liar->places[command[1] % 16];
    const uint64_t place = begin + command[2] * (uint64_t)(command[0] & 8 ? 1 : 8);
    if (place < FAKE_BASE || place + 8 > FAKE_BASE + FAKE_SIZE)
        return;
    const uint64_t value = value_of(liar, command);
    memcpy(fake_bytes(p, place), &value, command[0] & 16 ? 1 : 8);
}

static void lie(void *self, const struct piece *piece, size_t i)
{
    struct liar *liar = self;
    (void)piece;
    (void)i;
    liar->pieces++;
    if (liar->next < liar->count && liar->pieces % 8 == (liar->commands[liar->next * 4] & 7u))
        obey(liar, liar->commands + 4 * liar->next++);
}

static void tell_places(struct liar *liar, uint64_t f, uint64_t g)
{
    struct fake_python *p = liar->p;
    const struct layout *l = &p->target.runtime.layout;
    const bool short_stack = p->threads[0].depth < 7;
    const uint64_t places[] = {
        p->threads[0].address,
        p->threads[0].address + l->thread_current_frame,
        p->threads[0].address + l->thread_chunk,
        p->threads[0].chunks[0],
        fake_frame_address(p, 0, 0),
        fake_frame_address(p, 0, short_stack ? 3 : 5),
        p->threads[0].off_stack[1],
        p->threads[0].shims[0],
        f,
        fake_frame_address(p, 0, short_stack ? 3 : 6),
        g,
        fake_peek(p, f + l->code_name),
        fake_peek(p, f + l->code_line_table),
        p->interpreter + (l->runtime_gil ? l->interpreter_threads_head : l->interpreter_own_gil),
        fake_leaf_at(p, 0),
        p->threads[1].address,
    };
    memcpy(liar->places, places, sizeof(places));
    liar->heads[0] = p->target.runtime.address + l->runtime_interpreters_head;
    liar->heads[1] = p->interpreter + l->interpreter_next;
}

/* Its current frame is not noted yet: what is there is what was there before. */
static void enter(struct fake_python *p, const struct fake_frame *frames, size_t count, uint64_t f, uint64_t noted)
{
    struct fake_frame entering[FAKE_FRAMES];
    memcpy(entering, frames, count * sizeof(*frames));
    entering[count] = (struct fake_frame){ SHIM, 0, 0 };
    entering[count + 1] = (struct fake_frame){ PLAIN, f, -1 };
    fake_stack(p, 0, entering, count + 2);
    fake_poke(p, fake_leaf_at(p, 0), noted);
}

FUZZ_TARGET(unwind)
{
    if (size < 2 || size > 4096)
        return 0;
    struct fake_python *p = fake_python_start(fake_versions[bytes[0] % countof(fake_versions)]);
    struct liar liar = { .p = p, .commands = bytes + 2, .count = (size - 2) / 4 };
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_generator(p, "gen", 50, 9);
    const struct fake_frame deep[] = {
        { PLAIN, f, 1 }, { GENERATOR, g, 2 }, { GENERATOR, g, 3 }, { PLAIN, f, 4 },
        { SHIM, 0, 0 },  { PLAIN, f, 5 },     { PLAIN, f, 6 },
    };
    fake_thread(p, 4712);
    fake_chunk(p, 0, 5);
    const size_t depth = bytes[1] & 64 ? 4 : countof(deep);
    fake_stack(p, 0, deep, depth);
    fake_stack(p, 1, (struct fake_frame[]){ { PLAIN, g, 4 }, { PLAIN, f, 4 } }, 2);
    tell_places(&liar, f, g);
    struct thread_list thread_list;
    thread_list_open(&thread_list, &p->target, &p->codes, THREADS_ALL, bytes[1] & 128);
    if (bytes[1] & 32) /* it is known what there is to know, before anything lies */
        for (int round = 0; round < 5; round++)
            thread_list_read(&thread_list, clock_now_ns());
    if (bytes[0] & 128)
        enter(p, deep, depth, f, bytes[0] >> 3 & 15 ? liar.places[bytes[0] >> 3 & 15] : 0);
    for (; liar.next < liar.count && liar.next < (bytes[1] & 31u); liar.next++)
        obey(&liar, liar.commands + 4 * liar.next);
    fake_remote_hook(lie, &liar);
    for (int round = 0; round < 8; round++) {
        const uint64_t calls = p->target.remote.calls, read = p->target.remote.bytes;
        if (round % 2)
            fake_sample(p, (size_t)round / 2 % 2);
        else
            thread_list_read(&thread_list, clock_now_ns());
        if (p->target.remote.calls - calls > CALLS_LIMIT || p->target.remote.bytes - read > BYTES_LIMIT)
            abort();
        fake_take_lock(p, (size_t)round / 4);
    }
    thread_list_close(&thread_list);
    fake_python_end(p);
    return 0;
}
