/* SPDX-License-Identifier: MIT */
/* What is read of a thread, and what is learned when something is not where it was. */
#include "record/unwind/snapshot.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

static uint32_t chunk_bytes(struct fake_python *p)
{
    const struct snapshot *s = &p->threads[0].walk.snapshot;
    return s->chunks[s->chunks_count - 1].used;
}

/* ---- how much is read ---- */

static void grow_and_shrink(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    const uint64_t f = fake_code(p, "f", 20, 9);
    fake_fill(frames, FAKE_FRAMES, f, 1);
    fake_stack(p, 0, frames, 2);
    fake_assert_depth(p, 2);
    const uint32_t small = chunk_bytes(p);
    fake_stack(p, 0, frames, 100);
    fake_assert_depth(p, 100);
    const uint32_t large = chunk_bytes(p);
    assert_true(large >= 100 * 100 && large > small && large <= FAKE_CHUNK);
    fake_stack(p, 0, frames, 2);
    for (int i = 0; i < 100; i++)
        fake_assert_depth(p, 2);
    assert_int_equal(chunk_bytes(p), large); /* it was in use lately */
    for (int i = 0; i < 600; i++)
        fake_assert_depth(p, 2);
    assert_true(chunk_bytes(p) <= small);
    fake_stack(p, 0, frames, 100);
    fake_assert_depth(p, 100);
}
EACH_VERSION(as_much_is_read_as_was_used_lately, grow_and_shrink);

/* ---- where the current frame is noted ---- */

static uint64_t calls_of_sample(struct fake_python *p)
{
    const uint64_t calls = p->target.remote.calls;
    fake_assert_depth(p, 2);
    return p->target.remote.calls - calls;
}

static void change_places(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const uint64_t f = fake_code(p, "f", 20, 9);
    if (!l->thread_cframe)
        return;
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 }, { PLAIN, f, 2 } }, 2);
    const uint64_t places[] = { p->threads[0].cframe, fake_room(p, 32), fake_room(p, 32) };
    for (size_t i = 1; i < countof(places); i++)
        fake_poke(p, places[i] + l->cframe_current_frame, fake_peek(p, fake_leaf_at(p, 0)));
    calls_of_sample(p);
    const uint64_t calls = calls_of_sample(p);
    for (size_t i = 1; i < 20; i++) {
        fake_poke(p, p->threads[0].address + l->thread_cframe, places[i < 10 ? i % 2 : 1 + i % 2]);
        const bool is_new = i == 1 || i == 11;
        assert_int_equal(calls_of_sample(p), calls + is_new);
    }
}
EACH_VERSION(places_that_take_turns_are_read_at_once, change_places);

/* ---- chunks ---- */

static void come_and_go(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    fake_fill(frames, FAKE_FRAMES, fake_code(p, "f", 20, 9), 1);
    fake_chunk(p, 0, 20);
    fake_chunk(p, 0, 40);
    static const size_t depths[] = { 10, 30, 60, 15, 60, 21, 20, 41, 1, 41, 41, 20, 60 };
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < countof(depths); i++) {
            fake_stack(p, 0, frames, depths[i]);
            fake_assert_depth(p, depths[i]);
            fake_assert_depth(p, depths[i]);
        }
    }
    assert_true(p->threads[0].walk.snapshot.chunks_count <= 3);
}
EACH_VERSION(chunks_are_followed, come_and_go);

/* The stack goes on in a new chunk, and comes back: only the new chunk's bytes take a call more. */
static void grow_into_a_chunk(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    fake_fill(frames, FAKE_FRAMES, fake_code(p, "f", 20, 9), 1);
    fake_chunk(p, 0, 20);
    for (int round = 0; round < 6; round++) {
        const size_t depth = round % 2 ? 30 : 10;
        fake_stack(p, 0, frames, depth);
        const uint64_t before = p->target.remote.calls;
        fake_assert_depth(p, depth);
        const uint64_t anew = p->target.remote.calls - before;
        fake_assert_depth(p, depth);
        const uint64_t known = p->target.remote.calls - before - anew;
        if (round >= 2)
            assert_int_equal(anew, known + round % 2);
    }
}
EACH_VERSION(a_new_chunk_takes_one_more_call, grow_into_a_chunk);

