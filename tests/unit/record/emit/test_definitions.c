/* SPDX-License-Identifier: MIT */
/* Strings, functions and frames have one index, and are emitted when a sample needs them. */
#include "record/emit/definitions.h"

#include "formats/base/alloc.h"

#include "tests/fakes/defined.h"
#include "tests/fakes/testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What was emitted, in short. */
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
    default:
        fail_msg("an event of kind %d", (int)event->kind);
    }
    return !heard->refuses || fault(why, "refused");
}

/* What was met, as indexes. */
struct met {
    struct definitions definitions;
    uint32_t f_6, f_7, g_9; /* frames: a function and a line */
};

static struct frame frame_of(uint32_t function, uint32_t line)
{
    return (struct frame){ .function = function, .line = line, .end_line = line, .column = 4, .end_column = 5 };
}

static uint32_t of(struct definitions *d, struct text name, uint32_t file, uint32_t first_line)
{
    return definitions_function(d, name, &(struct function){ .file = file, .first_line = first_line });
}

/* Three frames that samples may have, after a function that no sample has. Nothing of this was emitted. */
static void begin(struct met *met, struct heard *heard)
{
    struct definitions *d = &met->definitions;
    *heard = (struct heard){ 0 };
    *met = (struct met){ .definitions.to = { hear, heard } };
    const uint32_t file = definitions_string(d, TEXT("a.py"));
    const uint32_t never = of(d, TEXT("never"), file, 1);
    const uint32_t f = of(d, TEXT("f"), file, 5), g = of(d, TEXT("g"), 0, 9);
    definitions_frame(d, &(struct frame){ .function = never, .line = 2 });
    const struct frame frames[] = { frame_of(f, 6), frame_of(f, 7), frame_of(g, 9) };
    met->f_6 = definitions_frame(d, &frames[0]);
    met->f_7 = definitions_frame(d, &frames[1]);
    met->g_9 = definitions_frame(d, &frames[2]);
    assert_string_equal(heard->text, "");
}

static bool sample(struct met *met, uint32_t keep, const uint32_t *frames, uint32_t pushed, struct fault *why)
{
    struct event event = { EVENT_SAMPLE,
                           .sample = { .count = 1, .thread = 1, .keep = keep, .pushed = pushed, .frames = frames } };
    return definitions_emit_sample(&met->definitions, &event, why);
}

static void a_thing_has_one_index(void **state)
{
    (void)state;
    struct heard heard;
    struct met met;
    begin(&met, &heard);
    struct definitions *d = &met.definitions;
    const uint32_t file = definitions_string(d, TEXT("a.py")), f = of(d, TEXT("f"), file, 5);
    const struct frame again = frame_of(f, 6), other = frame_of(f, 8);
    assert_int_equal(definitions_frame(d, &again), met.f_6);
    assert_int_not_equal(definitions_frame(d, &other), met.f_6);
    assert_int_not_equal(of(d, TEXT("f"), file, 6), f);
    assert_text(defined_name(d, f), "f");
    assert_text(defined_file(d, f), "a.py");
    assert_text(defined_file(d, of(d, TEXT("g"), 0, 9)), "");
    const uint32_t gc = definitions_synthetic_frame(d, KIND_GC, TEXT("<GC>"));
    assert_int_equal(definitions_synthetic_frame(d, KIND_GC, TEXT("<GC>")), gc);
    definitions_free(d);
}

static void frames_that_differ_in_one_word_are_two(void **state)
{
    (void)state;
    struct definitions d = { 0 };
    static const struct frame frames[] = {
        { 0, 1, 5, 6, 7, 8, 0, 0, 0, 0, 0 }, { 0, 2, 5, 6, 7, 8, 0, 0, 0, 0, 0 }, { 0, 1, 4, 6, 7, 8, 0, 0, 0, 0, 0 },
        { 0, 1, 5, 9, 7, 8, 0, 0, 0, 0, 0 }, { 0, 1, 5, 6, 3, 8, 0, 0, 0, 0, 0 }, { 0, 1, 5, 6, 7, 9, 0, 0, 0, 0, 0 },
        { 0, 1, 5, 6, 7, 8, 1, 0, 0, 0, 0 }, { 0, 1, 5, 6, 7, 8, 0, 1, 0, 0, 0 }, { 0, 1, 5, 6, 7, 8, 0, 0, 1, 0, 0 },
    };
    for (uint32_t i = 0; i < countof(frames); i++)
        assert_int_equal(definitions_frame(&d, &frames[i]), i + 1);
    definitions_free(&d);
}

