/* SPDX-License-Identifier: MIT */
#include "record/python/target.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

static uint64_t add_interpreter(struct fake_python *p, uint64_t id)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t head = p->target.runtime.address + l->runtime_interpreters_head,
                   address = fake_room(p, FAKE_INTERPRETER);
    fake_poke(p, address + l->interpreter_next, fake_peek(p, head));
    fake_poke(p, address + l->interpreter_id, id);
    fake_poke(p, address + l->interpreter_threads_head, 0x1000 + id);
    fake_poke(p, head, address);
    return address;
}

static void drop_newest(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t head = p->target.runtime.address + l->runtime_interpreters_head;
    fake_poke(p, head, fake_peek(p, fake_peek(p, head) + l->interpreter_next));
}

static uint64_t calls_of_reading(struct fake_python *p, size_t count)
{
    const uint64_t calls = p->target.remote.calls;
    assert_int_equal(target_read_interpreters(&p->target), REMOTE_READ);
    assert_int_equal(p->target.interpreters_count, count);
    return p->target.remote.calls - calls;
}

static void reads_the_list_of_interpreters(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct fake_python *p = fake_python_start(fake_versions[v]);
        calls_of_reading(p, 1);
        assert_int_equal(p->target.interpreters[0].address, p->interpreter);
        assert_int_equal(p->target.interpreters[0].threads_head, p->threads[0].address);
        /* As it was: one call, and since 3.12 one for where their locks are. */
        const uint64_t few = fake_layout(p)->interpreter_gil ? 2 : 1;
        assert_int_equal(calls_of_reading(p, 1), few);
        const uint64_t second = add_interpreter(p, 1), third = add_interpreter(p, 2);
        calls_of_reading(p, 3);
        assert_true(calls_of_reading(p, 3) <= few + 2);
        assert_int_equal(p->target.interpreters[0].address, third);
        assert_int_equal(p->target.interpreters[0].id, 2);
        assert_int_equal(p->target.interpreters[0].threads_head, 0x1002);
        assert_int_equal(p->target.interpreters[1].address, second);
        assert_int_equal(p->target.interpreters[2].address, p->interpreter);
        drop_newest(p);
        calls_of_reading(p, 2);
        assert_int_equal(p->target.interpreters[0].address, second);
        drop_newest(p);
        drop_newest(p);
        calls_of_reading(p, 0);
        fake_python_end(p);
    }
}

static void many_interpreters_are_read(void **state)
{
    (void)state;
    struct fake_python *p = fake_python_start(0x030f02f0);
    for (uint64_t id = 1; id < 80; id++)
        add_interpreter(p, id);
    calls_of_reading(p, 80);
    assert_int_equal(p->target.interpreters[79].id, 0);
    assert_int_equal(p->target.interpreters[0].id, 79);
    fake_python_end(p);
}

static void a_ring_of_interpreters_is_left(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct fake_python *p = fake_python_start(fake_versions[v]);
        const struct layout *l = &p->target.runtime.layout;
        fake_poke(p, p->interpreter + l->interpreter_next, p->interpreter);
        assert_int_equal(target_read_interpreters(&p->target), REMOTE_UNREADABLE);
        assert_true(p->target.remote.calls < 1000);
        fake_poke(p, p->interpreter + l->interpreter_next, 0x40);
        assert_int_not_equal(target_read_interpreters(&p->target), REMOTE_READ);
        fake_poke(p, p->interpreter + l->interpreter_next, 0);
        calls_of_reading(p, 1);
        /* A ring in front of the main one, which the runtime names. */
        fake_poke(p, p->target.runtime.address + l->runtime_interpreters_head + 8, p->interpreter);
        const uint64_t older = add_interpreter(p, 1), newer = add_interpreter(p, 2);
        fake_poke(p, older + l->interpreter_next, newer);
        assert_int_equal(target_read_interpreters(&p->target), REMOTE_UNREADABLE);
        fake_python_end(p);
    }
}

static bool read_state(struct fake_python *p)
{
    static struct batch batch;
    size_t good;
    batch.count = 0;
    assert_true(target_plan(&p->target, &batch));
    remote_read_pieces(&p->target.remote, batch.pieces, batch.count, &good);
    return target_came(&p->target, good) && target_check(&p->target);
}

static void read_states_without_a_lock(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const struct interpreter *interpreter = &p->target.interpreters[0];
    assert_false(interpreter->gil.known);
    const uint64_t generation = interpreter->generation;
    fake_code(p, "f", 1, 1);
    assert_true(read_state(p));
    assert_int_equal(interpreter->generation, generation + (l->interpreter_code_generation != 0));
    assert_int_equal(interpreter->generation != 0, l->interpreter_code_generation != 0);
    if (!l->interpreter_copies_generation)
        return;
    fake_poke4(p, p->interpreter + l->interpreter_copies_generation, 3);
    assert_true(read_state(p));
    assert_int_equal(interpreter->generation, generation + 1 + 3);
    fake_remote_hide(p->interpreter + l->interpreter_copies_generation, 4);
    assert_false(read_state(p));
    fake_remote_hide(0, 0);
}

