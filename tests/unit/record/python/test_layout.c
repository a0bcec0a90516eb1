/* SPDX-License-Identifier: MIT */
/* Expected values are what the structures of real CPythons have: 3.11.7 and 3.12.1 by their headers (offsetof), later
 * ones as they publish them, and free-threaded builds of 3.13.18, 3.14.10, 3.15.2 and
 * 3.16.0a0 by their headers again. */
#include "record/python/layout.h"

#include "formats/base/alloc.h"
#include "formats/cpython/opcodes.h"
#include "tests/fakes/published.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS 10

static const struct {
    uint32_t version;
    const void *published;
    size_t size;
} versions[COLUMNS] = {
    { 0x030b07f0, NULL, 0 },
    { 0x030c01f0, NULL, 0 },
    { 0x030d00f0, published_3_13, sizeof(published_3_13) },
    { 0x030e0af0, published_3_14, sizeof(published_3_14) },
    { 0x030f02f0, published_3_15, sizeof(published_3_15) },
    { 0x031000a0, published_3_16, sizeof(published_3_16) },
    { 0x030d12f0, published_3_13t, sizeof(published_3_13t) },
    { 0x030e0af0, published_3_14t, sizeof(published_3_14t) },
    { 0x030f02f0, published_3_15t, sizeof(published_3_15t) },
    { 0x031000a0, published_3_16t, sizeof(published_3_16t) },
};

/* clang-format off */
#define ROW(member, ...) { #member, offsetof(struct layout, member), { __VA_ARGS__ } }

