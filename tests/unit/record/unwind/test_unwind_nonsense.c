/* SPDX-License-Identifier: MIT */
/* Memory that makes no sense, and memory that is not there: it costs this thread its sample, and no more. */
#include "record/unwind/unwind.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

static const uint64_t nonsense[] = {
    0x1,
    0x8,
    0x1000,
    FAKE_BASE - 8,
    FAKE_BASE + FAKE_SIZE - 8,
    FAKE_BASE + FAKE_SIZE,
    UINT64_MAX,
    UINT64_MAX - 7,
    INT64_MAX,
    0xDDDDDDDDDDDDDDDD,
    FAKE_BASE + 3,
    (uint64_t)1 << 63,
};

/* Every word of the thread, its chunk and an off-stack frame, each with every kind of nonsense. */
static void poke_nonsense(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t f = fake_code(p, "f", 20, 9);
    const struct fake_frame frames[] = { { PLAIN, f, 1 }, { GENERATOR, f, 2 }, { PLAIN, f, 3 } };
    const struct {
        uint64_t address;
        size_t size;
    } areas[] = {
        { p->threads[0].address, l->thread_size },
        { p->threads[0].chunks[0], l->chunk_data + 400 },
        { p->threads[0].off_stack[1], l->frame_size + 48 },
        { f, l->code_instructions + 16 },
        { p->threads[0].cframe ? p->threads[0].cframe : p->threads[0].address, 16 },
        { p->interpreter + (l->interpreter_code_generation & ~7u), 8 },
    };
    fake_stack(p, 0, frames, 3);
    for (size_t a = 0; a < countof(areas); a++) {
        for (uint64_t at = areas[a].address; at < areas[a].address + areas[a].size; at += 8) {
            for (size_t n = 0; n < countof(nonsense); n++) {
                const uint64_t was = fake_peek(p, at);
                fake_poke(p, at, nonsense[n]);
                fake_bounded_sample(p);
                fake_poke(p, at, was);
                if (n % 3)
                    continue;
                const char *after = fake_bounded_sample(p);
                if (strcmp(after, "f:21 f:22 f:23") != 0)
                    fail_msg("Python %x: '%s' after word %zu of area %zu was mended", l->version, after,
                             (size_t)(at - areas[a].address) / 8, a);
            }
        }
    }
}

static void poke_with_instructions(struct fake_python *p)
{
    p->codes.instructions = true;
    poke_nonsense(p);
}

static void nonsense_is_read_without_harm(void **state)
{
    (void)state;
    fake_each_version(poke_nonsense);
    fake_each_version(poke_with_instructions);
}

/* A ring has no end, or the plan has a frame of it already. */
static void assert_ring(struct fake_python *p)
{
    const char *seen = fake_bounded_sample(p);
    if (p->threads[0].state != UNWIND_FAILED)
        fail_msg("Python %x: '%s'", fake_layout(p)->version, seen);
}

static void chase_frames(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t f = fake_code(p, "f", 20, 9);
    const struct fake_frame frames[] = { { PLAIN, f, 1 }, { GENERATOR, f, 2 }, { GENERATOR, f, 2 }, { PLAIN, f, 3 } };
    fake_stack(p, 0, frames, 4);
    fake_poke(p, fake_frame_address(p, 0, 0) + l->frame_previous, fake_frame_address(p, 0, 3));
    assert_ring(p);
    fake_stack(p, 0, frames, 4);
    fake_poke(p, p->threads[0].off_stack[1] + l->frame_previous, p->threads[0].off_stack[1]);
    assert_ring(p);
    fake_stack(p, 0, frames, 4);
    fake_poke(p, p->threads[0].off_stack[1] + l->frame_previous, p->threads[0].off_stack[2]);
    assert_ring(p);
    /* A ring of entry shims has no frames to count. */
    *fake_bytes(p, p->threads[0].off_stack[1] + l->frame_owner) = *fake_bytes(p, p->threads[0].off_stack[2] +
                                                                                     l->frame_owner) = 3;
    assert_ring(p);
    fake_stack(p, 0, frames, 4);
    fake_assert_seen(p, "f:21 f:22 f:22 f:23");
}

/* A stack does not begin with a generator while there are other frames. */
static void lose_the_caller(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_generator(p, "gen", 40, 9);
    const struct fake_frame frames[] = { { PLAIN, f, 1 }, { GENERATOR, g, 2 }, { GENERATOR, g, 3 } };
    fake_stack(p, 0, frames, 3);
    fake_assert_seen(p, "f:21 gen:42 gen:43");
    fake_poke(p, p->threads[0].off_stack[1] + l->frame_previous, 0);
    fake_assert_seen(p, l->root_is_shim ? "failed: changed while read" : "gen:42 gen:43");
}
EACH_VERSION(a_generator_is_no_root, lose_the_caller);

