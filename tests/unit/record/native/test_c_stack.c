/* SPDX-License-Identifier: MIT */
/* The C stack of this test itself: what the compiler's own unwinder says of it is the expected result. */
#include "record/native/c_stack.h"

#include "formats/base/alloc.h"
#include "record/native/native_stack.h"
#include "record/process/clock.h"
#include "tests/fakes/testing.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAMES 200
#define COPIED 65536

/* C functions are recorded on x86-64 only. An emulator shows its own memory, and not that of the test. AddressSanitizer
 * puts frames of its own below backtrace(), and local variables elsewhere. */
#if defined(__x86_64__)
#define READS 1
#endif
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define UNWINDS 1
#endif
#ifndef READS
#define READS 0
#endif
#ifndef UNWINDS
#define UNWINDS 0
#endif

#if READS
struct world {
    struct remote remote;
    struct definitions definitions;
    struct code_map map;
};

static bool drop(void *self, struct event *event, struct fault *why)
{
    (void)self, (void)event, (void)why;
    return true;
}

static void open_world(struct world *world)
{
    struct fault why = { 0 };
    *world = (struct world){ .definitions.to.take = drop };
    assert_true(remote_open(&world->remote, getpid(), &why));
    code_map_open(&world->map, &world->remote, &world->definitions);
    code_map_refresh(&world->map, clock_now_ns());
}

static void close_world(struct world *world)
{
    code_map_close(&world->map);
    definitions_free(&world->definitions);
    remote_close(&world->remote);
}

#endif

#if UNWINDS

/* What was found of the stack in probe(). */
struct probed {
    struct world *world;
    void *wanted[FRAMES]; /* return addresses, innermost first */
    int wanted_count;
    struct c_frame frames[FRAMES];
    size_t count;
    enum c_end end;
    uint64_t last;  /* an address on the stack at which to end; 0: the root */
    int32_t forget; /* these bytes of the copy are left out at its end */
};

static struct c_registers registers_of(const ucontext_t *context)
{
    const greg_t *r = context->uc_mcontext.gregs;
    struct c_registers registers = { .pc = (uint64_t)r[REG_RIP], .behind_call = true };
    static const int kept[][2] = { { CFI_RBX, REG_RBX }, { CFI_RBP, REG_RBP }, { CFI_RSP, REG_RSP }, { 12, REG_R12 },
                                   { 13, REG_R13 },      { 14, REG_R14 },      { 15, REG_R15 } };
    for (size_t i = 0; i < countof(kept); i++) {
        registers.values[kept[i][0]] = (uint64_t)r[kept[i][1]];
        registers.known |= 1u << kept[i][0];
    }
    return registers;
}

__attribute__((noinline)) static void probe(struct probed *probed)
{
    static unsigned char bytes[COPIED];
    ucontext_t context;
    probed->wanted_count = backtrace(probed->wanted, FRAMES);
    assert_int_equal(getcontext(&context), 0);
    const struct c_registers registers = registers_of(&context);
    struct c_copy copy = { registers.values[CFI_RSP] - 128, 0, bytes };
    while (copy.size < COPIED &&
           remote_read(&probed->world->remote, copy.begin + copy.size, bytes + copy.size, 16) == REMOTE_READ)
        copy.size += 16;
    copy.size -= (size_t)probed->forget < copy.size ? (size_t)probed->forget : copy.size;
    probed->end = c_stack_unwind(&probed->world->map, &registers, &copy, probed->last, probed->frames, FRAMES,
                                 &probed->count, NULL);
}

/* The frames above probe() are those that backtrace() sees, which gives return addresses. */
static void assert_as_backtrace(const struct probed *probed)
{
    assert_int_equal(probed->end, C_ROOT);
    assert_int_equal(probed->count, probed->wanted_count);
    for (size_t i = 1; i < probed->count; i++) {
        assert_int_equal(probed->frames[i].code->pc + 1, (uint64_t)(uintptr_t)probed->wanted[i]);
        assert_int_equal(probed->frames[i].sp, probed->frames[i - 1].cfa);
        assert_true(probed->frames[i].cfa > probed->frames[i].sp);
    }
}