static const struct {
    const char *name;
    size_t member;
    uint32_t values[COLUMNS];
} rows[] = {
    ROW(runtime_interpreters_head, 40, 40, 632, 808, 936, 936, 632, 808, 936, 936),
    ROW(interpreter_id, 48, 8, 7272, 7280, 7272, 7272, 7272, 7280, 7272, 7272),
    ROW(interpreter_next, 0, 0, 7264, 7272, 7264, 7264, 7264, 7272, 7264, 7264),
    ROW(interpreter_threads_head, 16, 72, 7344, 7344, 7336, 7336, 7344, 7344, 7336, 7336),
    ROW(interpreter_code_generation, 0, 0, 0, 7992, 7944, 7944, 0, 8024, 7952, 7960),
    ROW(thread_prev, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(thread_next, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8),
    ROW(thread_interpreter, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16),
    ROW(thread_native_id, 160, 144, 160, 160, 184, 184, 160, 160, 184, 184),
    ROW(thread_current_frame, 0, 0, 72, 72, 72, 72, 72, 72, 72, 72),
    ROW(thread_cframe, 56, 56, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(cframe_current_frame, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(thread_base_frame, 0, 0, 0, 0, 80, 80, 0, 0, 80, 80),
    ROW(thread_chunk, 296, 232, 232, 232, 256, 256, 232, 232, 256, 256),
    ROW(thread_gil_wait, 0, 0, 0, 0, 40, 40, 0, 0, 40, 40),
    ROW(thread_exception, 112, 96, 112, 112, 136, 136, 112, 112, 136, 136),
    ROW(thread_exc_info, 120, 104, 120, 120, 144, 144, 120, 120, 144, 144),
    ROW(thread_handler, 320, 256, 256, 256, 288, 288, 256, 256, 288, 288),
    ROW(thread_size, 336, 272, 272, 272, 304, 304, 272, 272, 304, 304),
    ROW(frame_previous, 48, 8, 8, 8, 8, 8, 8, 8, 8, 8),
    ROW(frame_executable, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(frame_instruction, 56, 56, 56, 56, 56, 56, 56, 56, 56, 56),
    ROW(frame_owner, 69, 70, 70, 74, 74, 74, 70, 78, 78, 78),
    ROW(frame_stack, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64),
    ROW(frame_locals, 72, 72, 72, 80, 80, 80, 72, 80, 80, 80),
    ROW(frame_entry, 68, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(frame_size, 72, 72, 72, 80, 80, 80, 72, 80, 80, 80),
    ROW(notes_current_late, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(executable_tags, 0, 0, 0, 3, 3, 3, 0, 3, 3, 3),
    ROW(code_version, 0, 92, 92, 92, 92, 92, 108, 108, 108, 108),
    ROW(interpreter_gc, 648, 112, 7400, 7408, 7400, 7400, 7400, 7408, 7400, 7400),
    ROW(gc_collecting, 200, 200, 200, 192, 112, 112, 200, 192, 112, 116),
    ROW(gc_frame, 0, 0, 0, 0, 120, 120, 0, 0, 120, 120),
    ROW(gc_generations_before, 0, 0, 0, 168, 104, 104, 0, 0, 0, 0),
    ROW(gc_generations_address_before, 104, 104, 104, 0, 0, 0, 0, 0, 0, 0),
    ROW(runtime_gil, 368, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(interpreter_gil, 0, 384, 16, 16, 16, 16, 0, 0, 0, 0),
    ROW(interpreter_own_gil, 0, 1048, 7760, 7792, 7744, 7744, 0, 0, 0, 0),
    ROW(interpreter_start, 0, 0, 7264, 7272, 7264, 7264, 7264, 7272, 7264, 7264),
    ROW(interpreter_size, 856, 1072, 520, 728, 688, 688, 344, 760, 696, 704),
    ROW(code_flags, 48, 48, 48, 48, 48, 48, 64, 64, 64, 64),
    ROW(code_stack, 68, 64, 64, 64, 64, 64, 80, 80, 80, 80),
    ROW(code_locals, 76, 72, 72, 72, 72, 72, 88, 88, 88, 88),
    ROW(code_first_traceable, 168, 176, 184, 192, 192, 184, 200, 208, 208, 208),
    ROW(type_flags, 168, 168, 168, 168, 168, 168, 184, 184, 184, 184),
    ROW(type_basic_size, 32, 32, 32, 32, 32, 32, 48, 48, 48, 48),
    ROW(type_cached_keys, 872, 880, 880, 880, 888, 896, 896, 896, 904, 912),
    ROW(generator_state, 75, 67, 67, 67, 67, 67, 83, 83, 83, 83),
    ROW(publishes_tasks, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1),
    ROW(state_waits_first, -1u, -1u, -1u, -1u, 2, 2, -1u, -1u, 2, 2),
    ROW(state_waits_last, -1u, -1u, -1u, -1u, 3, 3, -1u, -1u, 3, 3),
    ROW(state_runs, 0, 0, 0, 0, 4, 4, 0, 0, 4, 4),
    ROW(state_ended, 1, 1, 1, 1, 5, 5, 1, 1, 5, 5),
    ROW(awaited_words, 1, 1, 1, 1, 2, 2, 1, 1, 2, 2),
    ROW(set_used, 24, 24, 24, 24, 24, 24, 40, 40, 40, 40),
    ROW(set_table, 40, 40, 40, 40, 40, 40, 56, 56, 56, 56),
    ROW(set_mask, 32, 32, 32, 32, 32, 32, 48, 48, 48, 48),
    ROW(int_tag, 16, 16, 16, 16, 16, 16, 32, 32, 32, 32),
    ROW(int_digits, 24, 24, 24, 24, 24, 24, 40, 40, 40, 40),
    ROW(stack_is_index, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0),
    ROW(waits_by_argument, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(task_size, 176, 176, 144, 0, 0, 0, 0, 0, 0, 0),
    ROW(task_coroutine, 136, 136, 120, 0, 0, 0, 120, 0, 0, 0),
    ROW(future_state, 88, 88, 96, 0, 0, 0, 96, 0, 0, 0),
    ROW(thread_dict, 128, 112, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(loop_is_held, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(generator_frame, 80, 72, 72, 72, 72, 72, 88, 88, 88, 88),
    ROW(owner_generator, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    ROW(owner_frame_object, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ROW(owner_shim, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3),
    ROW(root_is_shim, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    ROW(code_name, 128, 128, 128, 128, 128, 128, 144, 144, 144, 144),
    ROW(code_file, 112, 112, 112, 112, 112, 112, 128, 128, 128, 128),
    ROW(code_line_table, 136, 136, 136, 136, 136, 136, 152, 152, 152, 152),
    ROW(code_first_line, 72, 68, 68, 68, 68, 68, 84, 84, 84, 84),
    ROW(code_instructions, 184, 192, 200, 208, 208, 200, 216, 232, 232, 232),
    ROW(code_units, 16, 16, 16, 16, 16, 16, 32, 32, 32, 32),
    ROW(object_type, 8, 8, 8, 8, 8, 8, 24, 24, 24, 24),
    ROW(type_name, 24, 24, 24, 24, 24, 24, 40, 40, 40, 40),
    ROW(string_length, 16, 16, 16, 16, 16, 16, 32, 32, 32, 32),
    ROW(string_hash, 24, 24, 24, 24, 24, 24, 40, 40, 40, 40),
    ROW(string_state, 32, 32, 32, 32, 32, 32, 48, 48, 48, 48),
    ROW(string_ascii, 48, 40, 40, 40, 40, 40, 56, 56, 56, 56),
    ROW(string_compact, 72, 56, 56, 56, 56, 56, 72, 72, 72, 72),
    ROW(bytes_size, 16, 16, 16, 16, 16, 16, 32, 32, 32, 32),
    ROW(bytes_data, 32, 32, 32, 32, 32, 32, 48, 48, 48, 48),
    ROW(chunk_previous, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ROW(chunk_size, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8),
    ROW(chunk_top, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16),
    ROW(free_threaded, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1),
    ROW(interpreter_copies_generation, 0, 0, 0, 0, 0, 0, 0, 17300, 17252, 17628),
    ROW(thread_attachment, 0, 0, 0, 0, 0, 0, 40, 44, 48, 48),
    ROW(frame_copy, 0, 0, 0, 0, 0, 0, 0, 72, 72, 72),
    ROW(code_copies, 0, 0, 0, 0, 0, 0, 0, 224, 224, 224),
    ROW(string_kind, 2, 2, 2, 2, 2, 2, 2, 8, 8, 8),
    ROW(chunk_data, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24),
};
/* clang-format on */

static void each_version_has_its_offsets(void **state)
{
    (void)state;
    for (size_t v = 0; v < COLUMNS; v++) {
        struct layout layout;
        struct fault why = { 0 };
        if (!layout_load(&layout, versions[v].version, versions[v].published, versions[v].size, &why))
            fail_msg("%x: %s", versions[v].version, why.text);
        assert_int_equal(layout.version, versions[v].version);
        for (size_t r = 0; r < countof(rows); r++) {
            uint32_t value;
            memcpy(&value, (const char *)&layout + rows[r].member, sizeof(value));
            if (value != rows[r].values[v])
                fail_msg("%x: %s is %u and should be %u", versions[v].version, rows[r].name, value, rows[r].values[v]);
        }
        assert_int_equal(layout.executable_mask, ~(uint64_t)layout.executable_tags);
        const unsigned minor = versions[v].version >> 16 & 0xFF;
        assert_non_null(layout.opcode_names);
        assert_ptr_equal(layout.opcode_names, opcodes_names_of(minor));
    }
}

static void others_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        const char *text;
    } refused[] = {
        { 0x030a0df0, "3.10.13" }, { 0x031100f0, "3.17.0" },  { 0x040000f0, "4.0.0" }, { 0x040b00f0, "4.11.0" },
        { 0x020712f0, "2.7.18" },  { 0x030900a1, "3.9.0a1" }, { 0, "0.0.0" },          { UINT32_MAX, "255.255.255" },
    };
    for (size_t i = 0; i < countof(refused); i++) {
        struct layout layout;
        struct fault why = { 0 };
        char wanted[200];
        assert_false(layout_load(&layout, refused[i].version, published_3_15, sizeof(published_3_15), &why));
        snprintf(wanted, sizeof(wanted),
                 "it runs CPython %s, and this version of pyreel reads CPython 3.11 to 3.15, and 3.16 as of alpha 0",
                 refused[i].text);
        assert_string_equal(why.text, wanted);
    }
}

static void assert_refused_early(uint32_t version, const void *table, size_t size, const char *wanted)
{
    struct layout layout;
    struct fault why = { 0 };
    assert_false(layout_load(&layout, version, table, size, &why));
    assert_string_equal(why.text, wanted);
}

/* Its table may be another one until it is final, and the final one may be another one than that of alpha 0. */
static void an_early_version_is_refused_when_it_has_changed(void **state)
{
    (void)state;
    struct layout layout;
    static const uint32_t as_known[] = { 0x031000a0, 0x031000a1, 0x031000b2, 0x031000f0, 0x031001f0 };
    for (size_t i = 0; i < countof(as_known); i++) {
        assert_true(layout_load(&layout, as_known[i], published_3_16, sizeof(published_3_16), NULL));
        assert_true(layout_load(&layout, as_known[i], published_3_16t, sizeof(published_3_16t), NULL));
        for (unsigned n = 0; i > 0 && n < 256; n++) /* their numbers are not known */
            assert_null(layout.opcode_names[n].name);
    }

    /* A structure has grown. */
    uint64_t table[countof(published_3_16) + 1];
    memcpy(table, published_3_16, sizeof(published_3_16));
    table[47] += 8;
    assert_refused_early(0x031000a3, table, sizeof(published_3_16),
                         "it runs CPython 3.16.0a3, and this version of pyreel reads CPython 3.16 as of alpha 0, whose "
                         "table of offsets (_Py_DebugOffsets) is another (word 47 says 216, not 208)");
    /* So had it in the version before. */
    assert_refused_early(0x031000f0, published_3_15, sizeof(published_3_15),
                         "it runs CPython 3.16.0, and this version of pyreel reads CPython 3.16 as of alpha 0, whose "
                         "table of offsets (_Py_DebugOffsets) is another (word 47 says 216, not 208)");

    /* Wherever a word is new, or gone. */
    for (size_t word = 3; word < countof(published_3_16); word++) {
        struct fault why = { 0 };
        memcpy(table, published_3_16, word * 8);
        table[word] = 0;
        memcpy(table + word + 1, published_3_16 + word, sizeof(published_3_16) - word * 8);
        assert_false(layout_load(&layout, 0x031000a1, table, sizeof(table), &why));
        assert_non_null(strstr(why.text, "3.16.0a1"));
        assert_non_null(strstr(why.text, "as of alpha 0"));
        why = (struct fault){ 0 };
        memcpy(table + word, published_3_16 + word + 1, sizeof(published_3_16) - (word + 1) * 8);
        table[countof(published_3_16) - 1] = 1; /* what is behind the table */
        assert_false(layout_load(&layout, 0x031000a1, table, sizeof(published_3_16), &why));
        assert_non_null(strstr(why.text, "as of alpha 0"));
    }

    /* A final version is known by its number: its table is not compared. */
    memcpy(table, published_3_15, sizeof(published_3_15));
    table[47] += 8;
    assert_true(layout_load(&layout, 0x030f02f0, table, sizeof(published_3_15), NULL));
}

static void tables_are_recognised(void **state)
{
    (void)state;
    uint32_t version = 0;
    assert_true(layout_published(published_3_15, &version));
    assert_int_equal(version, 0x030f02f0);
    uint64_t head[3] = { published_3_14[0], published_3_14[1], 1 };
    assert_true(layout_published(head, &version));
    assert_int_equal(version, 0x030e0af0);
    head[0] ^= (uint64_t)1 << 63;
    assert_false(layout_published(head, &version));
    static const uint64_t zeros[3];
    assert_false(layout_published(zeros, &version));
}

static void a_cut_table_is_refused(void **state)
{
    (void)state;
    for (size_t v = 2; v < COLUMNS; v++) {
        struct layout layout;
        struct fault why = { 0 };
        assert_false(layout_load(&layout, versions[v].version, NULL, 0, &why));
        assert_string_equal(why.text, "it has no table of offsets (_Py_DebugOffsets)");
        size_t least = 0; /* bytes that are enough */
        while (!layout_load(&layout, versions[v].version, versions[v].published, least, NULL))
            assert_true(++least <= versions[v].size);
        assert_int_equal(least % 8, 0);
        assert_true(least > versions[v].size / 2);
        why = (struct fault){ 0 };
        layout_load(&layout, versions[v].version, versions[v].published, least - 1, &why);
        assert_string_equal(why.text, "its table of offsets (_Py_DebugOffsets) is cut off");
    }
}

/* Whatever one word says, the table is refused or what is read by it stays within its structures. */
static void damaged_tables_are_refused_or_harmless(void **state)
{
    (void)state;
    static const uint64_t damage[] = { UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 32, 1 << 20, 1 << 12, 4088, 600, 3,
                                       9 };
    for (size_t v = 2; v < COLUMNS; v++) {
        uint64_t table[200];
        unsigned refused = 0;
        memcpy(table, versions[v].published, versions[v].size);
        for (size_t word = 3; word < versions[v].size / 8; word++) {
            const uint64_t was = table[word];
            for (size_t d = 0; d < countof(damage); d++) {
                struct layout l;
                struct fault why = { 0 };
                table[word] = damage[d];
                if (!layout_load(&l, versions[v].version, table, versions[v].size, &why)) {
                    assert_true(strstr(why.text, "damaged") || strstr(why.text, "as of alpha 0"));
                    refused++;
                    continue;
                }
                const uint32_t end = l.interpreter_start + l.interpreter_size;
                const bool gil_within = l.interpreter_own_gil >= l.interpreter_start &&
                                        l.interpreter_own_gil + LAYOUT_GIL_SIZE <= end;
                const bool state_within = (l.free_threaded || gil_within) &&
                                          (!l.interpreter_code_generation ||
                                           (l.interpreter_code_generation >= l.interpreter_start &&
                                            l.interpreter_code_generation + 8 <= end));
                const bool within = state_within && l.interpreter_size <= LAYOUT_INTERPRETER_MAX &&
                                    l.thread_size <= LAYOUT_THREAD_MAX && l.frame_stack + 8 <= l.frame_size &&
                                    l.frame_owner < l.frame_size && l.code_first_traceable + 4 <= l.code_size &&
                                    l.code_locals + 4 <= l.code_size && l.code_copies + 8 <= l.code_size &&
                                    l.frame_copy + 4 <= l.frame_size && l.thread_attachment + 4 <= l.thread_size &&
                                    l.code_flags + 4 <= l.code_size && l.frame_size <= 128 && l.code_size <= 512 &&
                                    l.code_name + 8 <= l.code_size && l.code_file + 8 <= l.code_size &&
                                    l.code_line_table + 8 <= l.code_size && l.code_first_line + 4 <= l.code_size &&
                                    l.object_type + 8 <= l.code_size && l.string_length + 8 <= 128 &&
                                    l.string_state + 4 <= 128;
                if (!within)
                    fail_msg("%x: word %zu may be %lu", versions[v].version, word, damage[d]);
            }
            table[word] = was;
        }
        assert_true(refused > 100);
    }
}

/* What lies in front of a name is looked for there. */
static void a_name_has_something_in_front_of_it(void **state)
{
    (void)state;
    static const size_t words[] = { 37, 42, 50, 50 }; /* the name of a code object, from 3.13 on */
    for (size_t i = 0; i < countof(words); i++) {
        uint64_t table[200];
        struct layout l;
        struct fault why = { 0 };
        memcpy(table, versions[2 + i].published, versions[2 + i].size);
        assert_true(layout_load(&l, versions[2 + i].version, table, versions[2 + i].size, &why));
        table[words[i]] = 0;
        assert_false(layout_load(&l, versions[2 + i].version, table, versions[2 + i].size, &why));
        assert_non_null(strstr(why.text, "code objects"));
    }
}

TEST_FILE(layout)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_has_its_offsets),
        cmocka_unit_test(others_are_refused_by_name),
        cmocka_unit_test(an_early_version_is_refused_when_it_has_changed),
        cmocka_unit_test(tables_are_recognised),
        cmocka_unit_test(a_cut_table_is_refused),
        cmocka_unit_test(damaged_tables_are_refused_or_harmless),
        cmocka_unit_test(a_name_has_something_in_front_of_it),
    };
    return run_all(tests);
}