/* CPython gives a chunk back when its first frame returns. */
static void take_chunks_away(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    static const size_t depths[] = { 60, 10, 30, 60, 15, 12, 30, 10 };
    fake_fill(frames, FAKE_FRAMES, fake_code(p, "f", 20, 9), 1);
    fake_chunk(p, 0, 20);
    fake_chunk(p, 0, 40);
    for (unsigned i = 0; i < 60; i++) {
        const size_t depth = depths[i % countof(depths)];
        fake_stack(p, 0, frames, depth);
        const uint64_t gone = depth <= 20 ? p->threads[0].chunks[1] : depth <= 40 ? p->threads[0].chunks[2] : 0;
        fake_remote_hide(gone, gone ? FAKE_CHUNK : 0);
        const uint64_t calls = p->target.remote.calls;
        fake_assert_depth(p, depth);
        if (i > 0 && p->target.remote.calls - calls > 6)
            fail_msg("Python %x: %zu frames after %lu calls", fake_layout(p)->version, depth,
                     p->target.remote.calls - calls);
        fake_remote_hide(0, 0);
    }
}
EACH_VERSION(a_chunk_may_be_gone, take_chunks_away);

/* A new thread may have the address of one that has ended, whose chunk is another's by now. */
static void have_no_chunk(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    static struct fake_frame frames[3];
    fake_fill(frames, 3, fake_code(p, "f", 20, 9), 1);
    fake_stack(p, 0, frames, 3);
    fake_assert_depth(p, 3);
    const uint64_t state = p->threads[0].address;
    fake_poke(p, fake_leaf_at(p, 0), l->thread_base_frame ? p->threads[0].base_frame : 0);
    fake_poke(p, state + l->thread_chunk, 0);
    fake_poke(p, state + l->thread_chunk + 8, 0);
    fake_assert_depth(p, 0);
}
EACH_VERSION(a_thread_without_a_chunk_has_no_frames, have_no_chunk);

/* ---- several threads at once ---- */

static void read_three(struct fake_python *p, struct wanted *wanted, const char *const *texts)
{
    bool same;
    for (size_t i = 0; i < 3; i++)
        wanted[i] = (struct wanted){ .walk = &p->threads[i].walk, .thread = p->threads[i].address };
    assert_true(unwind_threads(&p->unwinder, wanted, 3, clock_now_ns(), &same));
    for (size_t i = 0; i < 3; i++) {
        const char *text = wanted[i].state == UNWIND_DONE        ? fake_walk_text(p, wanted[i].walk)
                           : wanted[i].state == UNWIND_ELSEWHERE ? "elsewhere"
                                                                 : "failed";
        if (strcmp(text, texts[i]) != 0)
            fail_msg("Python %x, thread %zu: '%s', and should be '%s'", fake_layout(p)->version, i, text, texts[i]);
    }
}

static void share_a_call(struct fake_python *p)
{
    const uint64_t f = fake_code(p, "f", 20, 9), g = fake_generator(p, "gen", 40, 9);
    struct wanted wanted[3];
    fake_sample(p, 0);
    fake_thread(p, 4712);
    fake_thread(p, 4713);
    for (size_t i = 0; i < 3; i++)
        fake_stack(p, i, (struct fake_frame[]){ { PLAIN, f, (int)i }, { GENERATOR, g, 2 }, { PLAIN, f, 3 } }, 3);
    const char *const all[] = { "f:20 gen:42 f:23", "f:21 gen:42 f:23", "f:22 gen:42 f:23" };
    for (int i = 0; i < 10; i++)
        read_three(p, wanted, all);
    const uint64_t calls = p->target.remote.calls;
    read_three(p, wanted, all);
    assert_int_equal(p->target.remote.calls - calls, 1);

    /* What can't be read of one ends the call for those behind it; they are read by the next. */
    const char *const rest[] = { all[0], "f:21", all[2] };
    fake_stack(p, 1, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    fake_remote_hide(p->threads[1].off_stack[1], 16);
    read_three(p, wanted, rest);
    assert_int_equal(wanted[0].attempts, 1);
    assert_int_equal(wanted[2].attempts, 1);
    fake_remote_hide(0, 0);
    fake_stack(p, 1, (struct fake_frame[]){ { PLAIN, f, 1 }, { GENERATOR, g, 2 }, { PLAIN, f, 3 } }, 3);
    read_three(p, wanted, all);
    fake_remote_hide(p->threads[1].address, 16);
    const char *const none[] = { all[0], "elsewhere", all[2] };
    read_three(p, wanted, none);
    fake_remote_hide(p->threads[0].address, 16);
    const char *const first[] = { "elsewhere", all[1], all[2] };
    read_three(p, wanted, first);
    fake_remote_hide(0, 0);
    read_three(p, wanted, all);
}
EACH_VERSION(threads_share_a_call, share_a_call);

/* ---- deep stacks ---- */

#define DEEP_AT 0x660000000000u

/* One chunk of its own with a stack of so many frames, as they would lie there. */
static unsigned char *make_deep(struct fake_python *p, uint64_t code, uint32_t depth, size_t *size)
{
    const struct layout *l = fake_layout(p);
    const uint64_t each = l->frame_locals + 8 * (FAKE_LOCALS + FAKE_STACK);
    *size = ((size_t)depth * each + 4096 + 4095) & ~(size_t)4095;
    unsigned char *bytes = alloc_zeroed(*size, 1);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, code, 1 }, { PLAIN, code, 1 }, { PLAIN, code, 2 } }, 3);
    uint64_t previous = fake_peek(p, fake_frame_address(p, 0, 0) + l->frame_previous), at = DEEP_AT + l->chunk_data + 8;
    for (uint32_t i = 0; i < depth; i++, previous = at, at += each) {
        unsigned char *frame = bytes + (at - DEEP_AT);
        const uint64_t from = fake_frame_address(p, 0, i == 0 ? 0 : i + 1 == depth ? 2 : 1);
        memcpy(frame, fake_bytes(p, from), each);
        memcpy(frame + l->frame_previous, &previous, 8);
    }
    const uint64_t whole = *size;
    memcpy(bytes + l->chunk_size, &whole, 8);
    fake_remote_map(DEEP_AT, bytes, *size);
    fake_poke(p, p->threads[0].address + l->thread_chunk, DEEP_AT);
    fake_poke(p, p->threads[0].address + l->thread_chunk + 8, at);
    fake_poke(p, fake_leaf_at(p, 0), previous);
    return bytes;
}

