/* SPDX-License-Identifier: MIT */
/* Names of linkers become those of sources; all others stay, whatever they are. */
#include "formats/names/demangle.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

static void assert_becomes(const char *name, const char *readable)
{
    struct bytes into = { 0 };
    put_bytes(&into, "x", 1);
    assert_int_equal(demangle(text_of(name), &into), readable != NULL);
    const struct text got = bytes_text(&into), wanted = text_of(readable ? readable : "");
    assert_int_equal(got.size, 1 + wanted.size);
    assert_memory_equal(got.bytes + 1, wanted.bytes, wanted.size);
    bytes_free(&into);
}

static void names_of_cpp_and_rust_become_readable(void **state)
{
    (void)state;
    assert_becomes("_ZN5Eigen8internal4gemmEv", "Eigen::internal::gemm");
    assert_becomes("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back");
    assert_becomes("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
    assert_becomes("_RNvNtCs1234_4core3fmt5write", "core::fmt::write");
    assert_becomes("_RNvC6_123foo3bar", "123foo::bar");
}

static void copies_and_parts_have_the_name_of_the_function(void **state)
{
    (void)state;
    assert_becomes("save.constprop.0", "save");
    assert_becomes("x_add.lto_priv.0.isra.0", "x_add");
    assert_becomes("PyImport_ImportModuleLevelObject.localalias", "PyImport_ImportModuleLevelObject");
    assert_becomes("run.llvm.1234567890", "run");
    assert_becomes("_ZN1a1bEv.part.0", "a::b");
    assert_becomes("_ZN5Eigen.part.12.cold", "_ZN5Eigen");
}

static void other_names_stay(void **state)
{
    (void)state;
    const char *const names[] = {
        "",
        "_",
        "_Z",
        "_R",
        "PyObject_Call",
        "list.sort",
        "_Z)",
        "_ZN",
        "_ZN5Eigen",
        "_RNv",
        "_Rune",
        "_Zebra9",
        "zN5Eigen8internal4gemmEv",
        "Archive.part",
        "f.part.",
        "f.part.x",
        "f.cold",
        "f.localaliases",
        ".isra.0",
    };
    for (size_t i = 0; i < countof(names); i++)
        assert_becomes(names[i], NULL);
}

/* Each argument has the one before twice: f<A<int, int>, B<A<int, int>, A<int, int>>, ...>. */
static void a_name_that_doubles_stays(void **state)
{
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int arguments = 2; arguments <= 17; arguments++) {
        char name[400];
        struct bytes into = { 0 };
        int size = snprintf(name, sizeof(name), "_Z1fI1AIiiE");
        for (int i = 0; i < arguments; i++)
            size += snprintf(name + size, sizeof(name) - (size_t)size, "1BIS%c_S%c_E", digits[2 * i + 1],
                             digits[2 * i + 1]);
        snprintf(name + size, sizeof(name) - (size_t)size, "Evv");
        assert_int_equal(demangle(text_of(name), &into), arguments < 7);
        assert_true(arguments < 7 ? into.size > 12u << arguments : into.size == 0);
        bytes_free(&into);
    }
}

static void a_long_name_stays(void **state)
{
    (void)state;
    char name[2 * DEMANGLE_MOST];
    struct bytes into = { 0 };
    memset(name, 'x', sizeof(name));
    const int size = snprintf(name, sizeof(name), "_Z%d", DEMANGLE_MOST + 5);
    name[size] = 'x';
    assert_false(demangle((struct text){ name, (size_t)size + DEMANGLE_MOST + 5 }, &into));
    memcpy(name + DEMANGLE_MOST + 1, ".isra.0", 7); /* a part of a function, whose name is as long */
    assert_false(demangle((struct text){ name, DEMANGLE_MOST + 8 }, &into));
    assert_true(demangle((struct text){ name + 1, DEMANGLE_MOST + 7 }, &into));
    assert_int_equal(into.size, DEMANGLE_MOST);
    bytes_free(&into);
}

TEST_FILE(demangle)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_cpp_and_rust_become_readable),
        cmocka_unit_test(copies_and_parts_have_the_name_of_the_function),
        cmocka_unit_test(other_names_stay),
        cmocka_unit_test(a_name_that_doubles_stays),
        cmocka_unit_test(a_long_name_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