static void functions_that_differ_in_one_word_are_two(void **state)
{
    (void)state;
    struct definitions d = { 0 };
    static const struct function functions[] = {
        { 0, 0, 1, 5, KIND_NATIVE, 7, 0 }, { 0, 0, 2, 5, KIND_NATIVE, 7, 0 }, { 0, 0, 1, 6, KIND_NATIVE, 7, 0 },
        { 0, 0, 1, 5, KIND_GC, 7, 0 },     { 0, 0, 1, 5, KIND_NATIVE, 8, 0 }, { 0, 0, 1, 5, KIND_NATIVE, 8, 64 },
    };
    for (uint32_t i = 0; i < countof(functions); i++)
        assert_int_equal(definitions_function(&d, TEXT("<GC>"), &functions[i]), i + 1);
    definitions_free(&d);
}

static void frames_of_one_line_have_one_line_number(void **state)
{
    (void)state;
    struct heard heard;
    struct met met;
    begin(&met, &heard);
    struct definitions *d = &met.definitions;
    struct frame elsewhere = d->frames.rows[met.f_6].frame;
    elsewhere.column = 20;
    const uint32_t frame = definitions_frame(d, &elsewhere);
    assert_int_not_equal(frame, met.f_6);
    assert_int_equal(definitions_line(d, frame), definitions_line(d, met.f_6));
    assert_int_not_equal(definitions_line(d, met.f_7), definitions_line(d, met.f_6));
    definitions_free(d);
}

static void each_is_emitted_before_the_sample_that_needs_it_first(void **state)
{
    (void)state;
    struct heard heard;
    struct met met;
    begin(&met, &heard);
    assert_true(sample(&met, 0, (uint32_t[]){ met.g_9, met.f_7 }, 2, NULL));
    assert_true(sample(&met, 2, NULL, 0, NULL));
    assert_true(sample(&met, 1, (uint32_t[]){ met.f_6, met.f_7 }, 2, NULL));
    assert_string_equal(heard.text, "s1=g f1=1,0,9 r1=1:9,0,0 s2=f s3=a.py f2=2,3,5 r2=2:7,0,0 [0+ 1 2] "
                                    "[2+] r3=2:6,0,0 [1+ 3 2] ");
    definitions_free(&met.definitions);
}

static void an_instruction_is_emitted_with_its_frame(void **state)
{
    (void)state;
    struct heard heard;
    struct met met;
    begin(&met, &heard);
    struct definitions *d = &met.definitions;
    assert_true(sample(&met, 0, (uint32_t[]){ met.g_9 }, 1, NULL));
    struct frame with = d->frames.rows[met.g_9].frame;
    with.instruction = definitions_string(d, TEXT("LOAD_ATTR_SLOT"));
    with.base = definitions_string(d, TEXT("LOAD_ATTR"));
    assert_true(sample(&met, 1, (uint32_t[]){ definitions_frame(d, &with) }, 1, NULL));
    assert_string_equal(heard.text,
                        "s1=g f1=1,0,9 r1=1:9,0,0 [0+ 1] s2=LOAD_ATTR_SLOT s3=LOAD_ATTR r2=1:9,2,3 [1+ 2] ");
    definitions_free(d);
}

static void another_stream_gets_what_its_samples_need(void **state)
{
    (void)state;
    struct met met;
    struct heard heard = { 0 };
    begin(&met, &heard);
    assert_true(sample(&met, 0, (uint32_t[]){ met.f_6, met.g_9 }, 2, NULL));
    heard.text[0] = '\0';
    definitions_restart(&met.definitions);
    assert_true(sample(&met, 0, (uint32_t[]){ met.g_9 }, 1, NULL));
    assert_true(sample(&met, 1, NULL, 0, NULL));
    assert_string_equal(heard.text, "s1=g f1=1,0,9 r1=1:9,0,0 [0+ 1] [1+] ");
    definitions_free(&met.definitions);
}

