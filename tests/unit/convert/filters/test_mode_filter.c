/* SPDX-License-Identifier: MIT */
/* What an output is told when it gets the samples of a mode only. */
#include "convert/filters/mode_filter.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REC STATUS_RECORDED

static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .mode = T("wall"), .interval_ns = MS, .time_unit_ns = 1000 } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker"),
    STRING(1, "f"),
    FUNCTION(1, 1, 0, 7),
    FRAME(1, 1, 8),
    STATUS_SAMPLE(10, 1, 0, REC | STATUS_CPU | STATUS_GIL, 1, 1),
    STATUS_SAMPLE(10, 2, 0, REC | STATUS_GIL_WAIT, 2, 1),
    TICK(10),
    STATUS_SAMPLE(20, 1, 1, REC, 4, 1), /* its stack is the next one's caller */
    STATUS_SAME(20, 2, 1, REC | STATUS_CPU | STATUS_EXCEPTION, 8),
    TICK(20),
    STATUS_SAME(30, 1, 2, REC | STATUS_GIL, 16),
    STATUS_SAME(30, 2, 1, REC | STATUS_CPU | STATUS_CPU_UNKNOWN, 0),
    TICK(30),
    STATUS_SAMPLE(40, 1, 2, REC | STATUS_CPU, 32, 1),
    STATUS_SAME(40, 2, 1, REC, 64),
    TICK(40),
    LEFT_OUT(50, 2, 5, 128), /* of the recorder's own */
    { EVENT_THREAD_END, .change = { 2, 60, { 0 }, false } },
    STATUS_SAME(60, 1, 3, REC, 256),
    TICK(60),
    { EVENT_END, .end = { END_TARGET, 70, 5, 9, 0, 0, 0 } },
};

/* "sample THREAD at TIME depth N", "left out THREAD TICKS until TIME cpu NS", "thread THREAD ends", "end". */
struct told {
    struct tables tables;
    char text[2048];
    size_t size;
};

static bool hear(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct told *told = self;
    tables_count(&told->tables, event);
    char *at = told->text + told->size;
    const size_t room = sizeof(told->text) - told->size;
    int size = 0;
    if (event->kind == EVENT_RUN) {
        int depth = 0;
        for (uint32_t stack = event->run.stack; stack; stack = told->tables.stacks[stack].caller)
            depth++;
        size = snprintf(at, room, "sample %" PRIu32 " at %" PRIu64 " depth %d\n", event->run.thread, event->run.time_ns,
                        depth);
    } else if (event->kind == EVENT_LEFT_OUT) {
        const struct left_out *out = &event->left_out;
        size = snprintf(at, room, "left out %" PRIu32 " %" PRIu64 " until %" PRIu64 " cpu %" PRIu64 "\n", out->thread,
                        out->ticks, out->time_ns, out->cpu_ns);
    } else if (event->kind == EVENT_THREAD_END) {
        size = snprintf(at, room, "thread %" PRIu32 " ends\n", event->change.number);
    } else if (event->kind == EVENT_END) {
        size = snprintf(at, room, "end\n");
    }
    told->size += (size_t)size;
    return true;
}

/* Tells `count` events of the story. What mode_filter_finish() said goes to *good. */
static struct mode_filter tell(struct told *told, enum kept_mode mode, bool no_idle, size_t count, bool *good,
                               struct fault *why)
{
    struct mode_filter keep = { .mode = mode, .no_idle = no_idle };
    const struct sink output = { .take = hear, .self = told };
    *told = (struct told){ .tables.sums_states = true };
    for (size_t i = 0; i < count; i++) {
        struct event event = story[i];
        assert_true(tables_define(&told->tables, &event, NULL));
        assert_true(mode_filter_take(&keep, &event, &output, why));
    }
    *good = mode_filter_finish(&keep, &output, why);
    return keep;
}

