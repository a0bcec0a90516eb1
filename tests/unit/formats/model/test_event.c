/* SPDX-License-Identifier: MIT */
#include "formats/model/event.h"

#include "formats/base/alloc.h"
#include "formats/base/fault.h"
#include "tests/fakes/testing.h"

#include <string.h>

static void versions_read_as_python_says_them(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        const char *text;
    } rows[] = {
        { 0x030f02f0, "3.15.2" },      { 0x030b07f0, "3.11.7" },
        { 0x030f00a3, "3.15.0a3" },    { 0x030e00b4, "3.14.0b4" },
        { 0x030d00c1, "3.13.0rc1" },   { 0x030a0df0, "3.10.13" },
        { 0x040000f0, "4.0.0" },       { 0, "0.0.0" },
        { UINT32_MAX, "255.255.255" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char room[32];
        assert_ptr_equal(event_python_version_text(room, rows[i].version), room);
        assert_string_equal(room, rows[i].text);
    }
}

static void every_failure_and_reason_has_words(void **state)
{
    (void)state;
    /* Of its own: none is said as another is. */
    for (int cause = 1; cause < FAILURE_KINDS; cause++)
        for (int other = 0; other < cause; other++)
            assert_string_not_equal(event_failure_text((enum failure)cause), event_failure_text((enum failure)other));
    for (int reason = 1; reason < END_REASONS; reason++)
        for (int other = 0; other < reason; other++)
            assert_string_not_equal(event_end_reason_text((enum end_reason)reason),
                                    event_end_reason_text((enum end_reason)other));
}

static void what_has_no_words_is_unknown(void **state)
{
    (void)state;
    assert_string_equal(event_failure_text((enum failure)0), "unknown");
    assert_string_equal(event_failure_text(FAILURE_KINDS), "unknown");
    assert_string_equal(event_failure_text((enum failure) - 1), "unknown");
    assert_string_equal(event_end_reason_text((enum end_reason)0), "unknown");
    assert_string_equal(event_end_reason_text(END_REASONS), "unknown");
}

static void fates_have_words(void **state)
{
    (void)state;
    static const struct {
        enum fate fate;
        int status;
        const char *text;
    } rows[] = {
        { FATE_UNKNOWN, -1, "" },      { FATE_EXITED, 0, "exit 0" },     { FATE_EXITED, 3 << 8, "exit 3" },
        { FATE_EXITED, 9, "SIGKILL" }, { FATE_EXITED, 40, "signal 40" }, { FATE_EXITED, -1, "ended" },
        { FATE_EXECED, -1, "exec" },   { FATE_LEFT, -1, "runs on" },     { FATES, 0, "" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char room[EVENT_FATE_ROOM];
        assert_string_equal(event_fate_text(room, rows[i].fate, rows[i].status), rows[i].text);
    }
}

static void a_fault_keeps_the_first_cause(void **state)
{
    (void)state;
    struct fault why = { 0 };
    assert_false(fault(&why, "cannot read process %d: %s", 12, "gone"));
    assert_string_equal(why.text, "cannot read process 12: gone");
    assert_false(fault(&why, "later"));
    assert_string_equal(why.text, "cannot read process 12: gone");
    assert_false(fault(NULL, "nobody asked"));
}

static void a_long_fault_is_cut(void **state)
{
    (void)state;
    static char word[5000];
    struct fault why = { 0 };
    memset(word, 'x', sizeof(word) - 1);
    fault(&why, "%s", word);
    assert_int_equal(strlen(why.text), sizeof(why.text) - 1);
}

static void ids_have_all_digits(void **state)
{
    (void)state;
    const struct span_ids ids = { 0x4bf92f3577b34da6, 0x0000000000000736, 0x00f067aa0ba902b7 };
    char trace[EVENT_TRACE_DIGITS + 1], span[EVENT_SPAN_DIGITS + 1];
    assert_string_equal(event_trace_text(trace, ids), "4bf92f3577b34da60000000000000736");
    assert_string_equal(event_span_text(span, ids), "00f067aa0ba902b7");
}

TEST_FILE(event)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_read_as_python_says_them),
        cmocka_unit_test(every_failure_and_reason_has_words),
        cmocka_unit_test(what_has_no_words_is_unknown),
        cmocka_unit_test(fates_have_words),
        cmocka_unit_test(a_fault_keeps_the_first_cause),
        cmocka_unit_test(a_long_fault_is_cut),
        cmocka_unit_test(ids_have_all_digits),
    };
    return run_all(tests);
}