/* The state of the interpreters comes with the threads, in the same call. */
static void read_states(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    calls_of_reading(p, 1);
    const struct interpreter *interpreter = &p->target.interpreters[0];
    assert_false(interpreter->gil.known);
    assert_true(read_state(p));
    if (l->free_threaded) {
        read_states_without_a_lock(p);
        return;
    }
    assert_true(interpreter->gil.known && interpreter->gil.locked && !interpreter->gil.shared);
    assert_int_equal(interpreter->gil.holder, p->threads[0].address);
    const uint64_t switches = interpreter->gil.switches, generation = interpreter->generation;
    const size_t second = fake_thread(p, 4712);
    fake_take_lock(p, second);
    fake_code(p, "f", 1, 1);
    assert_false(read_state(p)); /* there is another thread */
    assert_int_equal(interpreter->gil.holder, p->threads[second].address);
    assert_int_equal(interpreter->gil.switches, switches + 1);
    assert_int_equal(interpreter->generation, generation + (l->interpreter_code_generation != 0));
    calls_of_reading(p, 1);
    assert_true(read_state(p));
    add_interpreter(p, 1); /* whose lock is not known, but in 3.11 */
    calls_of_reading(p, 2);
    assert_true(read_state(p));
    assert_true(p->target.interpreters[1].gil.shared);
    assert_int_equal(p->target.interpreters[0].gil.known, l->runtime_gil != 0);
    if (l->interpreter_gil) {
        fake_poke(p, p->target.interpreters[0].address + l->interpreter_gil,
                  fake_peek(p, p->interpreter + l->interpreter_gil));
        p->target.interpreters_count = 0;
        calls_of_reading(p, 2);
        assert_true(read_state(p));
        assert_true(p->target.interpreters[0].gil.shared && p->target.interpreters[1].gil.shared);
        assert_int_equal(p->target.interpreters[0].gil.holder, p->threads[second].address);
    }
    fake_remote_hide(p->interpreter, 8000);
    assert_false(read_state(p));
    fake_remote_hide(0, 0);
    drop_newest(p);
    assert_true(read_state(p)); /* the head of the list is not among what is read */
    calls_of_reading(p, 1);
}
EACH_VERSION(the_lock_is_read_with_the_interpreters, read_states);

static void says_when_the_process_is_gone(void **state)
{
    (void)state;
    struct fake_python *p = fake_python_start(0x030d00f0);
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(target_read_interpreters(&p->target), REMOTE_GONE);
    fake_remote_answer(REMOTE_DENIED);
    assert_int_equal(target_read_interpreters(&p->target), REMOTE_DENIED);
    fake_remote_answer(REMOTE_READ);
    calls_of_reading(p, 1);
    fake_remote_unmap(FAKE_BASE);
    assert_int_equal(target_read_interpreters(&p->target), REMOTE_UNREADABLE);
    fake_python_end(p);
}

static void closing_is_safe_at_any_time(void **state)
{
    (void)state;
    struct target target = { 0 };
    struct fault why = { 0 };
    target_close(&target);
    target_close(&target);
    fake_remote_reset();
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(target_open(&target, 4711, &why), TARGET_GONE);
    fake_remote_answer(REMOTE_DENIED);
    assert_int_equal(target_open(&target, 4711, &why), TARGET_DENIED);
    target_close(&target);
    fake_remote_reset();
}

/* The target reads the newest interpreters and the main one when there are too many. */
static void the_main_interpreter_is_never_cut(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct fake_python *p = fake_python_start(fake_versions[v]);
        const uint64_t head = p->target.runtime.address + fake_layout(p)->runtime_interpreters_head;
        fake_poke(p, head + 8, p->interpreter);
        uint64_t newest = 0;
        for (uint64_t id = 1; id < TARGET_INTERPRETERS; id++)
            newest = add_interpreter(p, id);
        calls_of_reading(p, TARGET_INTERPRETERS);
        assert_false(p->target.interpreters_cut);
        for (uint64_t id = TARGET_INTERPRETERS; id < TARGET_INTERPRETERS + 50; id++)
            newest = add_interpreter(p, id);
        for (int again = 0; again < 2; again++) {
            calls_of_reading(p, TARGET_INTERPRETERS);
            assert_true(p->target.interpreters_cut);
            assert_int_equal(p->target.interpreters[0].address, newest);
            assert_int_equal(p->target.interpreters[TARGET_INTERPRETERS - 1].address, p->interpreter);
            struct batch batch = { .count = 0 };
            size_t good = 0;
            assert_true(target_plan(&p->target, &batch));
            remote_read_pieces(&p->target.remote, batch.pieces, batch.count, &good);
            assert_true(target_came(&p->target, good) && target_check(&p->target));
        }
        fake_python_end(p);
    }
}

TEST_FILE(target)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_list_of_interpreters), cmocka_unit_test(the_main_interpreter_is_never_cut),
        cmocka_unit_test(many_interpreters_are_read),     cmocka_unit_test(the_lock_is_read_with_the_interpreters),
        cmocka_unit_test(a_ring_of_interpreters_is_left), cmocka_unit_test(says_when_the_process_is_gone),
        cmocka_unit_test(closing_is_safe_at_any_time),
    };
    return run_all(tests);
}