static const struct {
    enum kept_mode mode;
    bool no_idle;
    size_t count;
    uint64_t dropped, unknown;
    const char *text;
} cases[] = {
    { KEPT_AS_RECORDED, false, 13, 0, 0,
      "sample 1 at 10 depth 1\nsample 2 at 10 depth 1\nsample 1 at 20 depth 2\nsample 2 at 20 depth 1\n" },
    { KEPT_WALL, false, 13, 0, 0,
      "sample 1 at 10 depth 1\nsample 2 at 10 depth 1\nsample 1 at 20 depth 2\nsample 2 at 20 depth 1\n" },
    { KEPT_CPU, false, countof(story), 6, 1,
      "sample 1 at 10 depth 1\nleft out 2 1 until 10 cpu 2\nsample 2 at 20 depth 1\n"
      "left out 1 2 until 30 cpu 20\nsample 1 at 40 depth 3\n"
      "left out 2 2 until 40 cpu 64\nleft out 2 5 until 50 cpu 128\nthread 2 ends\n"
      "left out 1 1 until 60 cpu 256\nend\n" },
    { KEPT_GIL, false, countof(story), 7, 0,
      "sample 1 at 10 depth 1\nleft out 1 1 until 20 cpu 4\nsample 1 at 30 depth 2\n"
      "left out 2 4 until 40 cpu 74\nleft out 2 5 until 50 cpu 128\nthread 2 ends\n"
      "left out 1 2 until 60 cpu 288\nend\n" },
    /* Who holds the lock runs, and who waits for the lock does not. Of one sample the processor is not known. */
    { KEPT_AS_RECORDED, true, countof(story), 5, 1,
      "sample 1 at 10 depth 1\nleft out 2 1 until 10 cpu 2\nsample 2 at 20 depth 1\n"
      "left out 1 1 until 20 cpu 4\nsample 1 at 30 depth 2\nsample 1 at 40 depth 3\n"
      "left out 2 2 until 40 cpu 64\nleft out 2 5 until 50 cpu 128\nthread 2 ends\n"
      "left out 1 1 until 60 cpu 256\nend\n" },
    { KEPT_EXCEPTION, true, 16, 5, 1,
      "left out 2 1 until 10 cpu 2\nsample 2 at 20 depth 1\n"
      "left out 1 3 until 30 cpu 21\nleft out 2 1 until 30 cpu 0\n" },
    /* Cut off: it is told at the end of the file. */
    { KEPT_EXCEPTION, false, 16, 5, 0,
      "left out 2 1 until 10 cpu 2\nsample 2 at 20 depth 1\n"
      "left out 1 3 until 30 cpu 21\nleft out 2 1 until 30 cpu 0\n" },
};

static void a_mode_keeps_its_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct told told;
        bool good;
        struct fault why = { 0 };
        struct mode_filter keep = tell(&told, cases[i].mode, cases[i].no_idle, cases[i].count, &good, &why);
        assert_true(good);
        assert_string_equal(told.text, cases[i].text);
        assert_int_equal(told.tables.defined - told.tables.samples, cases[i].dropped);
        assert_int_equal(keep.unknown, cases[i].unknown);
        mode_filter_free(&keep);
        tables_free(&told.tables);
    }
}

/* The tables tell what the output got. */
static void the_tables_count_what_is_kept(void **state)
{
    (void)state;
    struct told told;
    bool good;
    struct fault why = { 0 };
    struct mode_filter keep = tell(&told, KEPT_CPU, false, countof(story), &good, &why);
    assert_int_equal(told.tables.samples, 3);
    assert_int_equal(told.tables.left_out, 11);
    assert_int_equal(told.tables.threads[1].samples, 2);
    assert_int_equal(told.tables.threads[1].left_out, 3);
    assert_int_equal(told.tables.threads[1].cpu_ns, 1 + 4 + 16 + 32 + 256);
    assert_int_equal(told.tables.threads[1].wall_ns, MS + 10);
    const struct state_times *on_cpu = &told.tables.threads[1].states[ATTRIBUTE_CPU];
    assert_true(on_cpu->known_ns == MS + 10 && on_cpu->was_ns == MS + 10);
    assert_int_equal(told.tables.threads[2].samples, 1);
    assert_int_equal(told.tables.threads[2].left_out, 8);
    assert_int_equal(told.tables.threads[2].cpu_ns, 2 + 8 + 64 + 128);
    mode_filter_free(&keep);
    tables_free(&told.tables);
}

