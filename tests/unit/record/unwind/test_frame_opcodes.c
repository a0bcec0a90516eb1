/* SPDX-License-Identifier: MIT */
/* Which instruction each frame is shown at, while the program specialises them. */
#include "record/unwind/frame_opcodes.h"

#include "formats/base/alloc.h"
#include "tests/fakes/defined.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

static uint8_t number_of(const struct fake_python *p, const char *name)
{
    const struct opcode_name *names = fake_layout(p)->opcode_names;
    for (int n = 0; n < 256; n++)
        if (names[n].name && strcmp(names[n].name, name) == 0)
            return (uint8_t)n;
    fail_msg("3.%u has no %s", fake_minor(p), name);
    return 0;
}

static uint64_t unit_at(const struct fake_python *p, uint64_t code, uint32_t line, uint32_t unit)
{
    return fake_first(p, code, fake_copy(p, 0)) + ((uint64_t)line * FAKE_UNIT + unit) * 2;
}

/* From now on an instruction of another form, or another one, stands there. */
static void put(struct fake_python *p, uint64_t code, uint32_t line, const char *name)
{
    *fake_bytes(p, unit_at(p, code, line, 0)) = number_of(p, name);
}

/* A function in which nothing stands between the caches of instructions and the next ones. */
static uint64_t function(struct fake_python *p, const char *name, uint32_t first_line, uint32_t lines)
{
    const uint64_t code = fake_code(p, name, first_line, lines);
    for (uint32_t i = 0; i + 1 < lines; i++)
        *fake_bytes(p, unit_at(p, code, i, fake_minor(p) == 11 ? 6 : 4)) = number_of(p, "NOP");
    return code;
}

/* "<module>:3 CALL=CALL, f:20 LOAD_FAST=LOAD_FAST"; the n-th frame from the root on. */
static const char *sample_from(struct fake_python *p, uint32_t n)
{
    static char text[8192];
    fake_sample(p, 0);
    const struct walk *walk = &p->threads[0].walk;
    size_t used = 0;
    assert_int_equal(p->threads[0].state, UNWIND_DONE);
    for (text[0] = '\0'; n < walk->depth; n++) {
        const struct frame *frame = &p->definitions.frames.rows[walk->links[n].frame].frame;
        const struct text name = defined_name(&p->definitions, frame->function);
        const struct text is = p->definitions.strings.rows[frame->instruction].text,
                          base = p->definitions.strings.rows[frame->base].text;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s:%u %.*s=%.*s", used ? ", " : "",
                                 (int)name.size, name.bytes, frame->line, (int)is.size, is.bytes, (int)base.size,
                                 base.bytes);
    }
    return text;
}

static const char *sample(struct fake_python *p)
{
    return sample_from(p, 0);
}

/* ---- what is shown ---- */

static void specialise(struct fake_python *p)
{
    p->codes.instructions = true;
    const uint64_t module = function(p, "<module>", 1, 9), f = function(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 2 }, { PLAIN, f, 1 } }, 2);
    assert_string_equal(sample(p), "<module>:3 CALL=CALL, f:21 CALL=CALL");
    assert_string_equal(sample(p), "<module>:3 CALL=CALL, f:21 CALL=CALL");
    assert_int_equal(p->threads[0].keep, 2);
    put(p, f, 1, "CALL_PY_EXACT_ARGS");
    assert_string_equal(sample(p), "<module>:3 CALL=CALL, f:21 CALL_PY_EXACT_ARGS=CALL");
    assert_int_equal(p->threads[0].keep, 1);
    put(p, module, 2, "CALL_PY_EXACT_ARGS");
    assert_string_equal(sample(p), "<module>:3 CALL_PY_EXACT_ARGS=CALL, f:21 CALL_PY_EXACT_ARGS=CALL");
    assert_int_equal(p->threads[0].keep, 0);
    put(p, f, 1, "CALL");
    assert_string_equal(sample(p), "<module>:3 CALL_PY_EXACT_ARGS=CALL, f:21 CALL=CALL");
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, module, 2 }, { PLAIN, f, 7 } }, 2);
    assert_string_equal(sample(p), "<module>:3 CALL_PY_EXACT_ARGS=CALL, f:27 CALL=CALL");
    assert_int_equal(p->unwinder.counters.instructions_unknown, 0);
    assert_true(p->unwinder.counters.instructions >= 8);
    /* The same places are the same definitions. */
    const size_t defined = p->definitions.frames.ids.count;
    put(p, module, 2, "CALL");
    assert_string_equal(sample(p), "<module>:3 CALL=CALL, f:27 CALL=CALL");
    assert_int_equal(p->definitions.frames.ids.count, defined);
}
EACH_VERSION(an_instruction_that_changes_is_a_new_frame, specialise);

