/* SPDX-License-Identifier: MIT */
/* Memory that lies about asyncio. The first byte is the version, the second says whether a thread runs a task, and
 * which tasks are read; the rest are commands of four bytes, { when, where (two bytes), value }: each changes a word of
 * the tasks, coroutines, sets, lists and callbacks in fake memory, at once or between two pieces that are read. */
#include "record/asyncio/asyncio.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fuzz/fuzz.h"

#define TASKS     6
#define PUBLISHED 6 /* versions of fake_asyncio_each_version() */
#define OLDER     3 /* ... and of fake_asyncio_each_older() */
#define TICKS     4

struct liar {
    struct fake_asyncio *a;
    const uint8_t *commands;
    size_t count, next;
    uint64_t first, words, pieces, lists[2];
    uint64_t things[2 * TASKS];
};

static struct {
    const uint8_t *bytes;
    size_t size;
    unsigned version; /* how many versions are left before the wanted one */
} input;

static uint64_t value_of(const struct liar *liar, uint8_t value, uint64_t old)
{
    static const uint64_t values[] = {
        0, 1, 2, 16, UINT64_MAX, UINT64_MAX - 7, 1ull << 63, 1ull << 32, FAKE_BASE, FAKE_BASE + FAKE_SIZE - 8
    };
    if (value < countof(values))
        return values[value];
    if (value < 64)
        return liar->things[value % countof(liar->things)] + (value >> 4) * 8;
    if (value < 96)
        return old + (uint64_t)(value - 80) * 8;
    return liar->first + (uint64_t)(value - 96) * 24;
}

static void obey(struct liar *liar, const uint8_t *command)
{
    const uint64_t word = command[1] | (uint64_t)(command[2] & 127) << 8;
    const uint64_t at = command[2] & 128 ? liar->lists[word & 1] + (word >> 1 & 1) * 8
                                         : liar->first + word % liar->words * 8;
    fake_poke(liar->a->p, at, value_of(liar, command[3], fake_peek(liar->a->p, at)));
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

static void link_tasks(struct liar *liar, const uint64_t *tasks)
{
    struct fake_asyncio *a = liar->a;
    fake_awaited_by_all(a, tasks[0], tasks + 1, 2);
    fake_awaited_by(a, tasks[1], tasks[3]);
    fake_awaited_by(a, tasks[2], tasks[3]);
    liar->lists[0] = fake_thread_tasks(a, 0);
    liar->lists[1] = fake_interpreter_tasks(a);
    fake_list(a, liar->lists[0], tasks, TASKS - 1);
    fake_list(a, liar->lists[1], tasks + TASKS - 1, 1);
}

static void link_older(struct liar *liar, const uint64_t *tasks)
{
    static const char file[] = "/lib/asyncio/tasks.py";
    struct fake_asyncio *a = liar->a;
    const uint64_t outer = fake_future(a, fake_waker(a, tasks[3]));
    const uint64_t gathers = fake_function(a, "gather.<locals>._done_callback", file, &outer, 1);
    const uint64_t waits = MEMBERS(a, a->partial_type, fake_function(a, "_release_waiter", file, NULL, 0),
                                   fake_tuple(a, &outer, 1));
    CALLS(a, tasks[0], fake_waker(a, tasks[1]), fake_waker(a, tasks[2]), waits);
    CALLS(a, tasks[1], gathers);
    CALLS(a, tasks[2], gathers);
    liar->lists[0] = fake_all_tasks(a, tasks, TASKS);
    liar->lists[1] = fake_member(a, a->asyncio.tasks.module.tasks, 2);
}

/* Some tasks wait for each other, one runs, one has left its thread. */
static void make_tasks(struct liar *liar, bool runs)
{
    struct fake_asyncio *a = liar->a;
    const uint64_t f = fake_async_code(a, "f", 20, 9);
    uint64_t tasks[TASKS], coroutines[TASKS];
    liar->first = fake_room(a->p, 8);
    for (size_t i = 0; i < TASKS; i++) {
        coroutines[i] = fake_coroutine(a, f, 1 + (int)i, i == 3 ? fake_wrapper(a, fake_coroutine(a, f, 6, 0)) : 0);
        tasks[i] = fake_task_called(a, i == 4 ? fake_int(a, 9) : fake_str(a, "name"), coroutines[i]);
        liar->things[2 * i] = tasks[i];
        liar->things[2 * i + 1] = coroutines[i];
    }
    if (fake_layout(a->p)->publishes_tasks)
        link_tasks(liar, tasks);
    else
        link_older(liar, tasks);
    liar->words = (FAKE_BASE + a->p->used - liar->first) / 8;
    if (runs)
        DRIVE(a, 0, tasks[0], { coroutines[0], f, 7 });
}

/* fake_tick() holds each tick to a number of calls. */
static void tell_lies(struct fake_asyncio *a)
{
    if (input.version-- != 0)
        return;
    struct liar liar = { .a = a, .commands = input.bytes + 2, .count = (input.size - 2) / 4 };
    make_tasks(&liar, input.bytes[1] & 1);
    if (input.bytes[1] & 2)
        fake_tick(a);
    for (; liar.next < liar.count && liar.commands[liar.next * 4] & 128; liar.next++)
        obey(&liar, liar.commands + 4 * liar.next);
    fake_remote_hook(lie, &liar);
    for (size_t i = 0; i < TICKS; i++)
        fake_tick(a);
    fake_remote_hook(NULL, NULL);
}

FUZZ_TARGET(asyncio)
{
    if (size < 2 || size > 4096)
        return 0;
    input.bytes = bytes;
    input.size = size;
    input.version = bytes[0] % (PUBLISHED + OLDER);
    const enum async which = bytes[1] & 4 ? ASYNC_ALL : ASYNC_RUNNING;
    const bool older = input.version >= PUBLISHED;
    input.version -= older ? PUBLISHED : 0;
    (older ? fake_asyncio_each_older : fake_asyncio_each_version)(which, tell_lies);
    return 0;
}
