/* SPDX-License-Identifier: MIT */
/* A recording goes on from file to file, and each file is whole and has what is its own. */
#include "record/file/outlet.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_NS (UINT64_C(5000) * MS + 70 * MS) /* of the source, by the monotonic clock */
#define TICK_NS  (100 * MS)

static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/pyreel-outlet.XXXXXX");
    *state = mkdtemp(folder);
    return chdir(folder);
}

static int leave_folder(void **state)
{
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", (const char *)*state);
    free(*state);
    return chdir("/") || system(command);
}

/* ---- a source: one thread that has a new function in each tick ---- */

struct telling {
    struct outlet outlet;
    struct stream_writer writer;
    struct recording_file file;
    uint64_t ticks; /* since the start of the source, as a recorder counts them */
    uint32_t names; /* number of the latest string, function and frame, in this stream */
};

static void tell(struct telling *telling, struct event event)
{
    const struct sink sink = outlet_sink(&telling->outlet);
    struct fault why = { 0 };
    if (!sink_take(&sink, &event, &why))
        fail_msg("event of kind %d: %s", (int)event.kind, why.text);
}

static void tell_what_lives(void *self)
{
    struct telling *telling = self;
    telling->names = 0;
    tell(telling, (struct event){ EVENT_SERIAL, .serial = { SERIAL_PROCESS, 1, 1 } });
    tell(telling, (struct event)PROCESS(1, 7, "/"));
    tell(telling, (struct event){ EVENT_SERIAL, .serial = { SERIAL_THREAD, 1, 1 } });
    tell(telling, (struct event)THREAD(1, 1, 7, "python3"));
}

static bool tell_counters(void *self, struct fault *why)
{
    (void)why;
    struct telling *telling = self;
    tell(telling, (struct event)COUNTER("samples", telling->ticks));
    tell(telling, (struct event)COUNTER("disturb_limit_ppm", 10000));
    return true;
}

static void begin(struct telling *telling, const char *path, struct rotation rotation)
{
    static const struct recording recording = { .interval_ns = TICK_NS,
                                                .time_unit_ns = MS,
                                                .start_unix_ns = UINT64_C(1700000000000000000),
                                                .start_monotonic_ns = START_NS };
    struct fault why = { 0 };
    *telling = (struct telling){ .file.fd = -1 };
    telling->outlet = (struct outlet){ .writer = &telling->writer,
                                       .file = &telling->file,
                                       .source = { telling, tell_counters, tell_what_lives },
                                       .rotation = rotation,
                                       .codec = CODEC_PLAIN };
    if (!outlet_open_file(&telling->outlet, path, false, 42, TEXT("python3 app.py"), &why) ||
        !outlet_begin(&telling->outlet, &recording, &why))
        fail_msg("%s", why.text);
    tell_what_lives(telling);
}

static uint64_t now_ns(const struct telling *telling)
{
    return START_NS + telling->ticks * TICK_NS + 30 * MS;
}

static void tell_ticks(struct telling *telling, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        char name[600];
        memset(name, 'f', sizeof(name));
        const uint64_t time_ns = ++telling->ticks * TICK_NS;
        const uint32_t number = ++telling->names;
        name[snprintf(name, 20, "%d", (int)telling->ticks)] = 'f';
        tell(telling, (struct event){ EVENT_STRING, .string = { number, { name, sizeof(name) } } });
        tell(telling, (struct event)FUNCTION(number, number, 0, 1));
        tell(telling, (struct event)FRAME(number, number, 3));
        tell(telling, (struct event)SAMPLE(time_ns, 1, 0, number));
        tell(telling, (struct event)TICK(time_ns));
        struct fault why = { 0 };
        if (!outlet_turn(&telling->outlet, now_ns(telling), &why))
            fail_msg("%s", why.text);
    }
}

static void end(struct telling *telling)
{
    const struct end end = { .reason = END_TARGET, .time_ns = now_ns(telling) - START_NS, .wait_status = -1 };
    struct fault why = { 0 };
    if (!outlet_end(&telling->outlet, &end, &why) || !outlet_close_file(&telling->outlet, &why))
        fail_msg("%s", why.text);
    stream_writer_close(&telling->writer);
    outlet_close(&telling->outlet);
}

/* ---- a file that was written ---- */

static void open_part(struct playback *playback, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("there is no %s", path);
    struct bytes bytes = file_bytes(fd);
    *playback = (struct playback){ 0 };
    playback_read(playback, bytes.at, bytes.size);
    bytes_free(&bytes);
    if (!playback_whole(playback))
        fail_msg("%s is not whole: %s", path, playback->reader.blocks.damage.first.text);
}

/* The file is whole, and is this part with so many samples from this time on (since the start of the source). */
static uint64_t part_is(const char *path, uint32_t part, uint64_t start_ns, uint64_t samples, enum end_reason reason)
{
    struct playback playback;
    open_part(&playback, path);
    const struct tables *tables = &playback.journal.tables;
    assert_int_equal(tables->recording.part, part);
    assert_int_equal(tables->recording.start_monotonic_ns, START_NS + start_ns);
    assert_int_equal(tables->recording.start_unix_ns, UINT64_C(1700000000000000000) + start_ns);
    assert_int_equal(tables->samples, samples);
    assert_int_equal(tables->ticks, samples);
    assert_int_equal(tables->end.samples, samples);
    assert_int_equal(tables->end.reason, reason);
    assert_int_equal(counters_get(&tables->counters, "samples"), samples);
    assert_int_equal(counters_get(&tables->counters, "disturb_limit_ppm"), 10000);
    const uint64_t series = tables->recording.series;
    playback_free(&playback);
    return series;
}