static void go_deep(struct fake_python *p)
{
    static const struct {
        uint32_t depth;
        bool seen;
    } rows[] = { { 1000, true }, { 99000, true }, { 101000, false }, { 5, true } };
    const uint64_t f = fake_code(p, "f", 20, 9);
    for (size_t i = 0; i < countof(rows); i++) {
        size_t size;
        unsigned char *bytes = make_deep(p, f, rows[i].depth, &size);
        const uint64_t calls = p->target.remote.calls;
        fake_sample(p, 0);
        assert_true(p->target.remote.calls - calls < 200);
        if (rows[i].seen) {
            assert_int_equal(p->threads[0].state, UNWIND_DONE);
            assert_int_equal(p->threads[0].walk.depth, rows[i].depth);
        } else {
            assert_int_equal(p->threads[0].state, UNWIND_FAILED);
            assert_int_equal(p->threads[0].unwound.cause, FAILURE_DEPTH);
        }
        fake_remote_unmap(DEEP_AT);
        free(bytes);
    }
}
EACH_VERSION(what_is_too_deep_is_said_to_be, go_deep);

/* ---- chunks that are gone, or others than they were ---- */

/* The thread is read each time, however often. */
static void assert_stays_readable(struct fake_python *p)
{
    unsigned failed = 0;
    for (int i = 0; i < 1000; i++) {
        fake_sample(p, 0);
        failed += p->threads[0].state != UNWIND_DONE;
    }
    if (failed)
        fail_msg("Python %x: %u of 1000 samples failed", fake_layout(p)->version, failed);
}

/* The thread has chunks A, B, C; later C follows A, and B is gone. */
static void skip_chunk(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    struct fake_thread *t = &p->threads[0];
    fake_fill(frames, FAKE_FRAMES, fake_code(p, "f", 20, 9), 1);
    fake_chunk(p, 0, 20);
    fake_chunk(p, 0, 40);
    fake_stack(p, 0, frames, 60);
    for (int i = 0; i < 4; i++)
        fake_assert_depth(p, 60);
    fake_stack(p, 0, frames, 10);
    fake_assert_depth(p, 10);
    fake_remote_hide(t->chunks[1], FAKE_CHUNK);
    t->chunks[1] = t->chunks[2];
    t->chunks_count = 2;
    fake_poke(p, t->chunks[1] + fake_layout(p)->chunk_previous, t->chunks[0]);
    fake_stack(p, 0, frames, 30);
    assert_stays_readable(p);
}
EACH_VERSION(a_chunk_in_the_middle_may_be_gone, skip_chunk);

