/* SPDX-License-Identifier: MIT */
/* Frames outside the data stack: which are read, and how. */
#include "record/snapshot.h"

#include "tests/fake_python.h"
#include "tests/testing.h"

static const struct stray *stray_at(struct fake_python *p, uint64_t frame)
{
    const struct snapshot *s = &p->threads[0].walk.snapshot;
    size_t i = 0;
    while (i < s->strays_count && s->strays[i].frame != frame)
        i++;
    assert_true(i < s->strays_count);
    return &s->strays[i];
}

static void lie_together(struct fake_python *p)
{
    const uint64_t m = fake_code(p, "m", 1, 9), gen = fake_code(p, "gen", 60, 9);
    const struct fake_frame frames[] = { { PLAIN, m, 1 }, { GENERATOR, gen, 2 }, { GENERATOR, gen, 3 } };
    for (int far = 0; far < 2; far++) {
        p->threads[0].strays[2] = p->threads[0].strays[1] + 240 + (far ? 3 * 4096 : 0);
        fake_stack(p, 0, frames, 3);
        for (int i = 0; i < 5; i++)
            fake_assert_seen(p, "m:2 gen:62 gen:63");
        const struct stray *first = stray_at(p, p->threads[0].strays[1]);
        const struct stray *second = stray_at(p, p->threads[0].strays[2]);
        assert_true(first->span >= first->size);
        assert_int_equal(second->span == 0, !far);
        assert_true(far || second->at - first->at == 240);
    }
}

static void frames_that_lie_together_are_one_piece(void **state)
{
    (void)state;
    fake_each_version(lie_together);
}

/* What is left of a frame leads to something that is no frame. */
static void lead_astray(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const uint64_t f = fake_code(p, "f", 20, 9), nothing = fake_room(p, 256);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 }, { PLAIN, f, 2 } }, 2);
    fake_assert_depth(p, 2);
    fake_poke(p, nothing + (l->frame_owner & ~7u), UINT64_MAX / 255 * 200);
    fake_poke(p, fake_frame_address(p, 0, 1) + l->frame_previous, nothing);
    fake_sample(p, 0);
    assert_int_equal(p->threads[0].walk.snapshot.strays_count, 0);
    fake_poke(p, fake_frame_address(p, 0, 1) + l->frame_previous, nothing + 4);
    fake_sample(p, 0);
    assert_int_equal(p->threads[0].walk.snapshot.strays_count, 0);
}

static void what_is_no_frame_is_not_learned(void **state)
{
    (void)state;
    fake_each_version(lead_astray);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_lie_together_are_one_piece),
        cmocka_unit_test(what_is_no_frame_is_not_learned),
    };
    return run_all(tests);
}