/* ---- what is said of it ---- */

static void a_file_of_its_own_for_each_time(void **state)
{
    (void)state;
    static struct telling telling;
    begin(&telling, "app", (struct rotation){ .time_ns = 300 * MS });
    tell_ticks(&telling, 8);
    char *paths = outlet_paths(&telling.outlet);
    assert_string_equal(paths, "app-0001.pyreel to app-0003.pyreel");
    free(paths);
    end(&telling);
    /* The streams begin at multiples of the interval: at 330 ms, and at 630 ms, rounded down. */
    const uint64_t series = part_is("app-0001.pyreel", 1, 0, 3, END_CONTINUED);
    assert_int_not_equal(series, 0);
    assert_int_equal(part_is("app-0002.pyreel", 2, 300 * MS, 3, END_CONTINUED), series);
    assert_int_equal(part_is("app-0003.pyreel", 3, 600 * MS, 2, END_TARGET), series);
    assert_int_equal(access("app-0004.pyreel", F_OK), -1);
}

static void times_count_from_the_start_of_each_file(void **state)
{
    (void)state;
    static struct telling telling;
    struct playback playback;
    begin(&telling, "app", (struct rotation){ .time_ns = 300 * MS });
    tell_ticks(&telling, 5);
    end(&telling);
    open_part(&playback, "app-0002.pyreel");
    assert_int_equal(playback.journal.tables.last_ns, 200 * MS); /* tick 5, 300 ms behind the start of the source */
    assert_int_equal(playback.journal.tables.end.time_ns, 230 * MS);
    assert_int_equal(playback.journal.tables.functions_count, 3); /* only those that the file needs, and none */
    playback_free(&playback);
}

static void no_file_is_larger_than_the_size(void **state)
{
    (void)state;
    static struct telling telling;
    uint64_t samples = 0;
    char path[32];
    struct playback playback;
    begin(&telling, "app", (struct rotation){ .bytes = 16384 });
    tell_ticks(&telling, 60);
    const uint32_t parts = telling.outlet.part;
    end(&telling);
    assert_true(parts >= 4);
    for (uint32_t part = 1; part <= parts; part++) {
        snprintf(path, sizeof(path), "app-%04u.pyreel", part);
        open_part(&playback, path);
        assert_true(playback.reader.blocks.bytes_read <= 16384);
        assert_int_equal(playback.journal.tables.recording.part, part);
        assert_int_equal(counters_get(&playback.journal.tables.counters, "samples"), playback.journal.tables.samples);
        samples += playback.journal.tables.samples;
        playback_free(&playback);
    }
    assert_int_equal(samples, 60);
}

static void the_present_file_goes_on_where_no_next_one_can_be_made(void **state)
{
    (void)state;
    static struct telling telling;
    assert_int_equal(mkdir("there", 0700), 0);
    begin(&telling, "there/app", (struct rotation){ .time_ns = 300 * MS });
    assert_int_equal(rename("there", "elsewhere"), 0);
    tell_ticks(&telling, 3);
    assert_non_null(strstr(telling.outlet.notice.text, "; the recording goes on in there/app-0001.pyreel"));
    telling.outlet.notice.text[0] = '\0';
    tell_ticks(&telling, 90); /* 9 s: the user is told once, and no file is tried */
    assert_string_equal(telling.outlet.notice.text, "");
    assert_int_equal(telling.outlet.part, 1);
    assert_int_equal(rename("elsewhere", "there"), 0);
    tell_ticks(&telling, 20); /* 10 s are over */
    assert_string_equal(telling.outlet.notice.text, "");
    assert_true(telling.outlet.part > 1);
    end(&telling);
    part_is("there/app-0001.pyreel", 1, 0, 103, END_CONTINUED);
    part_is("there/app-0002.pyreel", 2, UINT64_C(10300) * MS, 3, END_CONTINUED);
}

static void without_rotation_it_is_one_file(void **state)
{
    (void)state;
    static struct telling telling;
    begin(&telling, "app.pyreel", (struct rotation){ 0 });
    tell_ticks(&telling, 20);
    end(&telling);
    assert_int_equal(part_is("app.pyreel", 0, 0, 20, END_TARGET), 0);
}

TEST_FILE(outlet)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
    static const struct CMUnitTest tests[] = {
        IN_FOLDER(a_file_of_its_own_for_each_time), IN_FOLDER(times_count_from_the_start_of_each_file),
        IN_FOLDER(no_file_is_larger_than_the_size), IN_FOLDER(the_present_file_goes_on_where_no_next_one_can_be_made),
        IN_FOLDER(without_rotation_it_is_one_file),
    };
    return run_all(tests);
}