static void what_no_sample_says_cannot_be_kept(void **state)
{
    (void)state;
    static const struct {
        enum kept_mode mode;
        uint32_t status;
        const char *words; /* NULL: it can */
    } given[] = {
        { KEPT_AS_RECORDED, 0, NULL },
        { KEPT_WALL, 0, NULL },
        { KEPT_CPU, REC, NULL },
        { KEPT_CPU, STATUS_CPU, "pyreel-record -m cpu" }, /* without STATUS_RECORDED bits say nothing */
        { KEPT_CPU, REC | STATUS_CPU | STATUS_CPU_UNKNOWN, "pyreel-record -m cpu" },
        { KEPT_GIL, REC | STATUS_CPU_UNKNOWN, NULL },
        { KEPT_GIL, STATUS_GIL, "pyreel-record -m gil" },
        { KEPT_EXCEPTION, 0, "pyreel-record -m exception" },
    };
    for (size_t i = 0; i < countof(given); i++) {
        struct told told = { 0 };
        struct mode_filter keep = { .mode = given[i].mode };
        const struct sink output = { .take = hear, .self = &told };
        struct fault why = { 0 };
        for (size_t k = 0; k < 7; k++) {
            struct event event = story[k];
            assert_true(tables_define(&told.tables, &event, NULL));
        }
        assert_true(mode_filter_finish(&keep, &output, &why)); /* no samples: nothing to say */
        struct event event = STATUS_SAMPLE(10, 1, 0, given[i].status, 0, 1);
        assert_true(tables_define(&told.tables, &event, NULL));
        assert_true(mode_filter_take(&keep, &event, &output, &why));
        const bool good = mode_filter_finish(&keep, &output, &why);
        assert_int_equal(good, given[i].words == NULL);
        if (given[i].words && !strstr(why.text, given[i].words))
            fail_msg("it says '%s'", why.text);
        mode_filter_free(&keep);
        tables_free(&told.tables);
    }
}

static void samples_that_do_not_say_who_ran(void **state)
{
    (void)state;
    static const uint32_t statuses[] = { STATUS_GIL | STATUS_CPU, REC | STATUS_CPU_UNKNOWN };
    for (size_t i = 0; i < countof(statuses); i++) {
        struct told told = { 0 };
        struct mode_filter keep = { .no_idle = true };
        const struct sink output = { .take = hear, .self = &told };
        struct fault why = { 0 };
        for (size_t k = 0; k < 7; k++) {
            struct event event = story[k];
            assert_true(tables_define(&told.tables, &event, NULL));
        }
        struct event event = STATUS_SAMPLE(10, 1, 0, statuses[i], 0, 1);
        assert_true(tables_define(&told.tables, &event, NULL));
        assert_true(mode_filter_take(&keep, &event, &output, &why));
        assert_false(mode_filter_finish(&keep, &output, &why));
        if (!strstr(why.text, "whether their thread ran, so --no-idle"))
            fail_msg("it says '%s'", why.text);
        mode_filter_free(&keep);
        tables_free(&told.tables);
    }
}

static void a_recording_of_one_mode_is_not_one_of_another(void **state)
{
    (void)state;
    static const struct {
        struct text recorded;
        enum kept_mode asked;
        bool fits;
    } given[] = {
        { T(""), KEPT_CPU, true },
        { T("wall"), KEPT_EXCEPTION, true },
        { T("wall"), KEPT_WALL, true },
        { T("cpu"), KEPT_AS_RECORDED, true },
        { T("cpu"), KEPT_CPU, true },
        { T("cpu"), KEPT_WALL, false },
        { T("gil"), KEPT_CPU, false },
        { T("cp"), KEPT_CPU, false },
        { T("new"), KEPT_AS_RECORDED, true },
    };
    for (size_t i = 0; i < countof(given); i++) {
        const struct mode_filter keep = { .mode = given[i].asked };
        const struct recording recording = { .mode = given[i].recorded };
        struct fault why = { 0 };
        if (mode_filter_fits(&keep, &recording, &why) != given[i].fits || given[i].fits != (why.text[0] == '\0'))
            fail_msg("case %zu: '%s'", i, why.text);
    }
}

