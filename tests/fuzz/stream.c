/* SPDX-License-Identifier: MIT */
/* The bytes of a recording → reader → tables, as the converters do it, sample by sample and in runs, which have to come
 * to the same. So that a fuzzer need not find out checksums, input that does not begin with the magic is taken for the
 * payload of an EVENTS block behind a good header. */
#include "formats/base/alloc.h"
#include "formats/model/tables.h"
#include "formats/stream/stream_read.h"
#include "formats/stream/stream_write.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/recording.h"
#include "tests/fuzz/sample_check.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVENTS_LIMIT 200000

struct playing {
    struct stream_reader reader;
    struct tables tables;
    uint64_t events;
    bool refused;
};

/* What every output relies on. */
static void check_run(const struct tables *tables, const struct run *run)
{
    if (run->stack == STACK_LOST)
        return;
    check_references(tables, run);
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct playing *playing = self;
    const struct damage *damage = &playing->reader.blocks.damage;
    playing->tables.forgiving = damage->bytes > 0 || damage->blocks > 0;
    if (++playing->events > EVENTS_LIMIT)
        return fault(why, "enough");
    const uint64_t last_ns = playing->tables.last_ns;
    if (!tables_take(&playing->tables, event, why)) {
        playing->refused = true;
        return false;
    }
    if (event->kind == EVENT_RUN && last_ns != event->run.time_ns)
        check_run(&playing->tables, &event->run);
    return true;
}

static int open_input(const uint8_t *bytes, size_t size)
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (block_read_recognised(bytes, size)) {
        require(write(fd, bytes, size) == (ssize_t)size);
    } else {
        const struct recording recording = { .format_version = STREAM_VERSION,
                                             .interval_ns = 1000000,
                                             .time_unit_ns = 1000 };
        require(write_made_up(fd, &recording, bytes, size));
    }
    return fd;
}

/* How a recording is read; sample by sample unless something is set. */
struct way {
    bool in_runs, ignores_status, goes_ahead;
    uint64_t run_ns;
};

static void play(struct playing *playing, int fd, struct way way)
{
    const struct sink sink = { .take = take, .self = playing };
    struct fault why = { 0 };
    lseek(fd, 0, SEEK_SET);
    if (!stream_reader_open(&playing->reader, fd, (struct text){ 0 }, &sink, &why))
        return;
    enum source_state state = SOURCE_MORE;
    playing->reader.gives_runs = way.in_runs;
    playing->reader.run_ns = way.run_ns;
    playing->reader.ignores_status = way.ignores_status;
    playing->reader.goes_ahead = way.goes_ahead;
    while (state == SOURCE_MORE && playing->events <= EVENTS_LIMIT) {
        state = stream_read_block(&playing->reader, &sink, &why);
        if (state == SOURCE_STOPPED && playing->refused) {
            playing->refused = false;
            stream_reader_forgive(&playing->reader, why.text);
            why.text[0] = '\0';
            state = SOURCE_MORE;
        }
    }
}

static void compare(const struct playing *each, const struct playing *other)
{
    if (each->events > EVENTS_LIMIT || other->events > EVENTS_LIMIT)
        return;
    const struct tables *a = &each->tables, *b = &other->tables;
    require(a->samples == b->samples && a->lost_samples == b->lost_samples);
    require(a->ticks == b->ticks && a->failed == b->failed && a->missed == b->missed && a->last_ns == b->last_ns);
    require(a->stacks_count == b->stacks_count && a->frames_count == b->frames_count);
    require(a->threads_count == b->threads_count && a->tasks_count == b->tasks_count);
    require(each->reader.blocks.damage.blocks == other->reader.blocks.damage.blocks);
    require(a->processes_count == b->processes_count);
    for (size_t i = 1; i < a->processes_count; i++) {
        const struct measures *measures = &a->processes[i].measures, *others = &b->processes[i].measures;
        require(measures->count == others->count && measures->latest.cpu_ns == others->latest.cpu_ns);
        require(measures->latest.cpu_ns >= measures->first_cpu_ns);
    }
    /* Where each process has its own ticks, the ticks of a run are unevenly apart. The time of such a run differs a
     * little from that of its looks, see wall.h. */
    const bool even = !a->recording.process_ticks;
    for (size_t i = 1; i < a->threads_count; i++)
        require(a->threads[i].samples == b->threads[i].samples &&
                (!even || a->threads[i].wall_ns == b->threads[i].wall_ns));
}

static void drop(struct playing *playing)
{
    stream_reader_close(&playing->reader);
    tables_free(&playing->tables);
    free(playing);
}

FUZZ_TARGET(stream)
{
    static const struct way ways[] = {
        { .in_runs = true },
        { .in_runs = true, .run_ns = 250000000 },
        { .in_runs = true, .ignores_status = true },
        { .ignores_status = true },
        { .in_runs = true, .ignores_status = true, .goes_ahead = true },
    };
    struct playing *each = alloc_zeroed(1, sizeof(*each)), *other = alloc_zeroed(1, sizeof(*other));
    const int fd = open_input(bytes, size);
    play(each, fd, (struct way){ 0 });
    play(other, fd, ways[size % countof(ways)]);
    compare(each, other);
    close(fd);
    drop(each);
    drop(other);
    return 0;
}
