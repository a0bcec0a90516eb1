/* SPDX-License-Identifier: MIT */
/* Memory that lies about the names of threads. The first byte is the version, the second says how a Thread has its
 * attributes, the rest are commands of four bytes, { when, where (two bytes), value }: each changes a word of the
 * module `threading` in fake memory, at once or between two pieces that are read. */
#include "formats/base/alloc.h"
#include "record/names/thread_names.h"
#include "tests/fakes/fake_names.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#define CALLS_LIMIT 4000 /* of one name */
#define BYTES_LIMIT ((uint64_t)64 << 20)
#define IDENT       ((uint64_t)0x7f12345678c0)

struct liar {
    struct fake_python *p;
    const uint8_t *commands;
    size_t count, next;
    uint64_t first, words, pieces;
};

static void obey(struct liar *liar, const uint8_t *command)
{
    static const uint64_t values[] = { 0,          1,          2,          32,
                                       UINT64_MAX, 1ull << 63, 1ull << 32, 0x0202020202020202,
                                       FAKE_BASE,  0x00010101, 1u << 16,   FAKE_BASE + FAKE_SIZE - 8 };
    const uint64_t word = (command[1] | (uint64_t)command[2] << 8) % liar->words;
    const uint8_t value = command[3];
    fake_poke(liar->p, liar->first + word * 8,
              value < countof(values) ? values[value] : liar->first + (uint64_t)(value - countof(values)) * 32);
}

static void lie(void *self, const struct piece *piece, size_t i)
{
    struct liar *liar = self;
    (void)piece;
    (void)i;
    liar->pieces++;
    if (liar->next < liar->count && liar->pieces % 4 == (liar->commands[liar->next * 4] & 3u))
        obey(liar, liar->commands + 4 * liar->next++);
}

FUZZ_TARGET(names)
{
    if (size < 2 || size > 4096)
        return 0;
    struct fake_python *p = fake_python_start(fake_versions[bytes[0] % countof(fake_versions)]);
    struct fake_names fake = fake_names_make(p, bytes[1] >> 2);
    fake_names_add(p, &fake, IDENT, "Thread-1 (work)", (enum fake_attributes)(bytes[1] % FAKE_ATTRIBUTES));
    struct liar liar = { .p = p, .commands = bytes + 2, .count = (size - 2) / 4, .first = fake.dict_type };
    liar.words = (FAKE_BASE + p->used - liar.first) / 8;
    for (; liar.next < liar.count && liar.commands[liar.next * 4] & 128; liar.next++)
        obey(&liar, liar.commands + 4 * liar.next);
    fake_remote_hook(lie, &liar);
    struct thread_names names;
    thread_names_open(&names, &p->target.remote, fake_layout(p));
    for (uint64_t round = 1; round <= 4; round++) {
        const uint64_t calls = p->target.remote.calls, read = p->target.remote.bytes;
        text_free(thread_names_find(&names, p->interpreter, IDENT, FAKE_NATIVE, round * 2000000000));
        if (p->target.remote.calls - calls > CALLS_LIMIT || p->target.remote.bytes - read > BYTES_LIMIT)
            abort();
    }
    thread_names_close(&names);
    fake_python_end(p);
    return 0;
}
