/* SPDX-License-Identifier: MIT */
#include "formats/speedscope/speedscope.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD                                                                                                           \
    "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"pyreel " PYREEL_VERSION        \
    "\",\"name\":\"app.py\",\"activeProfileIndex\":"
#define IDLE STATUS_RECORDED

/* The profile of a story. The caller frees it. NULL: the style leaves all samples out. */
static char *profile_of(const struct event *story, size_t count, const struct entries_style *style)
{
    struct tables tables = { 0 };
    struct output output = { 0 };
    struct fault why = { 0 };
    const int fd = memory_file("", 0);
    output_open_fd(&output, dup(fd), "memory", false);
    struct speedscope *speedscope = speedscope_start(&tables, &output, style);
    for (size_t i = 0; i < count; i++) {
        struct event event = story[i];
        assert_true(tables_take(&tables, &event, &why));
        assert_true(speedscope_take(speedscope, &event, &why));
    }
    const bool shown = speedscope_settle(speedscope);
    if (shown)
        assert_true(speedscope_write(speedscope, &why));
    speedscope_drop(speedscope);
    assert_true(output_close(&output, NULL, &why));
    tables_free(&tables);
    struct bytes bytes = file_bytes(fd);
    char *text = shown ? alloc_copy(bytes.at, bytes.size) : NULL;
    bytes_free(&bytes);
    return text;
}

/* Looks at a thread each 100 ms: the same line at two columns, idle there, a gap of 200 ms in which nobody looked, and
 * another line. Thread 2 begins at the third look. */
static const struct event story[] = {
    ONE_THREAD_BEGINS,
    STRING(3, "f"),
    STRING(4, "<GC>"),
    FUNCTION(2, 3, 2, 7),
    SYNTHETIC(3, 4, KIND_GC),
    FRAME(2, 2, 8),
    { EVENT_FRAME, .frame = { 3, 2, 8, 9, 4, 7, 0, 0, 0, 0, 0 } },
    FRAME(4, 2, 9),
    FRAME(5, 3, 0),
    STATUS_SAMPLE(100 * MS, 1, 0, IDLE | STATUS_CPU, 5, 1, 2),
    STATUS_SAMPLE(200 * MS, 1, 1, IDLE | STATUS_CPU, 5, 3),
    STATUS_SAME(300 * MS, 1, 2, IDLE, 0),
    THREAD(2, 1, 8, "worker"),
    SAMPLE(300 * MS, 2, 0, 5),
    { EVENT_SAMPLE, .sample = { .thread = 1,
                                .keep = 1,
                                .pushed = 1,
                                .frames = (const uint32_t[]){ 4 },
                                .time_ns = 600 * MS,
                                .status = IDLE | STATUS_CPU,
                                .cpu_ns = 5,
                                .count = 1,
                                .fresh = true } },
};

#define FRAMES                                                                                                         \
    "\"shared\":{\"frames\":[{\"name\":\"<module>\",\"file\":\"a.py\",\"line\":3}"                                     \
    ",{\"name\":\"f\",\"file\":\"a.py\",\"line\":8},{\"name\":\"[idle]\"},{\"name\":\"<GC>\"}"
#define PROFILE(type, name, from, to)                                                                                  \
    "{\"type\":\"" type "\",\"name\":\"" name "\",\"unit\":\"microseconds\",\"startValue\":" from ",\"endValue\":" to  \
    ","

static const struct {
    struct entries_style style;
    const char *text;
} cases[] = {
    { { .kind = ENTRY_LINE, .waits = true },
      HEAD "0," FRAMES ",{\"name\":\"f\",\"file\":\"a.py\",\"line\":9}]},\"profiles\":["
      /* the time of looks: 50 to 350 ms, 550 to 650 ms */
      PROFILE("sampled", "MainThread (7)", "0",
              "650000") "\"samples\":[[],[0,1],[0,1,2],[],[0,4]],\"weights\":[50000,200000,100000,200000,100000]}"
                        "," PROFILE("sampled", "worker (8)", "0",
                                    "350000") "\"samples\":[[],[3]],\"weights\":[250000,100000]}]}\n" },
    { { .kind = ENTRY_FUNCTION },
      HEAD
      "0,\"shared\":{\"frames\":[{\"name\":\"<module>\",\"file\":\"a.py\",\"line\":1},"
      "{\"name\":\"f\",\"file\":\"a.py\",\"line\":7},{\"name\":\"<GC>\"}]},\"profiles\":[" PROFILE(
          "sampled", "MainThread (7)", "0",
          "650000") "\"samples\":[[],[0,1],[],[0,1]],\"weights\":[50000,300000,200000,"
                    "100000]}," PROFILE("sampled", "worker (8)", "0", "350000") "\"samples\":[[],[2]],\"weights\":["
                                                                                "250000,100000]}]}\n" },
};

static void test_each_thread_has_its_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        char *text = profile_of(story, countof(story), &cases[i].style);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

