/* SPDX-License-Identifier: MIT */
/* Recordings whose C functions have lines and inlined functions. The debug information is made here:
 * at the address A in the modules there are A % 4 functions, each inlined into the one before. */
#include "convert/symbols/c_lines.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"

#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE     "/lib/c.so"
#define LATER      "/lib/later.so"
#define MOST_DEPTH 40
#define THREADS    3

static char made_here;

struct debug_info *debug_info_open(struct text path, struct text build_id, bool fetch)
{
    assert_text(build_id, "abcd");
    assert_false(fetch);
    return text_equal(path, TEXT(MODULE)) || text_equal(path, TEXT(LATER)) ? (struct debug_info *)&made_here : NULL;
}

static uint32_t line_at(uint64_t address, size_t depth)
{
    return (uint32_t)(address / 4 + depth + 1);
}

/* The names of inlined functions come again, and so do those that the file has. */
size_t debug_info_find(struct debug_info *info, uint64_t address, struct debug_place places[DEBUG_PLACES])
{
    static const struct text names[] = { { "outer", 5 }, { "f2", 2 }, { "inner", 5 }, { "inmost", 6 } };
    assert_ptr_equal(info, &made_here);
    for (size_t i = 0; i < address % 4; i++)
        places[i] = (struct debug_place){ names[i], TEXT("/src/c.c"), (uint32_t)(10 * i), line_at(address, i) };
    return address % 4;
}

void debug_info_close(struct debug_info *info)
{
    assert_true(!info || info == (struct debug_info *)&made_here);
}

/* ---- a recording ---- */

static uint32_t left_out_frame; /* of the last EVENT_LEFT_OUT behind the filter */

static bool take_tables(void *self, struct event *event, struct fault *why)
{
    if (event->kind == EVENT_LEFT_OUT)
        left_out_frame = event->left_out.frame;
    return tables_take(self, event, why);
}

struct recorded {
    struct tables tables;
    struct c_lines lines;
    struct fault why;
    uint32_t strings, functions, frames;
    uint64_t addresses[2000]; /* by frame of the file; 0: a function of Python */
};

static bool give(struct recorded *r, struct event event)
{
    return c_lines_take(&r->lines, &event, &r->why);
}

static uint32_t define_string(struct recorded *r, struct text text)
{
    assert_true(give(r, (struct event){ EVENT_STRING, .string = { ++r->strings, text } }));
    return r->strings;
}

static uint32_t define_function(struct recorded *r, struct function function)
{
    function.number = ++r->functions;
    assert_true(give(r, (struct event){ EVENT_FUNCTION, .function = function }));
    return r->functions;
}

/* A frame of a new function: one of Python in each third. */
static void define_frame(struct recorded *r, uint32_t module, uint64_t address)
{
    char name[20];
    snprintf(name, sizeof(name), "f%u", (unsigned)r->frames + 1);
    const bool native = address % 3 != 0;
    const uint32_t string = define_string(r, text_of(name));
    const uint32_t function = define_function(r, (struct function){ .name = string,
                                                                    .kind = native ? KIND_NATIVE : KIND_PYTHON,
                                                                    .module = native ? module : 0,
                                                                    .address = native ? 0x1001 : 0 });
    const struct frame frame = {
        .number = ++r->frames, .function = function, .line = native ? 0 : 7, .address = native ? address : 0
    };
    r->addresses[r->frames] = frame.address;
    assert_true(give(r, (struct event){ EVENT_FRAME, .frame = frame }));
}

static uint32_t define_module(struct recorded *r, struct text path)
{
    const uint32_t module = define_string(r, path);
    assert_true(give(r, (struct event){ EVENT_MODULE, .module = { .path = module, .build_id = TEXT("abcd") } }));
    return module;
}

static uint32_t start(struct recorded *r)
{
    r->lines.to = (struct sink){ .take = take_tables, .self = &r->tables };
    c_lines_next(&r->lines, &r->tables);
    assert_true(give(r, (struct event){ EVENT_RECORDING, .recording = { .interval_ns = 1000000 } }));
    assert_true(give(r, (struct event){ EVENT_PROCESS, .process = { .number = 1, .pid = 1 } }));
    for (uint32_t i = 1; i <= THREADS; i++)
        assert_true(give(r, (struct event){ EVENT_THREAD, .thread = { .number = i, .process = 1, .tid = i } }));
    define_string(r, TEXT("no module"));
    return define_module(r, TEXT(MODULE));
}

static void end(struct recorded *r)
{
    c_lines_free(&r->lines);
    tables_free(&r->tables);
}

/* ---- what it has become ---- */

