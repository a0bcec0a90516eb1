/* SPDX-License-Identifier: MIT */
/* Comparisons of recordings that say little, or what no recorder says. */
#include "formats/gecko/gecko.h"

#include "tests/fakes/profile_read.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACKS 9
#define HUGE   ((uint64_t)1 << 62) /* ns: a damaged recording may claim any time */

/* One of the two recordings: a process with `threads` threads, and a sample of each, in a function of its own. */
struct side {
    uint32_t pid, python_version, threads;
    const char *host;
    uint64_t stands_ns; /* for which each sample stands */
};

static const struct side usual = { 4242, 0x030f02f0, STACKS, "here", 10 * MS };

static void take(struct gecko *gecko, struct tables *tables, struct event event)
{
    assert_true(tables_take(tables, &event, NULL));
    assert_true(gecko_take(gecko, &event, NULL));
    assert_true(gecko_take_placed(gecko, &event, NULL));
}

static void take_definitions(struct gecko *gecko, struct tables *tables)
{
    take(gecko, tables,
         (struct event){ EVENT_RECORDING,
                         .recording = { .format_level = 1, .interval_ns = 10 * MS, .time_unit_ns = 200000 } });
    take(gecko, tables, (struct event)STRING(1, "f"));
    for (uint32_t i = 1; i <= STACKS; i++) {
        take(gecko, tables, (struct event)FUNCTION(i, 1, 0, i));
        take(gecko, tables, (struct event)FRAME(i, i, i));
    }
}

/* The recording itself, as the comparison gets it behind the events. */
static void end_side(struct gecko *gecko, const struct side *side, struct text name)
{
    struct tables own = { 0 };
    struct event recording = { EVENT_RECORDING, .recording = { .format_level = 1, .interval_ns = 10 * MS } };
    struct event process = PROCESS(1, side->pid, "/");
    recording.recording.host = text_of(side->host);
    process.process.python_version = side->python_version;
    assert_true(tables_take(&own, &recording, NULL) && tables_take(&own, &process, NULL));
    gecko_take_recording(gecko, &own, name);
    tables_free(&own);
}

static void take_side(struct gecko *gecko, struct tables *tables, uint32_t number, const struct side *side)
{
    take(gecko, tables, (struct event)PROCESS(number, side->pid, "/"));
    for (uint32_t i = 1; i <= side->threads; i++) {
        const uint32_t thread = (number - 1) * STACKS + i;
        take(gecko, tables, (struct event){ EVENT_THREAD, .thread = { thread, number, thread, .main = i == 1 } });
        const struct sample sample = {
            .thread = thread, .pushed = 1, .frames = &i, .time_ns = 10 * MS, .stands_ns = side->stands_ns
        };
        take(gecko, tables, (struct event){ EVENT_SAMPLE, .sample = sample });
    }
    take(gecko, tables, (struct event)TICK(10 * MS));
    end_side(gecko, side, number == 1 ? TEXT("old") : TEXT("new"));
}

static json_t *compare(const struct side *base, const struct side *new, struct gecko_compared *compared)
{
    char path[] = "/tmp/pyreel-gecko.XXXXXX";
    struct output output = { 0 };
    struct tables tables = { 0 };
    struct fault why = { 0 };
    close(mkstemp(path));
    assert_true(output_open(&output, path, false, NULL));
    struct gecko *gecko = gecko_start(&tables, &output,
                                      (struct gecko_style){ .compare = true, .scale = GECKO_SCALE_TIME });
    take_definitions(gecko, &tables);
    take_side(gecko, &tables, 1, base);
    take_side(gecko, &tables, 2, new);
    if (!gecko_finish(gecko, &why))
        fail_msg("%s", why.text);
    *compared = gecko_compared(gecko);
    compared->base = compared->new = NULL;
    gecko_drop(gecko);
    tables_free(&tables);
    assert_true(output_close(&output, NULL, NULL));
    return profile_load(path);
}

/* The sum of all differences is more than 2^64 ns. */
static void test_huge_times_stay_in_the_window(void **state)
{
    struct gecko_compared compared;
    (void)state;
    for (uint32_t threads = STACKS - 2; threads <= STACKS; threads++) {
        const struct side huge = { 4242, 0x030f02f0, threads, "here", HUGE };
        json_t *profile = compare(&usual, &huge, &compared);
        const json_t *samples = json_object_get(at(profile, "threads", 0), "samples");
        const double end_ms = json_number_value(json_object_get(json_object_get(profile, "meta"), "profilingEndTime"));
        double before_ms = -1;
        for (size_t i = 0; i < STACKS; i++) {
            const double time_ms = json_number_value(at(samples, "time", i));
            assert_true(time_ms > before_ms && time_ms <= end_ms);
            before_ms = time_ms;
        }
        json_decref(profile);
    }
}

/* A recording in another format has no host, and may have no number of its process. */
static void test_what_is_not_known_does_not_differ(void **state)
{
    const struct side unknown = { 0, 0, STACKS, "", 10 * MS }, elsewhere = { 1, 0x030e00f0, STACKS, "there", 10 * MS };
    struct gecko_compared compared;
    (void)state;
    json_decref(compare(&usual, &unknown, &compared));
    assert_false(compared.hosts_differ);
    assert_false(compared.pythons_differ);
    json_decref(compare(&usual, &elsewhere, &compared));
    assert_true(compared.hosts_differ);
    assert_true(compared.pythons_differ);
}

/* The viewer takes threads with one pid for one process, and shows only one main thread of a process. */
static void test_no_process_has_the_pid_of_the_comparison(void **state)
{
    const struct side unknown = { 0, 0, STACKS, "", 10 * MS };
    struct gecko_compared compared;
    (void)state;
    json_t *profile = compare(&unknown, &unknown, &compared);
    const char *pid = json_string_value(json_object_get(at(profile, "threads", 0), "pid"));
    for (size_t i = 1; i < json_array_size(json_object_get(profile, "threads")); i++)
        assert_string_not_equal(json_string_value(json_object_get(at(profile, "threads", i), "pid")), pid);
    json_decref(profile);
}

TEST_FILE(gecko_diff)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_huge_times_stay_in_the_window),
        cmocka_unit_test(test_what_is_not_known_does_not_differ),
        cmocka_unit_test(test_no_process_has_the_pid_of_the_comparison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
