/* SPDX-License-Identifier: MIT */
/* A flight recorder keeps the last seconds: no more than it was asked for, and no more than it has room for. */
#include "record/file/flight.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>

#define S UINT64_C(1000000000)

static void keep(struct flight *flight, uint64_t bytes, uint64_t end_ns)
{
    const int fd = flight_open_segment(flight, NULL);
    assert_true(fd >= 0);
    flight_keep(flight, fd, bytes, end_ns);
}

/* A segment goes away when all of it is older than the time that is kept, and its file with it. */
static void segments_that_are_too_old_go_away(void **state)
{
    (void)state;
    struct flight flight = { .span_ns = 60 * S };
    for (uint64_t second = 15; second <= 75; second += 15)
        keep(&flight, 1000, second * S);
    assert_int_equal(flight.count, 5); /* 60 s, and that which ends with them */
    const int oldest = flight.segments[0].fd;
    keep(&flight, 1000, 90 * S);
    assert_int_equal(flight.count, 5);
    assert_int_equal(flight.segments[0].end_ns, 30 * S);
    assert_int_equal(fcntl(oldest, F_GETFD), -1);
    keep(&flight, 1000, 1000 * S); /* after a pause */
    assert_int_equal(flight.count, 1);
    assert_false(flight.short_of_room);
    flight_close(&flight);
}

static void segments_without_room_go_away_and_that_is_noted(void **state)
{
    (void)state;
    struct flight many = { .span_ns = 60 * S }, large = { .span_ns = 60 * S };
    for (uint64_t i = 1; i <= countof(many.segments) + 1; i++)
        keep(&many, 1, i * S);
    assert_int_equal(many.count, countof(many.segments));
    assert_int_equal(many.segments[0].end_ns, 2 * S);
    assert_true(many.short_of_room);
    for (uint64_t i = 1; i <= FLIGHT_SEGMENTS + 1; i++)
        keep(&large, FLIGHT_SEGMENT_BYTES, i * S);
    assert_int_equal(large.count, FLIGHT_SEGMENTS);
    assert_true(large.short_of_room);
    flight_close(&many);
    flight_close(&large);
}

TEST_FILE(flight)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_that_are_too_old_go_away),
        cmocka_unit_test(segments_without_room_go_away_and_that_is_noted),
    };
    return run_all(tests);
}
