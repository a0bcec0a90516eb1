/* SPDX-License-Identifier: MIT */
/* The names that `threading` has, in the memory of each version, and in memory that lies. */
#include "formats/base/alloc.h"
#include "record/names/thread_names.h"
#include "tests/fakes/fake_names.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#define IDENT ((uint64_t)0x7f12345678c0)
#define NOW   1000000000u

static struct thread_names opened(struct fake_python *p)
{
    struct thread_names names;
    thread_names_open(&names, &p->target.remote, fake_layout(p));
    return names;
}

static void assert_name(struct fake_python *p, uint64_t ident, uint32_t native_id, const char *expected)
{
    struct thread_names names = opened(p);
    const struct text name = thread_names_find(&names, p->interpreter, ident, native_id, NOW);
    assert_int_equal(name.size, strlen(expected));
    assert_memory_equal(name.size ? name.bytes : "", expected, name.size);
    text_free(name);
    thread_names_close(&names);
}

static void find_names(struct fake_python *p)
{
    struct fake_names fake = fake_names_make(p, 0);
    fake_names_add(p, &fake, IDENT, "one", FAKE_ARRAY);
    fake_names_add(p, &fake, IDENT + 4096, "Thread-7 (work)", FAKE_SPLIT_DICT);
    fake_names_add(p, &fake, IDENT + 8192, "", FAKE_OWN_DICT);
    fake_names_add(p, &fake, IDENT + 12288, "two", FAKE_OWN_DICT);
    fake_names_add(p, &fake, 12, "a name that is longer than the kernel's fifteen bytes", FAKE_ARRAY);
    assert_name(p, IDENT, FAKE_NATIVE, "one");
    assert_name(p, IDENT + 4096, FAKE_NATIVE + 1, "Thread-7 (work)");
    assert_name(p, IDENT + 8192, FAKE_NATIVE + 2, "");
    assert_name(p, IDENT + 12288, FAKE_NATIVE + 3, "two");
    assert_name(p, 12, FAKE_NATIVE + 4, "a name that is longer than the kernel's fifteen bytes");
    assert_name(p, IDENT + 1, FAKE_NATIVE, "");
    assert_name(p, 0, 0, "");
}
EACH_VERSION(names_are_found_wherever_a_thread_has_them, find_names);

static void find_among_many(struct fake_python *p)
{
    struct fake_names fake = fake_names_make(p, 200);
    fake_names_add(p, &fake, IDENT, "among many", FAKE_ARRAY);
    /* A key behind which memory ends is shorter than the one that is searched for. */
    const uint64_t page = fake_pages(p, 2 * FAKE_PAGE);
    const uint64_t keys = fake_peek(p, fake.modules + fake_layout(p)->object_type + 8 + 16);
    fake_remote_hide(page + FAKE_PAGE, FAKE_PAGE);
    fake_poke(p, keys + 32 + 256 + 7 * 16, page + FAKE_PAGE - 48);
    assert_name(p, IDENT, FAKE_NATIVE, "among many");
}
EACH_VERSION(the_module_is_found_among_many, find_among_many);

static void rename_thread(struct fake_python *p)
{
    struct fake_names fake = fake_names_make(p, 3);
    fake_names_add(p, &fake, IDENT, "before", FAKE_ARRAY);
    struct thread_names names = opened(p);
    struct text name = thread_names_find(&names, p->interpreter, IDENT, FAKE_NATIVE, NOW);
    assert_text(name, "before");
    text_free(name);
    fake_poke(p, fake.threads[0].name_at, fake_names_string(p, &fake, "after"));
    const uint64_t calls = p->target.remote.calls;
    name = thread_names_find(&names, p->interpreter, IDENT, FAKE_NATIVE, NOW);
    assert_text(name, "after");
    text_free(name);
    assert_true(p->target.remote.calls - calls < 64); /* where the module is, is remembered */
    thread_names_close(&names);
}
EACH_VERSION(a_new_name_is_seen, rename_thread);