static struct probed *called; /* by a function that has no argument for it */

static int compare(const void *a, const void *b)
{
    if (called) {
        probe(called);
        called = NULL;
    }
    return *(const char *)a - *(const char *)b;
}

__attribute__((noinline)) static int recurse(struct probed *probed, int depth, const char *text)
{
    volatile char *room = __builtin_alloca(40 + (size_t)depth * 8 % 200); /* only the frame pointer knows the size */
    room[0] = text[0];
    if (depth > 0)
        return recurse(probed, depth - 1, text) + room[0];
    char letters[] = "zyxwvutsrq";
    called = probed;
    qsort(letters, strlen(letters), 1, compare); /* C code of the library calls ours */
    return room[0] + letters[0];
}

static void unwinds_as_the_compiler_does(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    for (int depth = 0; depth < 60; depth += 7) {
        struct probed *probed = alloc_zeroed(1, sizeof(*probed));
        probed->world = &world;
        recurse(probed, depth, "text");
        assert_as_backtrace(probed);
        assert_true(probed->count > (size_t)depth + 3);
        free(probed);
    }
    close_world(&world);
}

static void ends_where_it_is_told_and_where_the_copy_ends(void **state)
{
    (void)state;
    struct world world;
    struct probed *probed = alloc_zeroed(1, sizeof(*probed));
    uint64_t here = 0;
    open_world(&world);
    probed->world = &world;
    probed->last = (uint64_t)(uintptr_t)&here;
    recurse(probed, 20, "text");
    assert_int_equal(probed->end, C_ROOT);
    const struct c_frame *last = &probed->frames[probed->count - 1];
    assert_true(last->sp <= probed->last && probed->last < last->cfa); /* this function's */
    const size_t whole = probed->count;
    probed->last = 0;
    probed->forget = COPIED;
    recurse(probed, 20, "text");
    assert_true(probed->end == C_CUT && probed->count < whole);
    free(probed);
    close_world(&world);
}

static void functions_have_their_names(void **state)
{
    (void)state;
    struct world world;
    struct probed *probed = alloc_zeroed(1, sizeof(*probed));
    open_world(&world);
    probed->world = &world;
    recurse(probed, 3, "text");
    bool sorts = false, recurses = false;
    for (size_t i = 0; i < probed->count; i++) {
        const uint32_t frame = code_map_frame(&world.map, probed->frames[i].code);
        const struct frame *row = &world.definitions.frames.rows[frame].frame;
        const struct function *function = &world.definitions.functions.rows[row->function].function;
        const struct text name = world.definitions.strings.rows[function->name].text;
        assert_int_equal(function->kind, KIND_NATIVE);
        sorts |= text_begins(name, TEXT("qsort"));
        recurses |= text_begins(name, TEXT("recurse"));
        if (i > 0)
            assert_true(row->address > 0 && function->module > 0);
    }
    assert_true(sorts && recurses);
    free(probed);
    close_world(&world);
}
#endif

#if READS
/* ---- rules ---- */

static int exported(const char *name, uint64_t *address)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    *address = (uint64_t)(uintptr_t)symbol;
    return symbol != NULL;
}

/* At the first instruction of a function, the frame ends behind the return address. */
static void rules_begin_with_functions(void **state)
{
    (void)state;
    static const char *const names[] = { "qsort", "printf", "fopen", "getenv", "strtol", "realpath", "glob", "free" };
    struct world world;
    open_world(&world);
    for (size_t i = 0; i < countof(names); i++) {
        uint64_t address;
        assert_true(exported(names[i], &address));
        const struct code_place *place = code_map_find(&world.map, address);
        assert_true(place->in_module && place->ruled);
        const uint64_t bias = world.map.modules[place->module].image.bias;
        assert_int_equal(place->rule.function, address - bias);
        assert_int_equal(place->rule.begin, address - bias);
        assert_true(place->rule.end > place->rule.begin);
        assert_int_equal(place->rule.cfa, CFA_REGISTER);
        assert_int_equal(place->rule.cfa_register, CFI_RSP);
        assert_int_equal(place->rule.cfa_offset, 8);
        assert_int_equal(place->rule.base[CFI_RETURN], CFI_AT_CFA);
        assert_int_equal(place->rule.offset[CFI_RETURN], -8);
    }
    const struct code_place *nowhere = code_map_find(&world.map, 8);
    assert_false(nowhere->in_module || nowhere->ruled);
    close_world(&world);
}