/* The thread has chunks A, B and a generator at work; later a new chunk D follows A, and B is gone. */
static void replace_chunk(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    struct fake_thread *t = &p->threads[0];
    fake_fill(frames, FAKE_FRAMES, fake_code(p, "f", 20, 9), 1);
    frames[3] = (struct fake_frame){ GENERATOR, fake_generator(p, "gen", 40, 9), 2 };
    fake_chunk(p, 0, 20);
    fake_chunk(p, 0, 40);
    fake_stack(p, 0, frames, 30);
    for (int i = 0; i < 4; i++)
        fake_assert_depth(p, 30);
    fake_remote_hide(t->chunks[1], FAKE_CHUNK);
    t->chunks[1] = t->chunks[2]; /* not known yet */
    t->chunks_count = 2;
    fake_poke(p, t->chunks[1] + fake_layout(p)->chunk_previous, t->chunks[0]);
    fake_stack(p, 0, frames, 32);
    assert_stays_readable(p);
}
EACH_VERSION(a_chunk_may_be_replaced_below_a_generator, replace_chunk);

/* More pieces than a call has room for. */
static void overflow(struct fake_python *p)
{
    static struct interpreter interpreters[256];
    const struct layout *l = fake_layout(p);
    struct snapshot s = { 0 };
    fake_sample(p, 0);
    s.chunks = alloc_grow(NULL, &s.chunks_room, 192, sizeof(*s.chunks));
    s.off_stack = snapshot_grow(NULL, &s.off_stack_room, 384, sizeof(*s.off_stack));
    for (size_t i = 0; i < 192; i++)
        s.chunks[s.chunks_count++] = (struct chunk){ .address = FAKE_BASE + i * 4096, .next = 512 };
    for (size_t i = 0; i < 384; i++)
        s.off_stack[s.off_stack_count++] = (struct off_stack){ .frame = FAKE_BASE + i * 512 };
    s.cframes[0] = FAKE_BASE;
    s.cframes_count = l->thread_cframe != 0;
    struct target target = p->target;
    target.interpreters = interpreters;
    target.interpreters_count = 256;
    struct batch *batch = alloc_zeroed(1, sizeof(*batch));
    assert_true(snapshot_plan(&s, l, p->threads[0].address, batch));
    target_plan(&target, batch);
    if (batch->count > REMOTE_PIECES)
        fail_msg("Python %x: %zu pieces", l->version, batch->count);
    free(batch);
    snapshot_free(&s);
}
EACH_VERSION(a_call_has_room, overflow);

static void other_stacks(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    struct fake_thread *t = &p->threads[0];
    fake_fill(frames, FAKE_FRAMES, fake_code(p, "f", 20, 9), 1);
    fake_chunk(p, 0, 100);
    fake_poke(p, t->chunks[1] + fake_layout(p)->chunk_previous, 0);
    t->chunks_count = 1;
    const uint64_t both[] = { t->chunks[0], t->chunks[1] };
    unsigned attempts = 0;
    for (int i = 0; i < 200; i++) {
        t->depth = 0;
        t->chunks[0] = both[i % 2];
        fake_stack(p, 0, frames, 5);
        fake_assert_depth(p, 5);
        attempts += t->attempts;
    }
    assert_true(attempts < 420); /* one look to find the other chunk, one to read it */
}
EACH_VERSION(stacks_by_turns, other_stacks);

/* ---- frames outside the data stack ---- */

static const struct off_stack *off_stack_at(struct fake_python *p, uint64_t frame)
{
    const struct snapshot *s = &p->threads[0].walk.snapshot;
    size_t i = 0;
    while (i < s->off_stack_count && s->off_stack[i].frame != frame)
        i++;
    assert_true(i < s->off_stack_count);
    return &s->off_stack[i];
}

