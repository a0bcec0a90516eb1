/* SPDX-License-Identifier: MIT */
#include "formats/speedscope/speedscope_times.h"

static void change(struct speedscope_times *times, struct spool *spool, uint64_t unit_ns, uint64_t time_ns,
                   uint32_t activity)
{
    /* Moments are rounded, not lengths of time, so errors do not add up. */
    const uint64_t time = (time_ns + unit_ns / 2) / unit_ns;
    if (times->changes.count == 0)
        times->first = time;
    spool_add(spool, &times->changes, (struct spool_sample){ .time = time, .stack = activity });
}

void speedscope_times_add(struct speedscope_times *times, struct spool *spool, uint64_t unit_ns, uint64_t from_ns,
                          uint64_t until_ns, uint32_t activity)
{
    const bool first = times->changes.count == 0, gap = !first && from_ns > times->until_ns;
    if (gap)
        change(times, spool, unit_ns, times->until_ns, 0);
    if (first || gap || activity != times->activity)
        change(times, spool, unit_ns, from_ns, activity);
    times->until_ns = until_ns;
    times->activity = activity;
}

void speedscope_times_settle(struct speedscope_times *times, struct spool *spool, uint64_t unit_ns)
{
    if (times->changes.count)
        change(times, spool, unit_ns, times->until_ns, 0);
}

void speedscope_reader_begin(struct speedscope_reader *reader, const struct speedscope_frames *frames,
                             struct spool *spool, const struct speedscope_times *times, uint64_t start)
{
    spool_rewind(&reader->spool, spool, &times->changes);
    reader->node_of = frames->node_of;
    reader->over = !spool_next(&reader->spool, &reader->change);
    reader->held = (struct speedscope_episode){ start, reader->change.time, 0 };
}

/* Gives the time from one change to the next, which may be empty. */
static bool speedscope_times_next_change(struct speedscope_reader *reader, struct speedscope_episode *episode)
{
    if (reader->over)
        return false;
    const struct spool_sample begin = reader->change;
    reader->over = !spool_next(&reader->spool, &reader->change);
    *episode = (struct speedscope_episode){ begin.time, reader->change.time, reader->node_of[begin.stack] };
    return !reader->over;
}

bool speedscope_reader_next(struct speedscope_reader *reader, struct speedscope_episode *episode)
{
    struct speedscope_episode *held = &reader->held, next;
    while (speedscope_times_next_change(reader, &next)) {
        const struct speedscope_episode before = *held;
        if (next.from == next.until)
            continue;
        if (before.until > before.from && before.node == next.node) {
            held->until = next.until;
            continue;
        }
        *held = next;
        *episode = before;
        if (before.until > before.from)
            return true;
    }
    *episode = *held;
    *held = (struct speedscope_episode){ 0 };
    return episode->until > episode->from;
}

void speedscope_reader_free(struct speedscope_reader *reader)
{
    spool_reader_free(&reader->spool);
}
