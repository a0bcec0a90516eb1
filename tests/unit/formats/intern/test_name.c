/* SPDX-License-Identifier: MIT */
/* Names are cut at a character, and stay different. */
#include "formats/intern/name.h"

#include "tests/fakes/testing.h"

#include <string.h>

static struct text cut(struct text name, char *room)
{
    return name_cut(name, room, NAME_LIMIT);
}

static void a_name_within_the_limit_stays(void **state)
{
    (void)state;
    char name[NAME_LIMIT], room[NAME_LIMIT];
    memset(name, 'x', sizeof(name));
    assert_ptr_equal(cut((struct text){ name, sizeof(name) }, room).bytes, name);
    assert_int_equal(cut((struct text){ NULL, 0 }, room).size, 0);
}

static void longer_names_stay_different(void **state)
{
    (void)state;
    static char name[200000];
    char a[NAME_LIMIT], b[NAME_LIMIT], again[NAME_LIMIT];
    memset(name, 'x', sizeof(name));
    const struct text first = cut((struct text){ name, sizeof(name) }, a);
    assert_int_equal(first.size, 1020);
    assert_memory_equal(first.bytes + 999, "x...#", 5);
    const struct text shorter = cut((struct text){ name, sizeof(name) - 1 }, b);
    assert_false(text_equal(first, shorter));
    name[100000] = 'y';
    const struct text other = cut((struct text){ name, sizeof(name) }, b);
    assert_false(text_equal(first, other));
    assert_true(text_equal(other, cut((struct text){ name, sizeof(name) }, again)));
    assert_ptr_equal(cut(other, again).bytes, other.bytes); /* a name is cut once */
}

static void a_hash_is_the_same_in_all_runs(void **state)
{
    (void)state;
    assert_true(name_hash(NAME_HASH_START, TEXT("foobar")) == UINT64_C(0x85944171f73967e8)); /* FNV-1a */
    assert_true(name_hash(name_hash(NAME_HASH_START, TEXT("foo")), TEXT("bar")) == UINT64_C(0x85944171f73967e8));
}

static void no_character_is_cut_in_two(void **state)
{
    (void)state;
    char name[2000], room[NAME_LIMIT];
    for (size_t start = 0; start < 3; start++) {
        memset(name, 'x', start);
        for (size_t at = start; at + 3 <= sizeof(name); at += 3)
            memcpy(name + at, "\xE2\x82\xAC", 3);
        const struct text found = cut((struct text){ name, sizeof(name) - 5 }, room);
        const size_t kept = found.size - strlen("...#0123456789abcdef");
        assert_in_range(kept, 998, 1000);
        assert_int_equal((kept - start) % 3, 0);
        assert_memory_equal(found.bytes + kept, "...#", 4);
    }
}

TEST_FILE(name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_within_the_limit_stays),
        cmocka_unit_test(longer_names_stay_different),
        cmocka_unit_test(a_hash_is_the_same_in_all_runs),
        cmocka_unit_test(no_character_is_cut_in_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
