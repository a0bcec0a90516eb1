/* SPDX-License-Identifier: MIT */
/* Stacks with thousands of frames outside the data stack: they are read as a whole, and what is remembered
 * of them never spoils the next look. */
#include "record/unwind/snapshot.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

#define FAR_AT 0x670000000000u

/* Generators that drive each other. The n-th one from the root lies at place n * stride % count of its memory. */
struct far {
    uint32_t count, step, stride; /* generators; bytes from one place to the next */
    uint64_t at;
    unsigned char *bytes;
};

static size_t far_size(const struct far *far)
{
    return ((size_t)far->count * far->step + 4095) & ~(size_t)4095;
}

/* Puts the generators below a function of the thread. */
static void far_show(struct fake_python *p, size_t thread, struct far *far)
{
    const struct layout *l = fake_layout(p);
    static uint64_t m, gen;
    m = fake_code(p, "m", 1, 9);
    gen = fake_generator(p, "gen", 60, 9);
    fake_stack(p, thread, (struct fake_frame[]){ { PLAIN, m, FAKE_DRIVE }, { GENERATOR, gen, FAKE_DRIVE } }, 2);
    uint64_t previous = fake_frame_address(p, thread, 0), caller = 0;
    const unsigned char *like = fake_bytes(p, fake_frame_address(p, thread, 1));
    far->bytes = alloc_zeroed(far_size(far), 1);
    for (uint64_t n = 0; n < far->count; n++) {
        const uint64_t place = n * far->stride % far->count * far->step;
        memcpy(far->bytes + place, like, l->frame_size);
        memcpy(far->bytes + place + l->frame_previous, &previous, 8);
        caller = previous;
        previous = far->at + place;
    }
    fake_remote_map(far->at, far->bytes, far_size(far));
    fake_poke(p, fake_leaf_at(p, thread), previous);
    if (l->frame_entry) /* C code drives each generator, and has noted the caller */
        fake_poke(p, p->threads[thread].caller_cframe + l->cframe_current_frame, caller);
}

static void far_forget(struct far *far)
{
    fake_remote_unmap(far->at);
    free(far->bytes);
}

static void show_flat(struct fake_python *p, size_t thread)
{
    fake_stack(p, thread, (struct fake_frame[]){ { PLAIN, fake_code(p, "flat", 20, 9), 2 } }, 1);
}

static void assert_depth_of(struct fake_python *p, size_t thread, uint32_t depth)
{
    fake_sample(p, thread);
    const struct fake_thread *t = &p->threads[thread];
    if (t->state != UNWIND_DONE || t->walk.depth != depth)
        fail_msg("Python %x, thread %zu: state %d, cause %d, %u frames in place of %u", fake_layout(p)->version, thread,
                 t->state, t->unwound.cause, t->walk.depth, depth);
}

static const struct far rows[] = {
    { 300, 512, 1, FAR_AT, NULL },    { 385, 4096, 1, FAR_AT, NULL },    { 1000, 2048, 7, FAR_AT, NULL },
    { 5000, 512, 1, FAR_AT, NULL },   { 5000, 512, 4999, FAR_AT, NULL }, { 9001, 4096, 77, FAR_AT, NULL },
    { 20000, 640, 17, FAR_AT, NULL }, { 32000, 512, 1, FAR_AT, NULL },
};

static uint64_t calls_for(struct fake_python *p, uint32_t depth)
{
    const uint64_t calls = p->target.remote.calls;
    assert_depth_of(p, 0, depth);
    return p->target.remote.calls - calls;
}

static void dive(struct fake_python *p)
{
    for (size_t i = 0; i < countof(rows); i++) {
        struct far far = rows[i];
        far_show(p, 0, &far);
        const uint64_t first = calls_for(p, far.count + 1), second = calls_for(p, far.count + 1);
        const bool in_order = far.stride == 1 || far.stride == far.count - 1;
        if (first > far.count + 20u || second > 4 + far.count / 512 || (in_order && far.step == 512 && first > 600))
            fail_msg("Python %x: %u frames took %lu calls, and %lu calls, %u attempts", fake_layout(p)->version,
                     far.count, first, second, p->threads[0].attempts);
        assert_int_equal(calls_for(p, far.count + 1), second);
        show_flat(p, 0);
        assert_depth_of(p, 0, 1);
        far_forget(&far);
        assert_depth_of(p, 0, 1);
        assert_in_range(p->threads[0].attempts, 1, 2);
    }
}
EACH_VERSION(thousands_of_generators_are_read, dive);

