/* SPDX-License-Identifier: MIT */
/* What is told of a stack is always the stack, however it changed since last time, with its synthetic frames at their
 * places. */
#include "record/unwind/synthetic_frames.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 40

/* A thread, what is told of it, and the stack that a reader has. */
struct listener {
    struct definitions definitions;
    struct synthetic_frames wanted;
    struct expansion expansion;
    struct expanded expanded;
    struct walk walk;
    struct link links[DEPTH_MOST];
    uint32_t heard[3 * DEPTH_MOST];
    uint32_t heard_count;
    bool known;
};

static void listen_to(struct listener *l, uint32_t gc)
{
    synthetic_frames_expand(&l->expansion, &l->wanted, &l->walk, l->known, gc, &l->expanded);
    assert_true(l->expanded.keep <= l->heard_count);
    l->heard_count = l->expanded.keep + l->expanded.pushed;
    assert_true(l->heard_count <= countof(l->heard));
    if (l->expanded.pushed > 0)
        memcpy(l->heard + l->expanded.keep, l->expanded.frames, l->expanded.pushed * sizeof(uint32_t));
    l->walk.same = l->walk.depth;
    l->known = true;
}

/* The same, straight on. */
static uint32_t expected(const struct listener *l, uint32_t gc, uint32_t *frames)
{
    uint32_t count = 0;
    const struct walk *walk = &l->walk;
    const uint32_t above = l->wanted.depth / 2, below = l->wanted.depth - above;
    for (uint32_t i = 0; i <= walk->depth; i++) {
        if (walk->depth > l->wanted.depth && i == above) {
            frames[count++] = l->wanted.truncated_frame;
            i = walk->depth - below;
        }
        if (gc == i)
            frames[count++] = l->wanted.gc_frame;
        if (i == walk->depth)
            break;
        if (l->wanted.native && i > 0 && walk->links[i].from_c)
            frames[count++] = l->wanted.native_frame;
        frames[count++] = walk->links[i].frame;
    }
    return count;
}

static void assert_heard(const struct listener *l, uint32_t gc)
{
    uint32_t frames[3 * DEPTH_MOST];
    const uint32_t count = expected(l, gc, frames);
    assert_int_equal(l->heard_count, count);
    assert_memory_equal(l->heard, frames, count * sizeof(uint32_t));
}

static void start(struct listener *l, bool native, uint32_t depth)
{
    memset(l, 0, sizeof(*l));
    l->wanted = (struct synthetic_frames){
        .native = native, .gc = true, .depth = depth, .definitions = &l->definitions
    };
    l->walk.links = l->links;
    /* Frames of functions; synthetic frames have other indexes. */
    for (int i = 0; i < 3; i++)
        definitions_synthetic_frame(&l->definitions, KIND_PYTHON, i == 0 ? TEXT("f") : TEXT("g"));
}

static void stop(struct listener *l)
{
    synthetic_frames_free(&l->expansion);
    definitions_free(&l->definitions);
    free(l->expanded.frames);
}

static unsigned random_below(unsigned most)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % most;
}

static void what_is_told_is_the_stack(void **state)
{
    (void)state;
    static const struct {
        bool native;
        uint32_t depth;
    } rows[] = { { false, 100 }, { true, 100 }, { false, 10 }, { true, 10 }, { true, 11 } };
    for (size_t r = 0; r < countof(rows); r++) {
        struct listener l;
        start(&l, rows[r].native, rows[r].depth);
        for (int i = 0; i < 20000; i++) {
            struct walk *walk = &l.walk;
            if (random_below(4)) {
                const uint32_t keep = random_below(walk->depth + 1), depth = keep + random_below(DEPTH_MOST - keep + 1);
                for (uint32_t k = keep; k < depth; k++)
                    walk->links[k] = (struct link){ .address = 0x1000 + 16 * (uint64_t)k,
                                                    .frame = 10 + random_below(5),
                                                    .from_c = random_below(3) == 0 };
                walk->same = keep < walk->same ? keep : walk->same;
                walk->depth = depth;
            }
            if (random_below(50) == 0)
                l.known = false; /* it is another thread to the sink */
            if (!l.known)
                l.heard_count = 0;
            const uint64_t starter = random_below(2) ? 0x1000 + 16 * (uint64_t)random_below(DEPTH_MOST) : 0;
            const uint32_t gc = random_below(3) ? NO_GC : synthetic_frames_gc(walk, starter);
            const bool told = random_below(5) > 0; /* a mode may leave it out */
            if (!told)
                continue;
            listen_to(&l, gc);
            assert_heard(&l, gc);
        }
        stop(&l);
    }
}

static void what_did_not_change_is_not_told_again(void **state)
{
    (void)state;
    struct listener l;
    start(&l, true, 100);
    l.walk.depth = 3;
    for (uint32_t i = 0; i < 3; i++)
        l.links[i] = (struct link){ .address = 0x1000 + 16 * (uint64_t)i, .frame = 10 + i, .from_c = i == 1 };
    for (int i = 0; i < 3; i++) {
        const uint32_t gc = i < 2 ? 3 : NO_GC;
        listen_to(&l, gc);
        assert_heard(&l, gc);
        assert_int_equal(l.expanded.pushed, i == 0 ? 5 : 0);
    }
    assert_int_equal(l.heard_count, 4); /* without <GC> */
    l.walk.same = 2;
    listen_to(&l, NO_GC);
    assert_int_equal(l.expanded.keep, 3); /* with <native> */
    assert_int_equal(l.expanded.pushed, 1);
    stop(&l);
}

TEST_FILE(synthetic_frames)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_the_stack),
        cmocka_unit_test(what_did_not_change_is_not_told_again),
    };
    return run_all(tests);
}
