/* SPDX-License-Identifier: MIT */
/* Conditions are read, become true, and fire once each time. */
#include "record/file/triggers.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define MS UINT64_C(1000000)

static void conditions_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        enum trigger_kind kind;
        double limit;
    } rows[] = {
        { "cpu>90%", true, TRIGGER_CPU, 0.9 },
        { "cpu>250%", true, TRIGGER_CPU, 2.5 },
        { "memory>2G", true, TRIGGER_MEMORY, 2e9 },
        { "memory>1.5M", true, TRIGGER_MEMORY, 1.5e6 },
        { "gilwait>50%", true, TRIGGER_GIL_WAIT, 0.5 },
        { "still>10s", true, TRIGGER_STILL, 1e10 },
        { "still>1m30", true, TRIGGER_STILL, 9e10 },
        { .text = "cpu>90" },
        { .text = "cpu<90%" },
        { .text = "cpu>%" },
        { .text = "cpu>-1%" },
        { .text = "cpu>nan%" },
        { .text = "memory>2" },
        { .text = "memory>2Gx" },
        { .text = "memory>infG" },
        { .text = "still>10" },
        { .text = "still>0s" },
        { .text = "load>1" },
        { .text = "" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct triggers triggers = { 0 };
        if (triggers_add(&triggers, rows[i].text) != rows[i].good)
            fail_msg("'%s'", rows[i].text);
        if (!rows[i].good)
            continue;
        assert_int_equal(triggers.rows[0].kind, rows[i].kind);
        assert_true(triggers.rows[0].limit > rows[i].limit * 0.999 && triggers.rows[0].limit < rows[i].limit * 1.001);
    }
    struct triggers many = { 0 };
    for (size_t i = 0; i < TRIGGERS_MOST; i++)
        assert_true(triggers_add(&many, "cpu>1%"));
    assert_false(triggers_add(&many, "cpu>1%"));
}

static bool fires(struct triggers *triggers, struct event event)
{
    triggers->fired = NULL;
    triggers_take(triggers, &event);
    return triggers->fired != NULL;
}

static struct event measure(uint32_t process, uint64_t time_ms, uint64_t resident, uint64_t cpu_ms)
{
    return (struct event){ .kind = EVENT_MEASURE,
                           .measure = { process, time_ms * MS, resident, cpu_ms * MS, MEASURE_UNKNOWN } };
}

static struct event serial(uint32_t number, uint32_t is)
{
    return (struct event){ .kind = EVENT_SERIAL, .serial = { SERIAL_PROCESS, number, is } };
}

static void processor_time_is_of_two_seconds(void **state)
{
    (void)state;
    struct triggers triggers = { 0 };
    assert_true(triggers_add(&triggers, "cpu>50%"));
    fires(&triggers, serial(1, 1));
    assert_false(fires(&triggers, measure(1, 100, 0, 5000)));
    assert_false(fires(&triggers, measure(1, 1100, 0, 6000))); /* all of it, but for one second only */
    assert_false(fires(&triggers, measure(1, 2100, 0, 6000))); /* 1 of 2 seconds is not more than a half */
    fires(&triggers, serial(2, 1));                            /* another stream gives the process number 2 */
    assert_true(fires(&triggers, measure(2, 4100, 0, 7500)));
    assert_false(fires(&triggers, measure(2, 6100, 0, 9500))); /* it holds on */
    assert_false(fires(&triggers, measure(2, 8100, 0, 9500)));
    assert_true(fires(&triggers, measure(2, 10100, 0, 11500)));
    triggers_free(&triggers);
}

static void memory_is_of_any_process(void **state)
{
    (void)state;
    struct triggers triggers = { 0 };
    assert_true(triggers_add(&triggers, "memory>1M"));
    assert_false(fires(&triggers, measure(1, 100, 1000000, MEASURE_UNKNOWN)));
    assert_false(fires(&triggers, measure(1, 200, MEASURE_UNKNOWN, MEASURE_UNKNOWN)));
    assert_true(fires(&triggers, measure(1, 300, 1000001, MEASURE_UNKNOWN)));
    triggers_free(&triggers);
}

static struct event sample(uint64_t time_ms, uint32_t pushed, uint32_t status)
{
    return (struct event){ .kind = EVENT_SAMPLE,
                           .sample = {
                               .count = 1, .thread = 1, .pushed = pushed, .time_ns = time_ms * MS, .status = status } };
}

static struct event tick(uint64_t time_ms)
{
    return (struct event){ .kind = EVENT_TICK, .tick_ns = time_ms * MS };
}

static void stacks_that_stay_are_still(void **state)
{
    (void)state;
    struct triggers triggers = { 0 };
    assert_true(triggers_add(&triggers, "still>1s"));
    fires(&triggers, sample(500, 3, 0));
    assert_false(fires(&triggers, tick(500)));
    triggers.anew = true; /* the whole stack again, because a stream begins */
    fires(&triggers, sample(900, 3, 0));
    assert_false(fires(&triggers, tick(900)));
    fires(&triggers, sample(1600, 0, 0));
    assert_true(fires(&triggers, tick(1600)));
    fires(&triggers, sample(1700, 1, 0));
    assert_false(fires(&triggers, tick(1700)));
    triggers_free(&triggers);
}

static void waits_for_the_lock_are_a_share_of_samples(void **state)
{
    (void)state;
    struct triggers triggers = { 0 };
    assert_true(triggers_add(&triggers, "gilwait>50%"));
    for (uint64_t i = 0; i < 4; i++)
        fires(&triggers, sample(500 * i, 1, i < 2 ? STATUS_GIL_WAIT : 0));
    assert_false(fires(&triggers, tick(2000)));
    for (uint64_t i = 0; i < 4; i++)
        fires(&triggers, sample(2000 + 500 * i, 1, i < 3 ? STATUS_GIL_WAIT : 0));
    assert_false(fires(&triggers, tick(3999)));
    assert_true(fires(&triggers, tick(4000)));
    triggers_free(&triggers);
}

TEST_FILE(triggers)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_read),
        cmocka_unit_test(processor_time_is_of_two_seconds),
        cmocka_unit_test(memory_is_of_any_process),
        cmocka_unit_test(stacks_that_stay_are_still),
        cmocka_unit_test(waits_for_the_lock_are_a_share_of_samples),
    };
    return run_all(tests);
}