/* Whatever becomes of the deep moment, the look behind it is right. */
static void surface(struct fake_python *p)
{
    for (int gone = 0; gone < 2; gone++) {
        for (size_t i = 0; i < countof(rows) && rows[i].count < 10000; i++) {
            struct far far = rows[i];
            far_show(p, 0, &far);
            fake_sample(p, 0);
            fake_sample(p, 0);
            show_flat(p, 0);
            if (gone)
                far_forget(&far);
            assert_depth_of(p, 0, 1);
            if (!gone)
                far_forget(&far);
        }
    }
}
EACH_VERSION(one_deep_moment_blinds_no_look, surface);

/* Other generators take the place of those that were read, whose memory is given back. */
static void move_away(struct fake_python *p)
{
    for (uint64_t i = 0; i < 3; i++) {
        struct far far = { 3000, 4096, 13, FAR_AT + i * 0x10000000, NULL };
        far_show(p, 0, &far);
        assert_depth_of(p, 0, 3001);
        assert_depth_of(p, 0, 3001);
        far_forget(&far);
    }
}
EACH_VERSION(generators_that_are_gone_are_forgotten_at_once, move_away);

static void drown(struct fake_python *p)
{
    struct far far = { 40000, 512, 1, FAR_AT, NULL };
    far_show(p, 0, &far);
    for (int i = 0; i < 3; i++) {
        const uint64_t calls = p->target.remote.calls;
        fake_sample(p, 0);
        assert_int_equal(p->threads[0].state, UNWIND_FAILED);
        assert_int_equal(p->threads[0].unwound.cause, FAILURE_DEPTH);
        assert_true(p->target.remote.calls - calls < 2000);
        assert_int_equal(p->threads[0].walk.snapshot.copy_room, 0);
    }
    show_flat(p, 0);
    assert_depth_of(p, 0, 1);
    far_forget(&far);
}
EACH_VERSION(a_stack_beyond_the_limit_fails_with_its_cause, drown);

/* A look may be too short for the frames of many threads. The next one goes on where it ended. */
static void go_on(struct fake_python *p)
{
    struct wanted wanted[FAKE_THREADS] = { 0 };
    struct far far = { 5000, 4096, 77, FAR_AT, NULL };
    far_show(p, 0, &far);
    fake_sample(p, 0);
    walk_free(&p->threads[0].walk);
    for (int look = 0; look < 6; look++) {
        bool same;
        for (size_t i = 0; i < 40; i++) /* the last 39 are elsewhere: only the first one is a thread */
            wanted[i] = (struct wanted){ .walk = &p->threads[i].walk, .thread = p->threads[i ? 1 : 0].address };
        assert_true(unwind_threads(&p->unwinder, wanted, 40, 1000000000, &same));
        if (wanted[0].state == UNWIND_DONE)
            break;
        assert_int_equal(wanted[0].unwound.cause, FAILURE_DEPTH);
    }
    assert_int_equal(wanted[0].state, UNWIND_DONE);
    assert_int_equal(p->threads[0].walk.depth, 5001);
    for (size_t i = 1; i < 40; i++)
        walk_free(&p->threads[i].walk);
    far_forget(&far);
}
EACH_VERSION(a_look_goes_on_where_the_last_one_ended, go_on);

/* What threads once needed does not take the memory from the one that needs some now. */
static void memory_is_given_back(void **state)
{
    (void)state;
    struct fake_python *p = fake_python_start(fake_versions[2]);
    while (p->threads_count < FAKE_THREADS)
        fake_thread(p, (uint32_t)p->threads_count + 1);
    for (size_t i = 0; i < FAKE_THREADS; i++) {
        struct far far = { 20000, 640, 1, FAR_AT, NULL };
        far_show(p, i, &far);
        for (int k = 0; k < 3; k++)
            assert_depth_of(p, i, 20001);
        show_flat(p, i);
        assert_depth_of(p, i, 1);
        far_forget(&far);
    }
    fake_python_end(p);
}

TEST_FILE(far_down)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_generators_are_read),
        cmocka_unit_test(one_deep_moment_blinds_no_look),
        cmocka_unit_test(generators_that_are_gone_are_forgotten_at_once),
        cmocka_unit_test(a_stack_beyond_the_limit_fails_with_its_cause),
        cmocka_unit_test(a_look_goes_on_where_the_last_one_ended),
        cmocka_unit_test(memory_is_given_back),
    };
    return run_all(tests);
}