/* Writes a stack as text, root first. */
static void put_stack(struct bytes *to, const struct tables *tables, uint32_t stack)
{
    char line[40];
    if (!stack)
        return;
    put_stack(to, tables, tables->stacks[stack].caller);
    const struct frame *frame = &tables->frames[tables->stacks[stack].frame];
    const struct text name = tables_function_name(tables, frame->function);
    put_bytes(to, name.bytes, name.size);
    snprintf(line, sizeof(line), ":%u@%llx+%u", (unsigned)frame->line, (unsigned long long)frame->address,
             (unsigned)frame->inlined);
    put_string(to, line);
    if (frame->inlined) {
        const struct text symbol = tables_function_name(tables, frame->symbol);
        put_string(to, "^");
        put_bytes(to, symbol.bytes, symbol.size);
    }
    put_string(to, ";");
}

/* Writes the text that a stack of these frames of the file should have. */
static void put_wanted(struct bytes *to, const struct recorded *r, const uint32_t *frames, size_t depth)
{
    static const char *const names[] = { "", "f2", "inner", "inmost" };
    char text[60];
    for (size_t i = 0; i < depth; i++) {
        const uint64_t address = r->addresses[frames[i]];
        const uint32_t own_line = !address ? 7 : address % 4 ? line_at(address, 0) : 0;
        snprintf(text, sizeof(text), "f%u:%u@%llx+0;", (unsigned)frames[i], (unsigned)own_line,
                 (unsigned long long)address);
        put_string(to, text);
        for (size_t depth_in = 1; depth_in < address % 4; depth_in++) {
            snprintf(text, sizeof(text), "%s:%u@%llx+%zu^f%u;", names[depth_in], (unsigned)line_at(address, depth_in),
                     (unsigned long long)address, depth_in, (unsigned)frames[i]);
            put_string(to, text);
        }
    }
}

static void assert_stack(const struct recorded *r, uint32_t thread, const uint32_t *frames, size_t depth)
{
    struct bytes got = { 0 }, wanted = { 0 };
    const struct thread_row *row = &r->tables.threads[thread];
    put_stack(&got, &r->tables, row->depth ? row->stacks[row->depth - 1] : 0);
    put_wanted(&wanted, r, frames, depth);
    put_bytes(&got, "", 1);
    put_bytes(&wanted, "", 1);
    assert_string_equal((const char *)got.at, (const char *)wanted.at);
    bytes_free(&got);
    bytes_free(&wanted);
}

static void record_at_random(struct recorded *r)
{
    uint32_t stacks[THREADS + 1][MOST_DEPTH] = { 0 }, depths[THREADS + 1] = { 0 };
    uint32_t module = start(r);
    for (unsigned round = 0; round < soak(3000); round++) {
        if (round == 500)
            module = define_module(r, TEXT(LATER));
        if (r->frames == 0 || (r->frames < 1500 && rand() % 2))
            define_frame(r, module, (uint64_t)(rand() % 4000) + 1);
        const uint32_t thread = (uint32_t)(rand() % THREADS) + 1;
        const uint32_t keep = (uint32_t)rand() % (depths[thread] + 1);
        const uint32_t pushed = (uint32_t)rand() % (MOST_DEPTH - keep + 1);
        for (uint32_t i = 0; i < pushed; i++)
            stacks[thread][keep + i] = (uint32_t)rand() % r->frames + 1;
        depths[thread] = keep + pushed;
        const struct sample sample = {
            .thread = thread,
            .keep = keep,
            .pushed = pushed,
            .frames = stacks[thread] + keep,
            .count = 1,
            .time_ns = (round + 1) * 1000000ull,
            .status = STATUS_RECORDED,
        };
        assert_true(give(r, (struct event){ EVENT_SAMPLE, .sample = sample }));
        assert_stack(r, thread, stacks[thread], depths[thread]);
    }
    const struct left_out left_out = { .thread = 1, .time_ns = 1, .frame = r->frames };
    char name[20];
    snprintf(name, sizeof(name), "f%u", (unsigned)r->frames);
    assert_true(give(r, (struct event){ EVENT_LEFT_OUT, .left_out = left_out }));
    assert_true(text_equal(tables_function_name(&r->tables, r->tables.frames[left_out_frame].function), text_of(name)));
}

static void stacks_have_what_is_inlined(void **state)
{
    (void)state;
    struct recorded *r = alloc_zeroed(1, sizeof(*r));
    srand(1);
    record_at_random(r);
    tables_free(&r->tables); /* another recording */
    *r = (struct recorded){ .lines = r->lines };
    record_at_random(r);
    end(r);
    free(r);
}

