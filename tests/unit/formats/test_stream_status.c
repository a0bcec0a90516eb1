/* SPDX-License-Identifier: MIT */
/* What threads do and how much CPU time they use, written and read again. */
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define REC STATUS_RECORDED

/* A thread that runs for all of its time or none of it: told by the changes alone, exactly. */
static const struct event at_work[] = {
    { EVENT_RECORDING, .recording = { .format_version = 1, .interval_ns = MS, .time_unit_ns = MS / 50 } },
    PROCESS(1, 4313, "/"),
    THREAD(1, 1, 4313, "python3"),
    THREAD(2, 1, 4314, "other"),
    STRING(1, "f"),
    STRING(2, "LOAD_ATTR_SLOT"),
    STRING(3, "LOAD_ATTR"),
    FUNCTION(1, 1, 0, 1),
    FRAME(1, 1, 1),
    { EVENT_FRAME, .frame = { 2, 1, 1, 1, -1, -1, 2, 3 } },
    STATUS_SAMPLE(MS, 1, 0, REC | STATUS_CPU | STATUS_GIL, 0, 1),
    TICK(MS),
    STATUS_SAME(2 * MS, 1, 1, REC | STATUS_CPU | STATUS_GIL, MS),
    STATUS_SAMPLE(2 * MS, 2, 0, REC | STATUS_GIL_WAIT, 0, 1, 2),
    TICK(2 * MS),
    STATUS_SAMPLE(3 * MS, 1, 0, REC | STATUS_CPU | STATUS_EXCEPTION, MS, 2),
    STATUS_SAME(3 * MS, 2, 2, REC | STATUS_GIL_WAIT, 0),
    TICK(3 * MS),
    STATUS_SAME(4 * MS, 1, 1, REC, MS),
    STATUS_SAME(4 * MS, 2, 2, REC | STATUS_GIL_WAIT | STATUS_CPU_UNKNOWN, 0),
    TICK(4 * MS),
    STATUS_SAME(5 * MS, 1, 1, REC, 0),
    TICK(5 * MS), /* thread 2 is absent */
    LEFT_OUT(5 * MS, 2, 1, 0),
    STATUS_SAME(6 * MS, 1, 1, REC, 0),
    STATUS_SAME(6 * MS, 2, 2, REC | STATUS_CPU, 0),
    TICK(6 * MS),
    { EVENT_END, .end = { END_TARGET, 7 * MS, 6, 10, 0, 0, 0 } },
};

static void a_status_comes_back(void **state)
{
    (void)state;
    struct bytes stream = stream_of(at_work, countof(at_work), CODEC_PLAIN);
    struct playback playback = { 0 };
    struct journal told = { 0 };
    playback_read(&playback, stream.at, stream.size);
    journal_tell(&told, at_work, countof(at_work));
    assert_same_lines(journal_text(&playback.journal), journal_text(&told));
    assert_true(playback_whole(&playback));
    assert_int_equal(playback.journal.tables.threads[2].left_out, 1);
    assert_int_equal(playback.journal.tables.threads[1].cpu_ns, 3 * MS);
    journal_free(&told);
    playback_free(&playback);
    bytes_free(&stream);
}

/* A thread that runs for a part of each tick, for some seconds: `story` has room for it. Returns how many events. */
static size_t run_partly(struct event *story, uint32_t bits, uint64_t each_ns, size_t ticks)
{
    static const uint32_t first[] = { 1 }; /* frames */
    const struct event beginning[] = {
        { EVENT_RECORDING, .recording = { .format_version = 1, .interval_ns = MS, .time_unit_ns = MS / 50 } },
        PROCESS(1, 4313, "/"),
        THREAD(1, 1, 4313, "python3"),
        STRING(1, "f"),
        FUNCTION(1, 1, 0, 1),
        FRAME(1, 1, 1),
        { EVENT_SAMPLE, .sample = { 1, 0, 1, first, MS, REC, 0, 0, 0, 0, 0 } },
        TICK(MS),
    };
    size_t count = countof(beginning);
    memcpy(story, beginning, sizeof(beginning));
    for (uint64_t tick = 2; tick <= ticks; tick++) {
        story[count++] = (struct event)STATUS_SAME(tick * MS, 1, 1, bits, each_ns);
        story[count++] = (struct event)TICK(tick * MS);
    }
    story[count++] = (struct event){ EVENT_END, .end = { END_DURATION, ticks * (uint64_t)MS, ticks, ticks, 0, 0, -1 } };
    return count;
}

/* Its CPU time is right but for a bounded slip, and what is told of it stays small. */
static void cpu_time_is_nearly_right(void **state)
{
    (void)state;
    static const unsigned shares[] = { 0, 10, 50, 90, 100 };
    static struct event story[8000];
    for (size_t i = 0; i < countof(shares); i++) {
        const uint64_t each_ns = (uint64_t)MS / 100 * shares[i];
        const size_t count = run_partly(story, REC | (shares[i] >= 50 ? STATUS_CPU : 0), each_ns, 3500);
        struct bytes bytes = stream_of(story, count, CODEC_PLAIN);
        struct playback playback = { 0 };
        playback_read(&playback, bytes.at, bytes.size);
        assert_true(playback_whole(&playback));
        const struct thread_row *row = &playback.journal.tables.threads[1];
        const uint64_t wanted_ns = 3499 * each_ns;
        const uint64_t off_ns = row->cpu_ns > wanted_ns ? row->cpu_ns - wanted_ns : wanted_ns - row->cpu_ns;
        if (off_ns > 3 * (uint64_t)MS || bytes.size > 20000 || !row->cpu_known)
            fail_msg("at %u %% it is %lu ns of %lu, in %zu bytes", shares[i], row->cpu_ns, wanted_ns, bytes.size);
        playback_free(&playback);
        bytes_free(&bytes);
    }
}

/* What was used in a lost block is nobody's. */
static void cpu_time_of_lost_blocks_is_not_given_to_others(void **state)
{
    (void)state;
    static struct event story[8000];
    const size_t count = run_partly(story, REC | STATUS_CPU, MS, 3500);
    struct bytes bytes = stream_of(story, count, CODEC_PLAIN);
    unsigned blocks = 0;
    for (size_t at = 8; at + 24 <= bytes.size;) {
        uint32_t stored;
        memcpy(&stored, bytes.at + at + 12, sizeof(stored));
        if (blocks++ == 2)
            bytes.at[at + 30] ^= 1;
        at += 24 + stored;
    }
    struct playback playback = { 0 };
    playback_read(&playback, bytes.at, bytes.size);
    const struct tables *tables = &playback.journal.tables;
    assert_false(playback_whole(&playback));
    assert_in_range(tables->samples, 2400, 2600);
    assert_in_range(tables->threads[1].cpu_ns, 2390 * (uint64_t)MS, 2600 * (uint64_t)MS);
    playback_free(&playback);
    bytes_free(&bytes);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_comes_back),
        cmocka_unit_test(cpu_time_is_nearly_right),
        cmocka_unit_test(cpu_time_of_lost_blocks_is_not_given_to_others),
    };
    return run_all(tests);
}