/* The program imports `threading` late: the search is not made at each call. */
static void import_late(struct fake_python *p)
{
    struct thread_names names = opened(p);
    assert_text(thread_names_find(&names, p->interpreter, IDENT, FAKE_NATIVE, NOW), "");
    struct fake_names fake = fake_names_make(p, 0);
    fake_names_add(p, &fake, IDENT, "late", FAKE_ARRAY);
    const uint64_t calls = p->target.remote.calls;
    assert_text(thread_names_find(&names, p->interpreter, IDENT, FAKE_NATIVE, NOW + 5000000), "");
    assert_int_equal(p->target.remote.calls, calls);
    const struct text name = thread_names_find(&names, p->interpreter, IDENT, FAKE_NATIVE, NOW + 11000000);
    assert_text(name, "late");
    text_free(name);
    thread_names_close(&names);
}
EACH_VERSION(a_module_that_is_imported_late_is_found, import_late);

/* The thread has ended, and its pthread_self() is that of a thread whose name is not noted yet. */
static void mix_up(struct fake_python *p)
{
    struct fake_names fake = fake_names_make(p, 0);
    fake_names_add(p, &fake, IDENT, "another one", FAKE_ARRAY);
    fake_poke(p, fake.threads[0].name_at + 8, fake_names_int(p, &fake, IDENT + 64));
    assert_name(p, IDENT, FAKE_NATIVE, "");
    fake_poke(p, fake.threads[0].name_at + 8, fake_names_int(p, &fake, IDENT));
    assert_name(p, IDENT, FAKE_NATIVE, "another one");
    assert_name(p, IDENT, FAKE_NATIVE + 1, "");
    fake_poke(p, fake.threads[0].name_at, fake_names_int(p, &fake, 5)); /* no str */
    assert_name(p, IDENT, FAKE_NATIVE, "");
    fake_poke(p, fake.threads[0].name_at, 0);
    assert_name(p, IDENT, FAKE_NATIVE, "");
}
EACH_VERSION(a_thread_is_believed_that_has_the_number, mix_up);

static void cut_long(struct fake_python *p)
{
    char name[400] = { 0 }, cut[THREAD_NAMES_LIMIT + 4] = { 0 };
    memset(name, 'n', sizeof(name) - 1);
    memset(cut, 'n', THREAD_NAMES_LIMIT);
    strcat(cut, "\xE2\x80\xA6");
    struct fake_names fake = fake_names_make(p, 0);
    fake_names_add(p, &fake, IDENT, name, FAKE_ARRAY);
    assert_name(p, IDENT, FAKE_NATIVE, cut);
}
EACH_VERSION(a_very_long_name_is_cut, cut_long);

/* Each word that matters has any value: nothing crashes, and what is read is bounded. */
static void lie(struct fake_python *p)
{
    static const uint64_t values[] = { 0,
                                       1,
                                       8,
                                       0x2020,
                                       UINT64_MAX,
                                       UINT64_MAX - 40,
                                       FAKE_BASE,
                                       1ull << 63,
                                       0xFFFFFF0000000000,
                                       FAKE_BASE + FAKE_SIZE - 4 };
    struct fake_names fake = fake_names_make(p, 20);
    for (size_t i = 0; i < FAKE_ATTRIBUTES; i++)
        fake_names_add(p, &fake, IDENT + i, "name", (enum fake_attributes)i);
    const uint64_t first = fake.dict_type, end = p->used + FAKE_BASE;
    for (uint64_t at = first; at < end; at += 8) {
        const uint64_t was = fake_peek(p, at);
        for (size_t v = 0; v < countof(values) && (was || v == 1); v++) {
            fake_poke(p, at, values[v]);
            struct thread_names names = opened(p);
            for (uint64_t i = 0; i < FAKE_ATTRIBUTES; i++)
                text_free(thread_names_find(&names, p->interpreter, IDENT + i, FAKE_NATIVE + (uint32_t)i, NOW));
            thread_names_close(&names);
        }
        fake_poke(p, at, was);
    }
    assert_true(p->target.remote.bytes < (uint64_t)4 << 30);
    assert_name(p, IDENT, FAKE_NATIVE, "name");
}
EACH_VERSION(memory_that_lies_is_read_safely, lie);

TEST_FILE(thread_names)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_wherever_a_thread_has_them),
        cmocka_unit_test(the_module_is_found_among_many),
        cmocka_unit_test(a_new_name_is_seen),
        cmocka_unit_test(a_module_that_is_imported_late_is_found),
        cmocka_unit_test(a_thread_is_believed_that_has_the_number),
        cmocka_unit_test(a_very_long_name_is_cut),
        cmocka_unit_test(memory_that_lies_is_read_safely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
