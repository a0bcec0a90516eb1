/* SPDX-License-Identifier: MIT */
/* What a status says of each attribute, and what a run of samples adds to its sum. */
#include "formats/model/attribute.h"

#include "formats/tachyon/tachyon.h"
#include "tests/fakes/testing.h"

#include <string.h>

static void each_attribute_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        assert_non_null(attributes[i].question);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(attributes[i].name, attributes[j].name);
    }
}

static void each_state_has_a_bit_of_its_own_that_the_stream_carries(void **state)
{
    (void)state;
    uint32_t bits = 0, unknown = 0;
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        assert_int_equal(attributes[i].state & bits, 0);
        assert_int_equal(attributes[i].state & ~STATUS_BITS, 0);
        bits |= attributes[i].state;
        unknown |= attributes[i].unknown;
    }
    assert_int_equal(bits & unknown, 0);
    assert_int_equal(bits | unknown, STATUS_BITS | attribute_never_said(0x030E0000));
    assert_int_equal(STATUS_BITS & (STATUS_RECORDED | TACHYON_MAIN_THREAD), 0);
}

static void an_unrecorded_status_says_nothing(void **state)
{
    (void)state;
    for (enum attribute i = 0; i < ATTRIBUTES; i++) {
        assert_false(attribute_known(STATUS_BITS, i));
        assert_false(attribute_is(STATUS_BITS, i));
    }
}

static void only_what_was_asked_for_is_known(void **state)
{
    (void)state;
    const uint32_t status = STATUS_RECORDED | STATUS_GIL | STATUS_CPU_UNKNOWN;
    assert_true(attribute_known(status, ATTRIBUTE_GIL) && attribute_is(status, ATTRIBUTE_GIL));
    assert_true(attribute_known(status, ATTRIBUTE_EXCEPTION));
    assert_false(attribute_is(status, ATTRIBUTE_EXCEPTION));
    assert_false(attribute_known(status, ATTRIBUTE_CPU) || attribute_known(status, ATTRIBUTE_CPU_TIME));
    assert_true(attribute_known(status, ATTRIBUTE_GIL_WAIT));
    assert_false(attribute_known(status | STATUS_GIL_WAIT_UNKNOWN, ATTRIBUTE_GIL_WAIT));
    assert_false(attribute_is(status | STATUS_GIL_WAIT_UNKNOWN | STATUS_GIL_WAIT, ATTRIBUTE_GIL_WAIT));
    assert_true(attribute_known(status | STATUS_GIL_WAIT_UNKNOWN, ATTRIBUTE_GIL));
    assert_int_equal(attribute_never_said(0x030E05F0), STATUS_GIL_WAIT_UNKNOWN);
    assert_int_equal(attribute_never_said(0x030F00A1), 0);
}

static void states_add_up_to_time_and_amounts_to_themselves(void **state)
{
    (void)state;
    const struct run run = { .count = 1, .status = STATUS_RECORDED | STATUS_GIL, .wall_ns = 3000, .cpu_ns = 77 };
    assert_int_equal(attribute_sum_ns(&run, ATTRIBUTE_GIL), 3000);
    assert_int_equal(attribute_sum_ns(&run, ATTRIBUTE_GIL_WAIT), 0);
    assert_int_equal(attribute_sum_ns(&run, ATTRIBUTE_CPU_TIME), 77);
}

TEST_FILE(attribute)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_attribute_has_a_name_of_its_own),
        cmocka_unit_test(each_state_has_a_bit_of_its_own_that_the_stream_carries),
        cmocka_unit_test(an_unrecorded_status_says_nothing),
        cmocka_unit_test(only_what_was_asked_for_is_known),
        cmocka_unit_test(states_add_up_to_time_and_amounts_to_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
