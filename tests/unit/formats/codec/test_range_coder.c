/* SPDX-License-Identifier: MIT */
/* What a range coder was told comes back, however likely it was. */
#include "tests/fakes/testing.h"

#include "formats/codec/range_coder.h"

#define BITS 5000

static uint32_t drawn(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* Likelihoods of all sizes, the extremes among them. */
static uint32_t likelihood(uint64_t *state)
{
    const uint32_t low = drawn(state) >> 16 >> drawn(state) % 16;
    const uint32_t one = drawn(state) % 2 ? low : 65535 - low;
    return one == 0 ? 1 : one;
}

/* Tells, or is told, the same bits, mostly those that are likely, or hardly ever. */
static void go_through(struct range_coder *coder, uint64_t seed, unsigned surprise)
{
    uint64_t state = seed;
    for (unsigned i = 0; i < BITS; i++) {
        const uint32_t one = likelihood(&state);
        const bool likely = one > 32767, bit = drawn(&state) % 100 < surprise ? !likely : likely;
        assert_int_equal(range_coder_bit(coder, one, bit && !coder->reads), bit);
        if (drawn(&state) % 8)
            continue;
        const unsigned count = 1 + drawn(&state) % 8;
        const uint32_t bits = drawn(&state) % 4 ? drawn(&state) & ((1u << count) - 1) : (1u << count) - 1;
        assert_int_equal(range_coder_bits(coder, count, coder->reads ? 0 : bits | 1u << 20), bits);
    }
}

static void what_is_told_comes_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct bytes to = { 0 };
        struct range_coder coder;
        range_coder_write(&coder, &to);
        go_through(&coder, seed, (unsigned)(seed % 5 * 25));
        range_coder_end(&coder);
        range_coder_read(&coder, cursor_of(to.at, to.size));
        go_through(&coder, seed, (unsigned)(seed % 5 * 25));
        assert_true(range_coder_read_all(&coder));
        bytes_free(&to);
    }
}

/* Ones that are as unlikely as can be, behind zeros that are as likely as can be: digits of all ones, and then a carry
 * through all of them. */
static void carries_go_as_far_as_they_have_to(void **state)
{
    (void)state;
    for (unsigned zeros = 0; zeros < 200; zeros++) {
        struct bytes to = { 0 };
        struct range_coder coder;
        for (unsigned pass = 0; pass < 2; pass++) {
            if (pass == 0)
                range_coder_write(&coder, &to);
            else
                range_coder_read(&coder, cursor_of(to.at, to.size));
            for (unsigned i = 0; i < zeros; i++)
                assert_false(range_coder_bit(&coder, 65535, false));
            assert_true(range_coder_bit(&coder, 1, pass == 0));
            for (unsigned i = 0; i < zeros; i++)
                assert_int_equal(range_coder_bits(&coder, 8, pass == 0 ? 255 : 0), 255);
            if (pass == 0)
                range_coder_end(&coder);
        }
        assert_true(range_coder_read_all(&coder));
        bytes_free(&to);
    }
}

static void what_is_likely_takes_no_room(void **state)
{
    (void)state;
    struct bytes to = { 0 };
    struct range_coder coder;
    range_coder_write(&coder, &to);
    for (unsigned i = 0; i < 1000; i++)
        range_coder_bit(&coder, 65535, true);
    range_coder_end(&coder);
    assert_in_range(to.size, 0, 1);
    bytes_free(&to);
}

TEST_FILE(range_coder)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_comes_back),
        cmocka_unit_test(carries_go_as_far_as_they_have_to),
        cmocka_unit_test(what_is_likely_takes_no_room),
    };
    return run_all(tests);
}