static void test_what_is_left_out_is_a_gap(void **state)
{
    (void)state;
    struct frame_filter filter = { 0 };
    assert_true(patterns_add(&filter.focus, "9", NULL));
    char *text = profile_of(story, countof(story), &(struct entries_style){ .kind = ENTRY_LINE, .filter = &filter });
    assert_string_equal(text, HEAD "0,\"shared\":{\"frames\":[{\"name\":\"<module>\",\"file\":\"a.py\",\"line\":3},"
                                   "{\"name\":\"f\",\"file\":\"a.py\",\"line\":9}]},\"profiles\":[" PROFILE(
                                       "sampled", "MainThread (7)", "0",
                                       "650000") "\"samples\":[[],[0,1]],\"weights\":[550000,100000]}]}\n");
    free(text);
    assert_true(patterns_add(&filter.hide, ".", NULL));
    text = profile_of(story, countof(story), &(struct entries_style){ .kind = ENTRY_LINE, .filter = &filter });
    assert_non_null(strstr(text, "\"frames\":[{\"name\":\"<hidden>\"}]"));
    free(text);
    frame_filter_free(&filter);
    assert_true(patterns_add(&filter.focus, "nowhere", NULL));
    assert_null(profile_of(story, countof(story), &(struct entries_style){ .kind = ENTRY_LINE, .filter = &filter }));
    frame_filter_free(&filter);
}

/* ---- the smaller type ---- */

#define DEEPEST 60
#define LOOKS   100

/* The story of a thread that is `depth` frames deep, all of one line, and whose leaf comes and goes. */
static size_t deep_story(struct event *events, const uint32_t *frames, uint32_t depth)
{
    const struct event begin[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = 100 * MS, .time_unit_ns = 2 * MS } },
        PROCESS(1, 7, "/"),
        THREAD(1, 1, 7, "python3"),
        STRING(1, "f"),
        STRING(2, "a.py"),
        FUNCTION(1, 1, 2, 1),
        FRAME(1, 1, 3),
    };
    size_t count = countof(begin);
    memcpy(events, begin, sizeof(begin));
    for (uint32_t i = 0; i < LOOKS; i++) {
        const struct sample sample = { .count = 1,
                                       .thread = 1,
                                       .keep = i ? depth - 1 : 0,
                                       .pushed = i ? i % 2 == 0 : depth,
                                       .frames = frames,
                                       .time_ns = (i + 1) * (uint64_t)100 * MS };
        events[count++] = (struct event){ EVENT_SAMPLE, .sample = sample };
    }
    return count;
}

/* An event is as long as 18 frames. Of 100 looks each adds a stack of `depth` frames, or the beginning or the end of
 * the leaf; but all the other frames have to begin and to end, too. So both are equally long at a depth of about 20. */
static void test_the_smaller_type_is_chosen(void **state)
{
    (void)state;
    struct event events[20 + LOOKS];
    uint32_t frames[DEEPEST];
    for (size_t i = 0; i < DEEPEST; i++)
        frames[i] = 1;
    for (uint32_t depth = 2; depth <= DEEPEST; depth++) {
        const size_t count = deep_story(events, frames, depth);
        char *text = profile_of(events, count, &(struct entries_style){ .kind = ENTRY_LINE });
        const bool evented = strstr(text, "\"evented\"") != NULL;
        assert_true(evented ? depth > 18 : depth < 23);
        assert_true(evented != (strstr(text, "\"samples\"") != NULL));
        free(text);
    }
}

static size_t times_in(const char *text, const char *piece)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, piece)); at++)
        count++;
    return count;
}

static void test_each_frame_begins_and_ends(void **state)
{
    (void)state;
    struct event events[20 + LOOKS];
    uint32_t frames[DEEPEST];
    for (size_t i = 0; i < DEEPEST; i++)
        frames[i] = 1;
    const size_t count = deep_story(events, frames, 30);
    char *text = profile_of(events, count, &(struct entries_style){ .kind = ENTRY_LINE });
    const size_t leaves = LOOKS / 2 - 1; /* begin again */
    assert_int_equal(times_in(text, "{\"type\":\"O\",\"frame\":0,\"at\":"), 30 + leaves);
    assert_int_equal(times_in(text, "{\"type\":\"C\",\"frame\":0,\"at\":"), 30 + leaves);
    assert_int_equal(times_in(text, "\"O\",\"frame\":0,\"at\":50000}"), 30);
    assert_int_equal(times_in(text, "\"C\",\"frame\":0,\"at\":150000}"), 1);
    assert_int_equal(times_in(text, "\"C\",\"frame\":0,\"at\":10050000}"), 29);
    free(text);
}

TEST_FILE(speedscope)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_thread_has_its_times),
        cmocka_unit_test(test_what_is_left_out_is_a_gap),
        cmocka_unit_test(test_the_smaller_type_is_chosen),
        cmocka_unit_test(test_each_frame_begins_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