/* Adds functions with long names until nothing more is added. Returns their number. */
static uint32_t fill(struct definitions *d)
{
    static char name[1000];
    uint32_t count = 0;
    memset(name, 'x', sizeof(name));
    for (; !definitions_full(d); count++) {
        memcpy(name, &count, sizeof(count));
        of(d, (struct text){ name, sizeof(name) }, 0, 1);
    }
    return count;
}

static void beyond_the_limit_all_new_functions_are_one(void **state)
{
    (void)state;
    struct heard heard;
    struct met met;
    begin(&met, &heard);
    struct definitions *d = &met.definitions;
    const uint32_t count = fill(d);
    assert_in_range(count, DEFINITIONS_LIMIT / 1500, DEFINITIONS_LIMIT / 1000);
    assert_int_equal(d->left_out, 0);
    const uint32_t more = of(d, TEXT("new"), 0, 7);
    const size_t bytes = d->bytes;
    assert_text(defined_name(d, more), "<more functions>");
    for (uint32_t line = 1; line < 1000; line++) {
        char name[32];
        const int size = snprintf(name, sizeof(name), "<task %" PRIu32 ">", line);
        assert_int_equal(of(d, (struct text){ name, (size_t)size }, 0, line), more);
        const struct frame frame = frame_of(more, line);
        assert_int_equal(definitions_frame(d, &frame),
                         definitions_named_frame(d, KIND_TASK, (struct text){ name, (size_t)size }));
    }
    assert_int_equal(d->left_out, 1 + 3 * 999);
    assert_in_range(d->bytes, bytes, bytes + 1000);
    definitions_free(d);
}

static void what_is_known_beyond_the_limit_stays_what_it_is(void **state)
{
    (void)state;
    struct heard heard;
    struct met met;
    begin(&met, &heard);
    struct definitions *d = &met.definitions;
    const struct frame known = d->frames.rows[met.f_6].frame;
    fill(d);
    assert_int_equal(definitions_frame(d, &known), met.f_6);
    assert_int_equal(of(d, TEXT("g"), 0, 9), d->frames.rows[met.g_9].frame.function);
    assert_int_equal(d->left_out, 0);
    const struct frame elsewhere = frame_of(known.function, 99);
    const struct frame *alone = &d->frames.rows[definitions_frame(d, &elsewhere)].frame;
    assert_int_equal(alone->function, known.function);
    assert_int_equal(alone->line, 0);
    const uint32_t gc = definitions_synthetic_frame(d, KIND_GC, TEXT("<GC>"));
    assert_text(defined_name(d, d->frames.rows[gc].frame.function), "<GC>");
    definitions_free(d);
}

static void a_refusal_is_passed_on(void **state)
{
    (void)state;
    struct heard heard;
    struct met met;
    struct fault why = { 0 };
    begin(&met, &heard);
    heard.refuses = true;
    assert_false(sample(&met, 0, (uint32_t[]){ met.g_9 }, 1, &why));
    assert_string_equal(why.text, "refused");
    definitions_free(&met.definitions);
}

TEST_FILE(definitions)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thing_has_one_index),
        cmocka_unit_test(frames_that_differ_in_one_word_are_two),
        cmocka_unit_test(functions_that_differ_in_one_word_are_two),
        cmocka_unit_test(frames_of_one_line_have_one_line_number),
        cmocka_unit_test(each_is_emitted_before_the_sample_that_needs_it_first),
        cmocka_unit_test(an_instruction_is_emitted_with_its_frame),
        cmocka_unit_test(another_stream_gets_what_its_samples_need),
        cmocka_unit_test(beyond_the_limit_all_new_functions_are_one),
        cmocka_unit_test(what_is_known_beyond_the_limit_stays_what_it_is),
        cmocka_unit_test(a_refusal_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
