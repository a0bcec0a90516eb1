/* SPDX-License-Identifier: MIT */
/* Writes a recording of a program that uses asyncio: make-tasks FILE running|all|renamed [COUNT]. For the tests of the
 * programs that read recordings; frames say their instructions.
 *
 * running: 100 ticks of 1 ms. MainThread's loop runs "fetch 1" for 40, in which it parses, selects for 20, and runs
 *          "Task-3" for 40, in turn at two instructions; the thread "worker" runs nothing of asyncio.
 * all:     COUNT tasks (3) in ten ticks. Of each three, the first waits for the second, and the third is an orphan; the
 *          first ones have names, the others numbers.
 * renamed: the same, and the last one's entry has another name, "late", from the last tick on. */
#include "tests/tools/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define CODE(number, function, line, instruction, base) \
    { EVENT_FRAME, .frame = { number, function, line, line, 0, 9, instruction, base, 0, 0, 0 } }
/* clang-format on */

static const struct event beginning[] = {
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "<module>"),
    STRING(2, "/home/u/app.py"),
    STRING(3, "run_forever"),
    STRING(4, "/usr/lib/python3.15/asyncio/base_events.py"),
    STRING(5, "fetch"),
    STRING(6, "parse"),
    STRING(7, "<task fetch 1>"),
    STRING(8, "<task Task-3>"),
    STRING(9, "<task Task-2 (2 parents)>"),
    STRING(10, "LOAD_ATTR_SLOT"),
    STRING(11, "LOAD_ATTR"),
    STRING(12, "CALL_PY_EXACT_ARGS"),
    STRING(13, "CALL"),
    STRING(14, "SEND_GEN"),
    STRING(15, "SEND"),
    STRING(16, "RESUME"),
    FUNCTION(1, 1, 2, 1),
    FUNCTION(2, 3, 4, 600),
    FUNCTION(3, 5, 2, 5),
    FUNCTION(4, 6, 2, 9),
    SYNTHETIC(5, 7, KIND_TASK),
    SYNTHETIC(6, 8, KIND_TASK),
    SYNTHETIC(7, 9, KIND_TASK),
    CODE(1, 1, 30, 12, 13),
    CODE(2, 2, 610, 12, 13),
    CODE(3, 3, 6, 14, 15),
    CODE(4, 4, 10, 10, 11),
    CODE(5, 4, 10, 16, 16),
    FRAME(6, 5, 0),
    FRAME(7, 6, 0),
    FRAME(8, 7, 0),
};

static bool tell_running(struct stream_writer *writer, bool good)
{
    static const uint32_t fetches[] = { 1, 2, 6, 3, 4 }, selects[] = { 1, 2 }, parses[] = { 1, 2, 7, 5 },
                          resumes[] = { 1, 2, 7, 4 };
    good = good && made_tell(writer, (struct event)TASK(1, 1, "fetch 1")) &&
           made_tell(writer, (struct event)TASK(2, 1, "Task-2")) &&
           made_tell(writer, (struct event)TASK(3, 1, "Task-3"));
    for (uint64_t tick = 1; tick <= 100 && good; tick++) {
        struct sample sample = {
            .count = 1, .thread = 1, .time_ns = tick * MS, .pushed = 5, .frames = fetches, .task = 1
        };
        if (tick > 40)
            sample = (struct sample){ .count = 1, .thread = 1, .time_ns = tick * MS, .pushed = 2, .frames = selects };
        if (tick > 60)
            sample = (struct sample){ .count = 1,
                                      .thread = 1,
                                      .time_ns = tick * MS,
                                      .pushed = 4,
                                      .frames = tick % 2 ? parses : resumes,
                                      .task = 3 };
        good = made_tell(writer, (struct event){ EVENT_SAMPLE, .sample = sample }) &&
               made_tell(writer, (struct event)SAMPLE(tick * MS, 2, 0, 1)) &&
               made_tell(writer, (struct event)TICK(tick * MS));
    }
    return made_end(writer, good, 100, 200);
}

/* A task and its entry. */
static bool tell_task(struct stream_writer *writer, uint32_t number)
{
    char name[32];
    const int size = snprintf(name, sizeof(name), number % 3 == 1 ? "fetch %u" : "Task-%u", number);
    const struct text text = { name, (size_t)size };
    return made_tell(writer, (struct event){ EVENT_TASK, .task = { number, 1, text, 0 } }) &&
           made_tell(writer, (struct event){ EVENT_THREAD, .thread = { .number = number + 2,
                                                                       .process = 1,
                                                                       .tid = number % 3 ? 4242 : 0,
                                                                       .name = text,
                                                                       .task = number } });
}

static bool tell_all(struct stream_writer *writer, bool good, uint32_t count, bool renamed)
{
    static const uint32_t waits[] = { 6, 3 }, works[] = { 6, 3, 8, 3, 4 }, alone[] = { 7, 3 };
    static const struct {
        const uint32_t *frames;
        uint32_t depth;
    } stacks[] = { { alone, countof(alone) }, { waits, countof(waits) }, { works, countof(works) } };
    for (uint32_t number = 1; number <= count && good; number++)
        good = tell_task(writer, number);
    for (uint64_t tick = 1; tick <= 10 && good; tick++) {
        if (renamed && tick == 10)
            good = made_tell(writer,
                             (struct event){ EVENT_THREAD_NAME, .change = { count + 2, 10 * MS, T("late"), false } });
        for (uint32_t number = 1; number <= count && good; number++) {
            const struct sample sample = { .count = 1,
                                           .thread = number + 2,
                                           .time_ns = tick * MS,
                                           .pushed = stacks[number % 3].depth,
                                           .frames = stacks[number % 3].frames,
                                           .task = number };
            good = made_tell(writer, (struct event){ EVENT_SAMPLE, .sample = sample });
        }
        good = good && made_tell(writer, (struct event)TICK(tick * MS));
    }
    return made_end(writer, good, 10, 10 * (uint64_t)count);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const uint32_t count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 3;
    struct stream_writer writer;
    const bool good = made_begin(&writer, argv[1], "wall", beginning, countof(beginning));
    const bool running = strcmp(argv[2], "running") == 0, renamed = strcmp(argv[2], "renamed") == 0;
    return (running ? tell_running(&writer, good) : tell_all(&writer, good, count, renamed)) ? 0 : 1;
}
