/* SPDX-License-Identifier: MIT */
/* What comes out of definitions that are held back until a sample needs them. */
#include "formats/model/lazy_definitions.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What was told, in short. */
struct heard {
    char text[1024];
    bool refuses;
};

static bool hear(void *self, struct event *event, struct fault *why)
{
    struct heard *heard = self;
    char *at = heard->text + strlen(heard->text);
    const size_t room = sizeof(heard->text) - strlen(heard->text);
    switch (event->kind) {
    case EVENT_STRING:
        snprintf(at, room, "s%" PRIu32 "=%.*s ", event->string.number, (int)event->string.text.size,
                 event->string.text.bytes);
        break;
    case EVENT_FUNCTION:
        snprintf(at, room, "f%" PRIu32 "=%" PRIu32 ",%" PRIu32 ",%" PRIu32 " ", event->function.number,
                 event->function.name, event->function.file, event->function.first_line);
        break;
    case EVENT_FRAME:
        snprintf(at, room, "r%" PRIu32 "=%" PRIu32 ":%" PRIu32 ",%" PRIu32 ",%" PRIu32 " ", event->frame.number,
                 event->frame.function, event->frame.line, event->frame.instruction, event->frame.base);
        break;
    case EVENT_SAMPLE:
        snprintf(at, room, "[%" PRIu32 "+", event->sample.keep);
        for (uint32_t i = 0; i < event->sample.pushed; i++)
            snprintf(at + strlen(at), room - strlen(at), " %" PRIu32, event->sample.frames[i]);
        snprintf(at + strlen(at), room - strlen(at), "] ");
        break;
    case EVENT_TICK:
        snprintf(at, room, "tick ");
        break;
    default:
        fail_msg("an event of kind %d", (int)event->kind);
    }
    return !heard->refuses || fault(why, "refused");
}

static void give(struct lazy_definitions *definitions, const struct event *events, size_t count)
{
    const struct sink sink = lazy_definitions_sink(definitions);
    for (size_t i = 0; i < count; i++) {
        struct event event = events[i];
        assert_true(sink_take(&sink, &event, NULL));
    }
}

static const struct event met[] = {
    STRING(1, "never"),   STRING(2, "a.py"), STRING(3, "f"), STRING(4, "g"), FUNCTION(1, 1, 2, 1), FUNCTION(2, 3, 2, 5),
    FUNCTION(3, 4, 0, 9), FRAME(1, 1, 2),    FRAME(2, 2, 6), FRAME(3, 2, 7), FRAME(4, 3, 9),
};

/* What was met is held: none of it was told. */
static void begin(struct lazy_definitions *definitions, struct heard *heard)
{
    *heard = (struct heard){ 0 };
    lazy_definitions_open(definitions, (struct sink){ hear, heard });
    give(definitions, met, countof(met));
    assert_string_equal(heard->text, "");
}

static void assert_told(const struct event *events, size_t count, const char *wanted)
{
    struct heard heard;
    struct lazy_definitions definitions;
    begin(&definitions, &heard);
    give(&definitions, events, count);
    assert_string_equal(heard.text, wanted);
    lazy_definitions_close(&definitions);
}

static void those_that_no_sample_has_are_not_told(void **state)
{
    (void)state;
    assert_told(NULL, 0, "");
}

static void each_is_told_before_the_sample_that_needs_it_first(void **state)
{
    (void)state;
    const struct event samples[] = {
        SAMPLE(MS, 1, 0, 4, 3),     TICK(MS),     SAME(2 * MS, 1, 2), TICK(2 * MS), /* nothing is pushed */
        SAMPLE(3 * MS, 1, 1, 2, 3), TICK(3 * MS),
    };
    assert_told(samples, countof(samples),
                "s1=g f1=1,0,9 r1=1:9,0,0 s2=f s3=a.py f2=2,3,5 r2=2:7,0,0 [0+ 1 2] tick "
                "[2+] tick r3=2:6,0,0 [1+ 3 2] tick ");
}

static void what_comes_later_is_told_later(void **state)
{
    (void)state;
    const struct event later[] = {
        SAMPLE(MS, 1, 0, 4),
        STRING(5, "LOAD_ATTR"),
        { EVENT_FRAME, .frame = { 5, 2, 8, 8, 0, 4, 5, 5 } },
        SAMPLE(2 * MS, 1, 0, 4, 5),
    };
    assert_told(later, countof(later),
                "s1=g f1=1,0,9 r1=1:9,0,0 [0+ 1] s2=f s3=a.py f2=2,3,5 s4=LOAD_ATTR r2=2:8,4,4 [0+ 1 2] ");
}

static void a_refusal_is_passed_on(void **state)
{
    (void)state;
    struct heard heard;
    struct lazy_definitions definitions;
    struct fault why = { 0 };
    begin(&definitions, &heard);
    heard.refuses = true;
    const struct sink sink = lazy_definitions_sink(&definitions);
    struct event sample = SAMPLE(MS, 1, 0, 4);
    assert_false(sink_take(&sink, &sample, &why));
    assert_string_equal(why.text, "refused");
    lazy_definitions_close(&definitions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_no_sample_has_are_not_told),
        cmocka_unit_test(each_is_told_before_the_sample_that_needs_it_first),
        cmocka_unit_test(what_comes_later_is_told_later),
        cmocka_unit_test(a_refusal_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
