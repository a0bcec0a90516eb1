/* SPDX-License-Identifier: MIT */
/* The bytes of several files → what converters find to be parts of one recording → tables. The parts are read sample by
 * sample and in runs, which have to come to the same.
 *
 * The first byte says how the files stand: 1 the first one is named last, 2 a part behind the first one is missing, 4
 * each process has its own ticks. Then come the files (inputs.h); those that a fuzzer made up are parts of one series,
 * and the first byte of each tells when the part began. */
#include "convert/parts.h"
#include "formats/base/alloc.h"
#include "formats/codec/stream_format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"
#include "tests/fuzz/sample_check.h"

#include <fcntl.h>
#include <string.h>

#define EVENTS_LIMIT 200000

enum asked { ASK_ROTATED = 1, ASK_GAP = 2, ASK_PROCESS_TICKS = 4 };

struct playing {
    struct source source;
    struct tables tables;
    uint64_t events;
    uint64_t *last_ns; /* by thread */
    size_t last_room;
    bool refused;
};

/* What every output relies on. A thread's times never go back. */
static void check_run(struct playing *playing, const struct run *run, uint64_t first_ns)
{
    if (run->stack == STACK_LOST)
        return;
    check_references(&playing->tables, run);
    playing->last_ns = alloc_grow(playing->last_ns, &playing->last_room, (size_t)run->thread + 1, sizeof(uint64_t));
    require(first_ns >= playing->last_ns[run->thread] && run->time_ns >= first_ns);
    playing->last_ns[run->thread] = run->time_ns;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct playing *playing = self;
    playing->tables.forgiving = source_is_damaged(&playing->source);
    if (++playing->events > EVENTS_LIMIT)
        return fault(why, "enough");
    require(event->kind != EVENT_SERIAL);
    const uint64_t first_ns = event->kind == EVENT_SAMPLE ? sample_first_ns(&event->sample) : 0;
    if (!tables_take(&playing->tables, event, why)) {
        playing->refused = true;
        return false;
    }
    if (event->kind == EVENT_RUN)
        check_run(playing, &event->run, first_ns);
    return true;
}

static bool forgive(struct playing *playing, struct fault *why)
{
    if (!playing->refused || !source_forgive(&playing->source, why->text))
        return false;
    playing->refused = false;
    why->text[0] = '\0';
    return true;
}

static void play(struct playing *playing, const struct source_parts *parts, const struct source_options *options)
{
    const struct sink sink = { .take = take, .self = playing };
    const int fd = open(parts->paths[0], O_RDONLY | O_CLOEXEC);
    struct fault why = { 0 };
    require(fd >= 0);
    bool goes_on = source_open_parts(&playing->source, fd, parts, options, &sink, &why);
    while (goes_on && playing->events <= EVENTS_LIMIT) {
        const enum source_state state = source_read(&playing->source, &sink, &why);
        goes_on = state == SOURCE_MORE || (state == SOURCE_STOPPED && forgive(playing, &why));
    }
    close(fd);
}

static void compare(const struct playing *each, const struct playing *other)
{
    if (each->events > EVENTS_LIMIT || other->events > EVENTS_LIMIT)
        return;
    const struct tables *a = &each->tables, *b = &other->tables;
    const struct source_report one = source_report(&each->source), another = source_report(&other->source);
    require(one.parts == another.parts && one.missing == another.missing && one.complete == another.complete);
    require(one.damage.blocks == another.damage.blocks && one.damage.bytes == another.damage.bytes);
    require(a->samples == b->samples && a->lost_samples == b->lost_samples);
    require(a->ticks == b->ticks && a->failed == b->failed && a->missed == b->missed && a->last_ns == b->last_ns);
    require(a->stacks_count == b->stacks_count && a->frames_count == b->frames_count);
    require(a->threads_count == b->threads_count && a->tasks_count == b->tasks_count);
    require(a->processes_count == b->processes_count);
    for (size_t i = 1; i < a->threads_count; i++)
        require(a->threads[i].samples == b->threads[i].samples);
}

static void drop(struct playing *playing)
{
    source_close(&playing->source);
    tables_free(&playing->tables);
    free(playing->last_ns);
    free(playing);
}

static void read_parts(const struct source_parts *parts, size_t way)
{
    static const struct source_options ways[] = { { .runs = true, .run_ns = 250000000 },
                                                  { .runs = true, .without_status = true, .without_stands = true } };
    struct source_options each_way = ways[way % countof(ways)];
    each_way.runs = false;
    struct playing *each = alloc_zeroed(1, sizeof(*each)), *other = alloc_zeroed(1, sizeof(*other));
    play(each, parts, &each_way);
    play(other, parts, &ways[way % countof(ways)]);
    compare(each, other);
    drop(each);
    drop(other);
}

FUZZ_TARGET(parts)
{
    const uint8_t asked = size > 0 ? bytes[0] : 0;
    int fds[INPUTS_MOST];
    char names[INPUTS_MOST][32], *paths[INPUTS_MOST];
    const struct recording made_up = { .format_version = STREAM_VERSION,
                                       .series = 1,
                                       .process_ticks = (asked & ASK_PROCESS_TICKS) != 0 };
    const size_t files = size > 1 ? put_parts(bytes + 1, size - 1, fds, &made_up, (asked & ASK_GAP) != 0) : 0;
    for (size_t i = 0; i < files; i++) {
        snprintf(names[i], sizeof(names[i]), "/proc/self/fd/%d", fds[i]);
        paths[(i + (asked & ASK_ROTATED ? 1 : 0)) % files] = names[i];
    }
    struct part_lists lists = { 0 };
    size_t end = files, count = files;
    if (files > 0)
        parts_find(&lists, paths, 0, &end, &count);
    if (lists.problem.text[0] == '\0')
        for (size_t i = 0; i < lists.count; i++)
            read_parts(&lists.rows[i].parts, size);
    parts_free(&lists);
    for (size_t i = 0; i < files; i++)
        close(fds[i]);
    return 0;
}
