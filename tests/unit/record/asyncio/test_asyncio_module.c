/* SPDX-License-Identifier: MIT */
/* The module _asyncio before CPython 3.14: what it must have to be believed. */
#include "record/asyncio/asyncio_module.h"

#include "tests/fakes/fake_asyncio.h"
#include "tests/fakes/fake_names.h"
#include "tests/fakes/testing.h"

static const char *const keys[] = { "Future", "Task", "_current_tasks", "_scheduled_tasks", "_eager_tasks" };
enum { FUTURE, TASK, CURRENT, SCHEDULED, EAGER, KEYS };

/* A module as the version has it. */
struct scene {
    struct fake_names names;
    uint64_t values[KEYS], set, dict;
};

static struct scene scene(struct fake_asyncio *a)
{
    const struct layout *l = fake_layout(a->p);
    struct scene s = { .names = fake_names_make(a->p, 3), .set = a->asyncio.tasks.module.tasks };
    const char *const data = "data";
    s.values[FUTURE] = a->future_type;
    s.values[TASK] = a->task_type;
    s.values[CURRENT] = a->asyncio.tasks.module.current;
    s.values[EAGER] = s.set;
    s.values[SCHEDULED] = fake_names_object(a->p, &s.names, fake_names_dict(a->p, &s.names, &data, &s.set, 1));
    s.dict = fake_names_dict(a->p, &s.names, keys, s.values, KEYS);
    fake_names_module(a->p, &s.names, "_asyncio", s.dict);
    fake_poke(a->p, a->future_type + l->type_basic_size, l->future_size);
    fake_poke(a->p, a->task_type + l->type_flags + 40, (uint64_t)(int64_t)l->task_weak_references);
    assert_int_equal(target_read_interpreters(&a->p->target), REMOTE_READ);
    return s;
}

static bool find(struct fake_asyncio *a, struct asyncio_module *module, struct fault *why)
{
    *why = (struct fault){ 0 };
    return asyncio_module_find(module, &a->p->target, why);
}

static void find_all(struct fake_asyncio *a)
{
    struct asyncio_module module;
    struct fault why = { 0 };
    assert_false(find(a, &module, &why)); /* not imported */
    assert_string_equal(why.text, "");
    const struct scene s = scene(a);
    assert_true(find(a, &module, &why));
    assert_true(module.task_type == a->task_type && module.future_type == a->future_type);
    assert_true(module.current == s.values[CURRENT] && module.tasks == s.set && module.eager == s.set);
    assert_true(module.interpreter == a->p->interpreter);
}
EACH_OLDER(ASYNC_ALL, what_the_module_has_is_found, find_all);

static void refuse(struct fake_asyncio *a)
{
    const struct layout *l = fake_layout(a->p);
    struct asyncio_module module;
    struct fault why;
    scene(a);
    const struct {
        uint64_t at, value;
        const char *says;
    } tries[] = {
        { a->task_type + l->type_basic_size, 184, "_asyncio.Task has 184 bytes" },
        { a->future_type + l->type_basic_size, 8, "is not the one of this version" },
        { a->task_type + l->type_flags + 40, 120, "is not the one of this version" },
        { a->task_type + l->type_flags + 88, a->int_type, "is not the one of this version" },
        { a->task_type + l->type_name, fake_peek(a->p, a->future_type + l->type_name), "is not the one of the module" },
        { a->task_type + l->type_name, 0x7000, "" }, /* cannot be read: searched again */
    };
    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        const uint64_t before = fake_peek(a->p, tries[i].at);
        assert_true(find(a, &module, &why));
        fake_poke(a->p, tries[i].at, tries[i].value);
        if (find(a, &module, &why) || !strstr(why.text, tries[i].says) || (why.text[0] && !*tries[i].says))
            fail_msg("Python %x, try %zu: '%s'", l->version, i, why.text);
        fake_poke(a->p, tries[i].at, before);
    }
}
EACH_OLDER(ASYNC_ALL, another_module_is_refused_by_name, refuse);

TEST_FILE(asyncio_module)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_module_has_is_found),
        cmocka_unit_test(another_module_is_refused_by_name),
    };
    return run_all(tests);
}
