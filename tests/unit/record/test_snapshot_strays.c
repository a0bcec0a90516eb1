/* SPDX-License-Identifier: MIT */
/* Frames outside the data stack: which are read, and how. */
#include "record/unwind/snapshot.h"

#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

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
EACH_VERSION(frames_that_lie_together_are_one_piece, lie_together);

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
EACH_VERSION(what_is_no_frame_is_not_learned, lead_astray);

/* ---- in which order ---- */

static void show_driven(struct fake_python *p, bool driven)
{
    static uint64_t m, f, gen;
    if (driven) {
        m = fake_code(p, "m", 1, 9);
        f = fake_code(p, "f", 20, 9);
        gen = fake_generator(p, "gen", 60, 9);
    }
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, m, 1 }, { PLAIN, f, 2 }, { GENERATOR, gen, 3 } }, driven ? 3 : 2);
}

/* What the k-th piece is said to be, it is; `first`: nothing came from its address before. */
static void assert_piece(const struct snapshot *s, const struct piece *piece, size_t k, bool first)
{
    size_t place;
    const enum piece_is is = snapshot_plan_piece(s, k, &place);
    const struct chunk *chunk = &s->chunks[place < s->chunks_came ? place : s->newest];
    const uint64_t in_chunk = piece->address - chunk->address;
    if ((is == PIECE_STATE) != (piece->address == s->thread))
        fail_msg("piece %zu is the state, or is not", k);
    if (is == PIECE_CHUNK && in_chunk >= chunk->used)
        fail_msg("piece %zu is not of chunk %zu", k, place);
    if (first && in_chunk < chunk->used && is != PIECE_CHUNK)
        fail_msg("piece %zu is a chunk", k);
    for (size_t i = 0; i < s->strays_count; i++)
        if (s->strays[i].span && s->strays[i].frame == piece->address &&
            (is == PIECE_STRAY ? place != s->strays[i].piece : first || is != PIECE_AGAIN))
            fail_msg("piece %zu is of strays %u", k, s->strays[i].piece);
}

static bool came_before(const struct call *call, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (call->pieces[i].address == call->pieces[k].address)
            return true;
    return false;
}

static void name_pieces(struct fake_python *p)
{
    struct snapshot *s = &p->threads[0].walk.snapshot;
    struct call call;
    show_driven(p, true);
    fake_assert_seen(p, "m:2 f:22 gen:63");
    for (unsigned i = 0; i < 60; i++) {
        s->twice = i % 3 > 0;
        s->near = i % 3 > 1;
        call.count = 0;
        assert_true(snapshot_plan(s, fake_layout(p), s->thread, &call, false));
        unsigned states = 0;
        for (size_t k = 0; k < s->pieces; k++) {
            assert_piece(s, &call.pieces[k], k, !came_before(&call, k));
            states += call.pieces[k].address == s->thread;
        }
        assert_int_equal(states, 1);
    }
}
EACH_VERSION(pieces_are_what_they_are_said_to_be, name_pieces);

/* A generator's memory is given back, in whichever order it is read. */
static void free_memory(struct fake_python *p)
{
    p->threads[0].strays[2] = fake_pages(p, FAKE_PAGE) + 64;
    for (int i = 0; i < 30; i++) {
        show_driven(p, true);
        for (int k = 0; k < 3; k++)
            fake_assert_seen(p, "m:2 f:22 gen:63");
        show_driven(p, false);
        fake_remote_hide(p->threads[0].strays[2] - 64, FAKE_PAGE);
        fake_assert_seen(p, "m:2 f:22");
        assert_in_range(p->threads[0].attempts, 1, 3);
        fake_remote_hide(0, 0);
    }
}
EACH_VERSION(what_is_not_there_any_more_is_not_read_again, free_memory);

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_that_lie_together_are_one_piece),
        cmocka_unit_test(what_is_no_frame_is_not_learned),
        cmocka_unit_test(pieces_are_what_they_are_said_to_be),
        cmocka_unit_test(what_is_not_there_any_more_is_not_read_again),
    };
    return run_all(tests);
}