static void ids_are_of_traces_or_spans(void **state)
{
    (void)state;
    static const char *const wrong[] = { "",
                                         "00f067aa0ba902b",
                                         "00f067aa0ba902b71",
                                         "0x0067aa0ba902b7",
                                         " 0f067aa0ba902b7",
                                         "00f067aa0ba902bg",
                                         "0000000000000000",
                                         "00000000000000000000000000000000",
                                         "4bf92f3577b34da6a3ce929d0e0e473",
                                         "4bf92f3577b34da6a3ce929d0e0e4736a" };
    struct kept_span span;
    for (size_t i = 0; i < countof(wrong); i++)
        if (kept_span_parse(text_of(wrong[i]), &span))
            fail_msg("'%s' is no id", wrong[i]);
    assert_true(kept_span_parse(TEXT("00F067aa0ba902B7"), &span));
    assert_true(span.by == SPAN_ALONE && span.ids.id == 0x00f067aa0ba902b7);
    assert_true(kept_span_parse(TEXT("4bf92f3577b34da60000000000000001"), &span));
    assert_true(span.by == SPAN_OF_TRACE && span.ids.trace_high == 0x4bf92f3577b34da6 && span.ids.trace_low == 1);
}

/* One thread: a sample without a span, two spans of a trace, a span of another one. */
static void assert_kept(const char *id, const char *wanted, const char *words)
{
    static const struct span_ids spans[] = { { 0 }, { 1, 2, 3 }, { 1, 2, 4 }, { 5, 2, 3 } };
    struct told told = { 0 };
    struct mode_filter keep = { 0 };
    const struct sink output = { .take = hear, .self = &told };
    struct fault why = { 0 };
    assert_true(kept_span_parse(text_of(id), &keep.span));
    for (size_t i = 0; i < 7; i++) {
        struct event event = story[i];
        assert_true(tables_define(&told.tables, &event, NULL));
    }
    for (size_t i = 0; i < (words ? 1 : countof(spans)); i++) {
        struct event event = STATUS_SAMPLE(10 + 10 * i, 1, 0, REC | STATUS_CPU, 7, 1);
        event.sample.span = spans[i];
        assert_true(tables_define(&told.tables, &event, NULL));
        assert_true(mode_filter_take(&keep, &event, &output, &why));
    }
    assert_int_equal(mode_filter_finish(&keep, &output, &why), words == NULL);
    assert_string_equal(told.text, wanted);
    if (words && !strstr(why.text, words))
        fail_msg("it says '%s'", why.text);
    mode_filter_free(&keep);
    tables_free(&told.tables);
}

static void a_span_keeps_its_samples(void **state)
{
    (void)state;
    assert_kept("00000000000000010000000000000002",
                "left out 1 1 until 10 cpu 0\nsample 1 at 20 depth 1\nsample 1 at 30 depth 1\n"
                "left out 1 1 until 40 cpu 0\n",
                NULL);
    assert_kept("0000000000000003",
                "left out 1 1 until 10 cpu 0\nsample 1 at 20 depth 1\nleft out 1 1 until 30 cpu 0\n"
                "sample 1 at 40 depth 1\n",
                NULL);
    assert_kept("0000000000000009", "left out 1 4 until 40 cpu 0\n", NULL);
    assert_kept("0000000000000003", "", "do not say on which span");
}

TEST_FILE(mode_filter)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mode_keeps_its_samples),
        cmocka_unit_test(the_tables_count_what_is_kept),
        cmocka_unit_test(what_no_sample_says_cannot_be_kept),
        cmocka_unit_test(samples_that_do_not_say_who_ran),
        cmocka_unit_test(a_recording_of_one_mode_is_not_one_of_another),
        cmocka_unit_test(ids_are_of_traces_or_spans),
        cmocka_unit_test(a_span_keeps_its_samples),
    };
    return run_all(tests);
}
