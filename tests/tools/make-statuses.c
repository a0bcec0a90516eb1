/* SPDX-License-Identifier: MIT */
/* Writes a recording in which threads do all that a status can tell: make-statuses FILE [MODE [none|no-cpu]]. For the
 * tests of the programs that read recordings. It says that it was made in MODE; with `none` it has no statuses, as
 * those of earlier versions, with `no-cpu` nothing is known of processors. */
#include "tests/tools/made.h"

#include <string.h>

#define REC   STATUS_RECORDED
#define TICKS 100u

static const struct event beginning[] = {
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "<module>"),
    STRING(2, "work"),
    STRING(3, "wait"),
    STRING(4, "/home/u/a.py"),
    FUNCTION(1, 1, 4, 1),
    FUNCTION(2, 2, 4, 5),
    FUNCTION(3, 3, 4, 9),
    FRAME(1, 1, 3),
    FRAME(2, 2, 6),
    FRAME(3, 3, 10),
};

static bool no_status, no_cpu;

static bool tell(struct stream_writer *writer, struct event event)
{
    if (event.kind == EVENT_SAMPLE && no_cpu)
        event.sample.status = (event.sample.status & ~(uint32_t)STATUS_CPU) | STATUS_CPU_UNKNOWN;
    if (event.kind == EVENT_SAMPLE && no_status)
        event.sample.status = 0;
    if (event.kind == EVENT_SAMPLE && (no_status || no_cpu))
        event.sample.cpu_ns = 0;
    return made_tell(writer, event);
}

/* The first thread works for nine ticks and sleeps in the tenth; the other waits for the lock, each fourth time with an
 * exception. */
static bool tell_tick(struct stream_writer *writer, uint64_t tick)
{
    static const uint32_t works[] = { 1, 2 }, waits[] = { 1, 3 };
    const bool working = tick % 10 != 0;
    const uint32_t waiting = STATUS_GIL_WAIT | (tick % 4 == 0 ? STATUS_EXCEPTION : 0);
    struct event event = { EVENT_SAMPLE, .sample = { .thread = 1,
                                                     .pushed = 2,
                                                     .frames = working ? works : waits,
                                                     .time_ns = tick * MS,
                                                     .status = REC | (working ? STATUS_CPU | STATUS_GIL : 0),
                                                     .cpu_ns = working && tick > 1 ? MS : 0,
                                                     .count = 1 } };
    return tell(writer, event) && tell(writer, (struct event)STATUS_SAMPLE(tick * MS, 2, 0, REC | waiting, 0, 3)) &&
           tell(writer, (struct event)TICK(tick * MS));
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    no_status = argc > 3 && strcmp(argv[3], "none") == 0;
    no_cpu = argc > 3 && strcmp(argv[3], "no-cpu") == 0;
    struct stream_writer writer;
    bool good = made_begin(&writer, argv[1], argc > 2 ? argv[2] : "wall", beginning, countof(beginning));
    for (uint64_t tick = 1; tick <= TICKS; tick++)
        good = good && tell_tick(&writer, tick);
    good = good && tell(&writer, (struct event){ EVENT_LEFT_OUT, .left_out = { 2, 7, TICKS * MS, 0, 0, 0 } });
    return made_end(&writer, good, TICKS, 2 * (uint64_t)TICKS) ? 0 : 1;
}