EACH_VERSION(a_ring_of_frames_is_left, chase_frames);

static void chase_chunks(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t f = fake_code(p, "f", 20, 9), chunk = p->threads[0].chunks[0];
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    fake_poke(p, chunk + l->chunk_previous, chunk);
    fake_bounded_sample(p);
    assert_int_not_equal(p->threads[0].state, UNWIND_DONE);
    /* Two thousand of them, each as large as may be: more than we would read. */
    uint64_t older = 0;
    for (int i = 0; i < 2000; i++) {
        const uint64_t next = fake_room(p, 64);
        fake_poke(p, next + l->chunk_previous, older);
        fake_poke(p, next + l->chunk_size, 16 << 20);
        fake_poke(p, next + l->chunk_top, (16 << 20) / 8 - 3);
        older = next;
    }
    fake_poke(p, chunk + l->chunk_previous, older);
    fake_bounded_sample(p);
    assert_int_not_equal(p->threads[0].state, UNWIND_DONE);
    fake_poke(p, chunk + l->chunk_previous, 0);
    fake_assert_seen(p, "f:21");
}
EACH_VERSION(a_ring_of_chunks_is_left, chase_chunks);

/* The root must be where roots are; a walk that stops on the way was torn. What 3.11 has at the end of its stacks can't
 * be told from any other frame. */
static void lose_the_root(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_generator(p, "gen", 20, 9);
    const struct fake_frame plain[] = { { PLAIN, f, 1 }, { PLAIN, f, 2 }, { PLAIN, f, 3 } };
    const struct fake_frame frames[] = { { PLAIN, f, 1 }, { GENERATOR, g, 2 }, { PLAIN, f, 3 } };
    for (size_t n = 0; n < 3 && l->root_is_shim; n++) {
        fake_stack(p, 0, plain, 3);
        fake_poke(p, fake_frame_address(p, 0, n) + l->frame_previous, 0);
        fake_assert_seen(p, "failed: changed while read");
    }
    fake_stack(p, 0, frames, 3);
    fake_poke(p, p->threads[0].off_stack[1] + l->frame_previous, 0);
    if (l->root_is_shim)
        fake_assert_seen(p, "failed: changed while read");
    fake_stack(p, 0, frames, 3);
    *fake_bytes(p, p->threads[0].off_stack[1] + l->frame_owner) = 2; /* it has left its stack */
    fake_assert_seen(p, "failed: changed while read");
    fake_stack(p, 0, frames, 3);
    fake_poke(p, p->threads[0].off_stack[1] + l->frame_executable, 0); /* it is being cleared */
    fake_assert_seen(p, "failed: changed while read");
    fake_stack(p, 0, frames, 3);
    fake_assert_seen(p, "f:21 gen:22 f:23");
}
EACH_VERSION(a_stack_without_its_root_is_torn, lose_the_root);

static void take_memory_away(struct fake_python *p)
{
    const struct layout *l = &p->target.runtime.layout;
    static unsigned char far[256];
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_generator(p, "gen", 20, 9), away = 0x5550000000;
    const struct fake_frame frames[] = { { PLAIN, f, 1 }, { GENERATOR, g, 2 }, { PLAIN, f, 3 } };
    fake_stack(p, 0, frames, 3);
    memcpy(far, fake_bytes(p, p->threads[0].off_stack[1]), 128);
    fake_remote_map(away, far, sizeof(far));
    fake_poke(p, fake_frame_address(p, 0, 2) + l->frame_previous, away);
    fake_poke(p, fake_frame_address(p, 0, 0) + l->frame_locals + FAKE_LOCALS * 8, away - l->generator_frame);
    fake_assert_seen(p, "f:21 gen:22 f:23");
    fake_remote_unmap(away); /* the generator is gone, and what called it went on */
    fake_stack(p, 0, frames, 1);
    fake_assert_seen(p, "f:21");
    fake_stack(p, 0, frames, 3);
    fake_assert_seen(p, "f:21 gen:22 f:23");
}
EACH_VERSION(memory_that_goes_away_is_forgotten, take_memory_away);

TEST_FILE(unwind_nonsense)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_read_without_harm),    cmocka_unit_test(a_generator_is_no_root),
        cmocka_unit_test(a_ring_of_frames_is_left),         cmocka_unit_test(a_ring_of_chunks_is_left),
        cmocka_unit_test(a_stack_without_its_root_is_torn), cmocka_unit_test(memory_that_goes_away_is_forgotten),
    };
    return run_all(tests);
}