/* In a deep stack the callers are known from the last sample. */
static void specialise_deep(struct fake_python *p)
{
    enum { DEPTH = 40 };
    p->codes.instructions = true;
    const uint64_t module = function(p, "<module>", 1, 9), f = function(p, "f", 20, 9);
    struct fake_frame frames[DEPTH] = { { PLAIN, module, 2 } };
    for (int i = 1; i < DEPTH; i++)
        frames[i] = (struct fake_frame){ PLAIN, f, i % 3 };
    fake_stack(p, 0, frames, DEPTH);
    for (int i = 0; i < 6; i++)
        sample(p);
    put(p, module, 2, "CALL_PY_EXACT_ARGS");
    put(p, f, (DEPTH - 1) % 3, "CALL_PY_EXACT_ARGS");
    assert_string_equal(sample_from(p, DEPTH - 1), "f:20 CALL_PY_EXACT_ARGS=CALL");
    for (int i = 0; i < 6; i++)
        sample(p);
    assert_memory_equal(sample(p), "<module>:3 CALL_PY_EXACT_ARGS=CALL, f:21 CALL=CALL", 50);
    assert_int_equal(p->threads[0].walk.depth, DEPTH);
    assert_int_equal(p->unwinder.counters.instructions_unknown, 0);
}
EACH_VERSION(callers_are_looked_at_again, specialise_deep);

/* ---- what is left out ---- */

static void put_others(struct fake_python *p)
{
    p->codes.instructions = true;
    const uint64_t f = function(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    assert_string_equal(sample(p), "f:21 CALL=CALL");
    put(p, f, 1, "LOAD_FAST");
    assert_string_equal(sample(p), "f:21 =");
    assert_true(p->unwinder.counters.instructions_unknown > 0);
    *fake_bytes(p, unit_at(p, f, 1, 0)) = 0;
    assert_string_equal(sample(p), "f:21 =");
    if (fake_minor(p) > 11) {
        put(p, f, 1, "INSTRUMENTED_CALL");
        assert_string_equal(sample(p), "f:21 INSTRUMENTED_CALL=CALL");
        put(p, f, 1, "INSTRUMENTED_LINE");
        assert_string_equal(sample(p), "f:21 INSTRUMENTED_LINE=CALL");
    }
    put(p, f, 1, "CALL");
    assert_string_equal(sample(p), "f:21 CALL=CALL");
    fake_remote_hide(unit_at(p, f, 1, 0), 1);
    assert_string_equal(sample(p), "f:21 =");
    fake_remote_hide(0, 0);
    const uint64_t unknown = p->unwinder.counters.instructions_unknown;
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, -1 } }, 1);
    assert_string_equal(sample(p), "f:20 =");
    assert_int_equal(p->unwinder.counters.instructions_unknown, unknown);
}
EACH_VERSION(what_does_not_fit_is_left_out, put_others);

static void trace_from_the_start(struct fake_python *p)
{
    if (fake_minor(p) == 11)
        return;
    p->codes.instructions = true;
    const uint64_t f = function(p, "f", 20, 9);
    put(p, f, 1, "INSTRUMENTED_LINE");
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 0 } }, 1);
    assert_string_equal(sample(p), "f:20 CALL=CALL");
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    assert_string_equal(sample(p), "f:21 =");
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 2 } }, 1);
    assert_string_equal(sample(p), "f:22 =");
}
EACH_VERSION(what_was_never_seen_is_not_guessed, trace_from_the_start);

/* ---- while it is read ---- */

struct replacing {
    struct fake_python *p;
    uint64_t code;
    int times;
};

/* Before the opcodes are read, another function takes the place. */
static void replace(void *self, const struct piece *piece, size_t i)
{
    struct replacing *replacing = self;
    (void)i;
    if (piece->size != 1 || replacing->times-- <= 0)
        return;
    fake_code_at(replacing->p, replacing->code, "other", 40, 9);
    put(replacing->p, replacing->code, 1, "CALL_PY_EXACT_ARGS");
}

static void free_meanwhile(struct fake_python *p)
{
    p->codes.instructions = true;
    const uint64_t f = function(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    for (int i = 0; i < 100; i++) /* until no code objects are known to be freed */
        assert_string_equal(sample(p), "f:21 CALL=CALL");
    struct replacing replacing = { p, f, 1 };
    fake_remote_hook(replace, &replacing);
    const char *seen = sample(p);
    assert_memory_equal(seen, "other:41 ", 9);
}
EACH_VERSION(an_opcode_is_of_the_same_code_object, free_meanwhile);

static void not_asked_for(struct fake_python *p)
{
    const uint64_t f = function(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    for (int i = 0; i < 100; i++)
        assert_string_equal(sample(p), "f:21 =");
    const uint64_t calls = p->target.remote.calls;
    for (int i = 0; i < 10; i++)
        sample(p);
    const uint64_t without = p->target.remote.calls - calls;
    assert_int_equal(without, 10);
    codes_forget(&p->codes);
    p->codes.instructions = true;
    for (int i = 0; i < 100; i++)
        assert_string_equal(sample(p), "f:21 CALL=CALL");
    const uint64_t again = p->target.remote.calls;
    for (int i = 0; i < 10; i++)
        sample(p);
    assert_int_equal(p->target.remote.calls - again, without + 10);
}
EACH_VERSION(it_costs_one_call, not_asked_for);

TEST_FILE(frame_opcodes)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instruction_that_changes_is_a_new_frame),
        cmocka_unit_test(callers_are_looked_at_again),
        cmocka_unit_test(what_does_not_fit_is_left_out),
        cmocka_unit_test(what_was_never_seen_is_not_guessed),
        cmocka_unit_test(an_opcode_is_of_the_same_code_object),
        cmocka_unit_test(it_costs_one_call),
    };
    return run_all(tests);
}