static void lie_together(struct fake_python *p)
{
    const uint64_t m = fake_code(p, "m", 1, 9), gen = fake_code(p, "gen", 60, 9);
    const struct fake_frame frames[] = { { PLAIN, m, 1 }, { GENERATOR, gen, 2 }, { GENERATOR, gen, 3 } };
    for (int far = 0; far < 2; far++) {
        p->threads[0].off_stack[2] = p->threads[0].off_stack[1] + 240 + (far ? 3 * 4096 : 0);
        fake_stack(p, 0, frames, 3);
        for (int i = 0; i < 5; i++)
            fake_assert_seen(p, "m:2 gen:62 gen:63");
        const struct off_stack *first = off_stack_at(p, p->threads[0].off_stack[1]);
        const struct off_stack *second = off_stack_at(p, p->threads[0].off_stack[2]);
        assert_true(first->span >= fake_layout(p)->frame_size);
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
    const size_t known = p->threads[0].walk.snapshot.off_stack_count;
    fake_poke(p, fake_frame_address(p, 0, 1) + l->frame_previous, nothing);
    fake_sample(p, 0);
    assert_true(p->threads[0].walk.snapshot.off_stack_count <= known);
    fake_poke(p, fake_frame_address(p, 0, 1) + l->frame_previous, nothing + 4);
    fake_sample(p, 0);
    assert_true(p->threads[0].walk.snapshot.off_stack_count <= known);
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

/* Fails if the plan says of the k-th piece what the piece is not. */
static void assert_piece(const struct snapshot *s, const struct piece *piece, size_t k)
{
    size_t index;
    const enum piece_is is = snapshot_plan_piece(s, k, &index);
    if ((is == PIECE_STATE) != (piece->address == s->thread))
        fail_msg("piece %zu is the state, or is not", k);
    if (is == PIECE_CHUNK && piece->address != s->chunks[index].address)
        fail_msg("piece %zu is not of chunk %zu", k, index);
    for (size_t i = 0; i < s->off_stack_count; i++)
        if (s->off_stack[i].span && s->off_stack[i].frame == piece->address &&
            (is != PIECE_OFF_STACK || index != s->off_stack[i].piece))
            fail_msg("piece %zu is of off-stack frames %u", k, s->off_stack[i].piece);
}

static void name_pieces(struct fake_python *p)
{
    struct snapshot *s = &p->threads[0].walk.snapshot;
    struct batch batch = { 0 };
    show_driven(p, true);
    fake_assert_seen(p, "m:2 f:22 gen:63");
    assert_true(snapshot_plan(s, fake_layout(p), s->thread, &batch));
    assert_int_equal(s->pieces, 2 + s->cframes_count + s->off_stack_pieces);
    for (size_t k = 0; k < s->pieces; k++)
        assert_piece(s, &batch.pieces[k], k);
}
EACH_VERSION(pieces_are_what_they_are_said_to_be, name_pieces);

/* A generator's memory is given back, in whichever order it is read. */
static void free_memory(struct fake_python *p)
{
    p->threads[0].off_stack[2] = fake_pages(p, FAKE_PAGE) + 64;
    for (int i = 0; i < 30; i++) {
        show_driven(p, true);
        for (int k = 0; k < 3; k++)
            fake_assert_seen(p, "m:2 f:22 gen:63");
        show_driven(p, false);
        fake_remote_hide(p->threads[0].off_stack[2] - 64, FAKE_PAGE);
        fake_assert_seen(p, "m:2 f:22");
        assert_in_range(p->threads[0].attempts, 1, 3);
        fake_remote_hide(0, 0);
    }
}
EACH_VERSION(what_is_not_there_any_more_is_not_read_again, free_memory);

static void all_copies_together_have_a_limit(void **state)
{
    (void)state;
    struct snapshot s = { 0 };
    assert_false(snapshot_make_room(&s, SNAPSHOTS_LIMIT / 4 + 1));
    assert_true(snapshot_make_room(&s, SNAPSHOTS_LIMIT / 64));
    assert_true(s.copy_room == SNAPSHOTS_LIMIT / 64 && s.last_room == s.copy_room);
    struct snapshot other = { 0 };
    assert_false(snapshot_make_room(&other, SNAPSHOTS_LIMIT / 4));
    snapshot_free(&s);
    assert_true(snapshot_make_room(&s, SNAPSHOTS_LIMIT / 64));
    snapshot_free(&s);
    snapshot_free(&other);
}

TEST_FILE(snapshot)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_copies_together_have_a_limit),
        cmocka_unit_test(as_much_is_read_as_was_used_lately),
        cmocka_unit_test(places_that_take_turns_are_read_at_once),
        cmocka_unit_test(chunks_are_followed),
        cmocka_unit_test(a_new_chunk_takes_one_more_call),
        cmocka_unit_test(a_chunk_may_be_gone),
        cmocka_unit_test(a_thread_without_a_chunk_has_no_frames),
        cmocka_unit_test(threads_share_a_call),
        cmocka_unit_test(what_is_too_deep_is_said_to_be),
        cmocka_unit_test(a_chunk_in_the_middle_may_be_gone),
        cmocka_unit_test(a_chunk_may_be_replaced_below_a_generator),
        cmocka_unit_test(stacks_by_turns),
        cmocka_unit_test(a_call_has_room),
        cmocka_unit_test(frames_that_lie_together_are_one_piece),
        cmocka_unit_test(what_is_no_frame_is_not_learned),
        cmocka_unit_test(pieces_are_what_they_are_said_to_be),
        cmocka_unit_test(what_is_not_there_any_more_is_not_read_again),
    };
    return run_all(tests);
}