/* ---- tables of methods ---- */

/* As PyMethodDef, and what PyModuleDef and PyTypeObject have before the address of such a table. */
struct row {
    const char *name;
    int (*function)(void);
    int64_t flags;
    const char *documentation;
};

static int first(void)
{
    return 1;
}

static int second(void)
{
    return 2;
}

static int third(void)
{
    return 3;
}

static struct row of_module[] = { { "sorted", first, 2, "sorts" },
                                  { "repr", second, 8, NULL },
                                  { NULL, NULL, 0, NULL } };
static struct row of_type[] = { { "append", third, 0x80, "appends" }, { NULL, NULL, 0, NULL } };

static struct {
    int64_t references;
    void *words[4];
    const char *name, *documentation;
    int64_t size;
    struct row *methods;
} volatile module = { 1, { NULL }, "builtins", "", -1, of_module };

/* A type, behind a table of somebody else that refers to its methods, too. */
static struct {
    const char *texts[24];
    int64_t words[2];
    struct row *methods;
    struct {
        int64_t references;
        void *kind;
        int64_t items;
        const char *name;
        int64_t size, words[24];
        struct row *methods;
    } type;
} volatile types = {
    { "D", "E", [23] = "W" }, { 0 }, of_type, { 1, NULL, 0, "collections.deque", 200, { 0 }, of_type }
};

static void assert_method(const struct world *world, int (*function)(void), const char *wanted)
{
    char name[METHOD_NAME_MAX];
    const uint64_t address = (uint64_t)(uintptr_t)function;
    for (size_t i = 0; i < world->map.modules_count; i++) {
        const struct code_module *m = &world->map.modules[i];
        if (address - m->low >= m->high - m->low)
            continue;
        assert_true(methods_name(&m->methods, &m->image, address - m->image.bias, name));
        assert_string_equal(name, wanted);
        return;
    }
    fail_msg("no module has %s", wanted);
}

static void python_has_names_for_c_functions(void **state)
{
    (void)state;
    struct world world;
    assert_int_equal(module.methods[0].function() + types.type.methods[0].function(), 4);
    open_world(&world);
    code_map_find(&world.map, (uint64_t)(uintptr_t)first);
    assert_method(&world, first, "builtins.sorted");
    assert_method(&world, second, "builtins.repr");
    assert_method(&world, third, "deque.append");
    close_world(&world);
}

#endif

/* ---- symbols ---- */

static void a_file_that_is_none_has_no_symbols(void **state)
{
    (void)state;
    struct symbols symbols;
    const int file = memfd_create("none", MFD_CLOEXEC);
    symbols_read(&symbols, file, -1);
    assert_int_equal(symbols.count, 0);
    assert_null(symbols_find(&symbols, 0x1000));
    symbols_free(&symbols);
    close(file);
}

TEST_FILE(c_stack)
{
    static const struct CMUnitTest tests[] = {
#if UNWINDS
        cmocka_unit_test(unwinds_as_the_compiler_does),
        cmocka_unit_test(ends_where_it_is_told_and_where_the_copy_ends),
        cmocka_unit_test(functions_have_their_names),
#endif
#if READS
        cmocka_unit_test(rules_begin_with_functions),
        cmocka_unit_test(python_has_names_for_c_functions),
#endif
        cmocka_unit_test(a_file_that_is_none_has_no_symbols),
    };
    return run_all(tests);
}