/* The frames that are added have a limit; a stack of the file is never refused for them. */
static void deep_stacks_have_what_fits(void **state)
{
    (void)state;
    enum { DEPTH = 50000 };
    struct recorded *r = alloc_zeroed(1, sizeof(*r));
    const uint32_t module = start(r);
    uint32_t *frames = alloc_zeroed(DEPTH, sizeof(*frames));
    define_frame(r, module, 7);
    for (size_t i = 0; i < DEPTH; i++)
        frames[i] = 1;
    for (uint32_t keep = 0; keep < STACK_DEPTH_LIMIT - DEPTH; keep += DEPTH) {
        const struct sample sample = { .thread = 1, .keep = keep, .pushed = DEPTH, .frames = frames, .count = 1 };
        assert_true(give(r, (struct event){ EVENT_SAMPLE, .sample = sample }));
        assert_int_equal(r->tables.threads[1].depth, keep + DEPTH + 4096);
    }
    free(frames);
    end(r);
    free(r);
}

/* The filter leaves it to the tables to refuse what is wrong. */
static void what_is_wrong_is_refused_as_without(void **state)
{
    (void)state;
    struct recorded *r = alloc_zeroed(1, sizeof(*r));
    const uint32_t module = start(r);
    for (int i = 0; i < 5; i++)
        define_frame(r, module, 7);
    const uint32_t frames[] = { 1, 2, 3, UINT32_MAX, 6, 0 };
    const struct sample samples[] = {
        { .thread = 1, .keep = 1, .pushed = 1, .frames = frames },
        { .thread = 9, .pushed = 1, .frames = frames },
        { .thread = UINT32_MAX, .pushed = 1, .frames = frames },
        { .thread = 1, .keep = UINT32_MAX, .pushed = 1, .frames = frames },
        { .thread = 1, .keep = STACK_DEPTH_LIMIT, .pushed = 1, .frames = frames },
        { .thread = 1, .pushed = 1, .frames = frames + 3 },
        { .thread = 1, .pushed = 1, .frames = frames + 4 },
        { .thread = 1, .pushed = 1, .frames = frames + 5 },
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct event event = { EVENT_SAMPLE, .sample = samples[i] };
        event.sample.count = 1;
        assert_false(give(r, event));
    }
    const struct event others[] = {
        { EVENT_STRING, .string = { UINT32_MAX, TEXT("x") } },
        { EVENT_STRING, .string = { 1, TEXT("x") } },
        { EVENT_FUNCTION, .function = { .number = UINT32_MAX, .name = 1 } },
        { EVENT_FUNCTION, .function = { .number = r->functions + 1, .name = UINT32_MAX } },
        { EVENT_FUNCTION, .function = { .number = r->functions + 1,
                                        .name = r->strings + 1,
                                        .kind = KIND_NATIVE,
                                        .module = module,
                                        .address = 0x45 } },
        { EVENT_FRAME,
          .frame = { .number = r->frames + 1, .function = 1, .address = 0x47, .instruction = r->strings + 1 } },
        { EVENT_FRAME, .frame = { .number = 1, .function = 1 } },
        { EVENT_FRAME, .frame = { .number = r->frames + 1, .function = UINT32_MAX } },
        { EVENT_MODULE, .module = { .path = UINT32_MAX } },
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(give(r, others[i]));
    end(r);
    free(r);
}

static void nothing_is_added_when_nobody_wants_it(void **state)
{
    (void)state;
    struct recorded *r = alloc_zeroed(1, sizeof(*r));
    r->lines.source = DEBUG_NONE;
    const uint32_t module = start(r);
    for (uint64_t address = 1; address < 40; address++)
        define_frame(r, module, address);
    assert_int_equal(r->tables.frames_count, r->frames + 1);
    assert_int_equal(r->tables.functions_count, r->functions + 1);
    assert_int_equal(r->tables.strings_count, r->strings + 1);
    end(r);
    free(r);
}

static void a_name_is_found_for_what_had_none(void **state)
{
    (void)state;
    struct recorded *r = alloc_zeroed(1, sizeof(*r));
    const uint32_t module = start(r);
    const struct text names[] = { TEXT("c.so+0x41"), TEXT("known"), TEXT("c.so") };
    const struct text wanted[] = { TEXT("outer"), TEXT("known"), TEXT("c.so") };
    for (size_t i = 0; i < 3; i++) {
        const uint32_t name = define_string(r, names[i]);
        const struct function function = { .name = name, .kind = KIND_NATIVE, .module = module, .address = 0x41 };
        define_function(r, function);
        const uint32_t number = (uint32_t)r->tables.functions_count - 1;
        assert_true(text_equal(tables_function_name(&r->tables, number), wanted[i]));
        assert_text(tables_function_file(&r->tables, number), "/src/c.c");
    }
    end(r);
    free(r);
}

TEST_FILE(c_lines)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_have_what_is_inlined),         cmocka_unit_test(deep_stacks_have_what_fits),
        cmocka_unit_test(what_is_wrong_is_refused_as_without), cmocka_unit_test(nothing_is_added_when_nobody_wants_it),
        cmocka_unit_test(a_name_is_found_for_what_had_none),
    };
    return run_all(tests);
}
