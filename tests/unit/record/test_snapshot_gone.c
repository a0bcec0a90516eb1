/* SPDX-License-Identifier: MIT */
/* Chunks of a data stack that are gone, or others than they were. */
#include "record/unwind/snapshot.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

/* The thread is read each time, however often. */
static void assert_stays_readable(struct fake_python *p)
{
    unsigned failed = 0;
    for (int i = 0; i < 1000; i++) {
        fake_sample(p, 0);
        failed += p->threads[0].state != UNWOUND;
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

/* The same between the copies of one that has to be made twice. */
struct swap {
    struct fake_python *p;
    struct fake_frame *frames;
    unsigned calls;
};

static void swap_chunk(void *self, const struct piece *piece, size_t i)
{
    struct swap *swap = self;
    (void)piece;
    struct fake_thread *t = &swap->p->threads[0];
    if (i != 0 || swap->calls == 0 || --swap->calls > 0)
        return;
    fake_remote_hide(t->chunks[1], FAKE_CHUNK);
    t->chunks[1] = t->chunks[2];
    t->chunks_count = 2;
    fake_poke(swap->p, t->chunks[1] + fake_layout(swap->p)->chunk_previous, t->chunks[0]);
    fake_stack(swap->p, 0, swap->frames, 30);
}

static unsigned swap_at;
static void replace_twice(struct fake_python *p)
{
    static struct fake_frame frames[FAKE_FRAMES];
    fake_fill(frames, FAKE_FRAMES, fake_code(p, "f", 20, 9), 1);
    const uint64_t g = fake_code(p, "g", 60, 9);
    fake_chunk(p, 0, 20);
    fake_chunk(p, 0, 40);
    fake_stack(p, 0, frames, 30);
    for (int i = 0; i < 6; i++)
        fake_assert_depth(p, 30);
    frames[29].code = g;
    fake_stack(p, 0, frames, 30);
    struct swap swap = { p, frames, swap_at };
    fake_remote_hook(swap_chunk, &swap);
    fake_assert_depth(p, 30);
    fake_remote_hook(NULL, NULL);
}

static void a_chunk_may_be_replaced_while_it_is_read_twice(void **state)
{
    (void)state;
    for (swap_at = 1; swap_at < 40; swap_at++) {
        (void)0;
        fake_each_version(replace_twice);
    }
}

/* More pieces than a call has room for. */
static void overflow(struct fake_python *p)
{
    static struct interpreter interpreters[256];
    const struct layout *l = fake_layout(p);
    struct snapshot s = { .firm = 1, .newest = 191, .twice = true };
    fake_sample(p, 0);
    s.chunks = alloc_grow(NULL, &s.chunks_room, 192, sizeof(*s.chunks));
    s.strays = alloc_grow(NULL, &s.strays_room, 384, sizeof(*s.strays));
    for (size_t i = 0; i < 192; i++)
        s.chunks[s.chunks_count++] = (struct chunk){ .address = FAKE_BASE + i * 4096, .next = 512 };
    for (size_t i = 0; i < 384; i++)
        s.strays[s.strays_count++] = (struct stray){ .frame = FAKE_BASE + i * 512, .next = l->frame_size };
    s.cframes[0] = FAKE_BASE;
    s.cframes_count = l->thread_cframe != 0;
    struct target target = p->target;
    target.interpreters = interpreters;
    target.interpreters_count = 256;
    struct call *call = alloc_zeroed(1, sizeof(*call));
    assert_true(snapshot_plan(&s, l, p->threads[0].address, call, true));
    target_plan(&target, call);
    snapshot_plan_rest(&s, call);
    if (call->count > REMOTE_PIECES)
        fail_msg("Python %x: %zu pieces", l->version, call->count);
    free(call);
    snapshot_free(&s);
}
EACH_VERSION(a_call_has_room, overflow);

/* The thread goes on while the interpreters are read: its oldest chunks and the others are of different moments. */
struct between {
    struct fake_python *p;
    struct fake_frame *then;
    size_t count;
    bool done;
};

static void go_on(void *self, const struct piece *piece, size_t i)
{
    struct between *b = self;
    (void)i;
    const uint64_t at = b->p->interpreter + fake_layout(b->p)->interpreter_start;
    if (b->done || piece->address != at)
        return;
    b->done = true;
    fake_stack(b->p, 0, b->then, b->count);
}

static void mix_moments(struct fake_python *p)
{
    static struct fake_frame one[FAKE_FRAMES], two[FAKE_FRAMES];
    const uint64_t f = fake_code(p, "f", 20, 9), a = fake_code(p, "a", 50, 9), b = fake_code(p, "b", 70, 9);
    fake_fill(one, FAKE_FRAMES, f, 1);
    fake_fill(two, FAKE_FRAMES, f, 1);
    /* From line 2 of the root it is always a, from line 3 always b. */
    one[0].unit = 2;
    two[0].unit = 3;
    one[24] = (struct fake_frame){ PLAIN, a, 1 };
    two[24] = (struct fake_frame){ PLAIN, b, 1 };
    fake_chunk(p, 0, 20);
    for (int i = 0; i < 40; i++) {
        fake_stack(p, 0, one, 25);
        fake_assert_depth(p, 25);
        fake_stack(p, 0, two, 25);
        fake_assert_depth(p, 25);
        fake_stack(p, 0, two, 5);
        fake_remote_hide(p->threads[0].chunks[1], FAKE_CHUNK);
        fake_assert_depth(p, 5);
        fake_remote_hide(0, 0);
    }
    fake_stack(p, 0, one, 25);
    fake_assert_depth(p, 25);
    struct between between = { p, two, 25, false };
    fake_remote_hook(go_on, &between);
    const char *seen = fake_sample(p, 0);
    fake_remote_hook(NULL, NULL);
    assert_true(between.done);
    if (strncmp(seen, "f:22", 4) == 0 && strstr(seen, "b:"))
        fail_msg("Python %x: no such stack: %s (%u attempts)", fake_layout(p)->version, seen, p->threads[0].attempts);
}
EACH_VERSION(chunks_are_of_one_moment, mix_moments);

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

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_in_the_middle_may_be_gone),
        cmocka_unit_test(a_chunk_may_be_replaced_below_a_generator),
        cmocka_unit_test(a_chunk_may_be_replaced_while_it_is_read_twice),
        cmocka_unit_test(chunks_are_of_one_moment),
        cmocka_unit_test(stacks_by_turns),
        cmocka_unit_test(a_call_has_room),
    };
    return run_all(tests);
}
