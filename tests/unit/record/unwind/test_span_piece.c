/* SPDX-License-Identifier: MIT */
/* The memory of a thread that publishes its span, in the place of a process's. */
#include "record/unwind/span_piece.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

#define POINTER  UINT64_C(0x700000001000) /* the thread pointer */
#define OTHER    UINT64_C(0x700000002000)
#define RECORD   UINT64_C(0x500000000000)
#define DISTANCE UINT64_C(0x20) /* of the variable, below the thread pointer */

struct scene {
    uint64_t below[2][4]; /* the words below the thread pointers */
    unsigned char records[2][SPAN_RECORD];
    struct remote remote;
    struct thread_variable variable;
    struct span_piece piece;
    uint32_t native_id;
};

static void write_record(struct scene *scene, size_t i, unsigned char fill, unsigned char valid)
{
    memset(scene->records[i], fill, SPAN_RECORD);
    scene->records[i][24] = valid;
}

static struct scene *scene_new(void)
{
    struct scene *scene = alloc_zeroed(1, sizeof(*scene));
    fake_remote_reset();
    fake_remote_map(POINTER - DISTANCE, (void *)scene->below[0], DISTANCE);
    fake_remote_map(OTHER - DISTANCE, (void *)scene->below[1], DISTANCE);
    fake_remote_map(RECORD, (void *)scene->records, sizeof(scene->records));
    scene->remote = (struct remote){ .pid = 1 };
    scene->variable = (struct thread_variable){ true, 0, -DISTANCE };
    write_record(scene, 0, 0xA1, 1);
    write_record(scene, 1, 0xB2, 1);
    return scene;
}

/* A look at the thread. Returns how many calls it took. */
static int look_at(struct scene *scene, uint64_t pointer)
{
    static struct batch batch;
    size_t good = 0;
    int calls = 0;
    do {
        batch.count = 0;
        span_piece_plan(&scene->piece, &scene->variable, &batch);
        if (batch.count > 0)
            remote_read_pieces(&scene->remote, batch.pieces, batch.count, &good);
        assert_in_range(++calls, 1, 4);
    } while (!span_piece_take(&scene->piece, &scene->variable, pointer, scene->native_id, good));
    return calls;
}

static void assert_span(const struct scene *scene, unsigned char fill)
{
    const uint64_t word = fill * UINT64_C(0x0101010101010101);
    assert_true(span_ids_equal(scene->piece.span, (struct span_ids){ word, word, word }));
}

static void a_look_has_the_span(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    assert_int_equal(look_at(scene, POINTER), 2); /* the thread pointer is new: the next plan has the variable */
    assert_span(scene, 0);
    scene->below[0][0] = RECORD;
    assert_int_equal(look_at(scene, POINTER), 2); /* it leads elsewhere */
    assert_span(scene, 0xA1);
    assert_int_equal(look_at(scene, POINTER), 1);
    assert_span(scene, 0xA1);
    write_record(scene, 0, 0xC3, 1); /* the record is changed in its place */
    assert_int_equal(look_at(scene, POINTER), 1);
    assert_span(scene, 0xC3);
    write_record(scene, 0, 0xC3, 0);
    assert_int_equal(look_at(scene, POINTER), 1);
    assert_span(scene, 0);
    scene->below[0][0] = RECORD + SPAN_RECORD;
    assert_int_equal(look_at(scene, POINTER), 2);
    assert_span(scene, 0xB2);
    scene->below[0][0] = 0;
    assert_int_equal(look_at(scene, POINTER), 1);
    assert_span(scene, 0);
    free(scene);
}

static void another_thread_has_another_span(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->below[0][0] = RECORD;
    scene->below[1][0] = RECORD + SPAN_RECORD;
    look_at(scene, POINTER);
    assert_span(scene, 0xA1);
    look_at(scene, OTHER);
    assert_span(scene, 0xB2);
    free(scene);
}

static void memory_that_lies_is_no_span(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    scene->below[0][0] = 0x1234; /* nothing is there */
    look_at(scene, POINTER);
    assert_span(scene, 0);
    assert_int_equal(look_at(scene, POINTER), 1); /* and it is not read again: it would end each call */
    assert_false(scene->piece.has_record);
    scene->below[0][0] = RECORD;
    look_at(scene, POINTER);
    assert_span(scene, 0xA1);
    look_at(scene, 0x9999000); /* a thread pointer that leads nowhere */
    assert_span(scene, 0);
    assert_int_equal(scene->piece.variable, 0);
    look_at(scene, POINTER);
    assert_span(scene, 0xA1);
    free(scene);
}

/* The variable is in a block that the thread has when it has used the variable. */
static void a_block_is_found_when_it_is_there(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    uint64_t table[] = { 3, 0, 7, 0, 0, 0, UINT64_MAX, 0 }; /* its size, generation, modules 1 and 2 */
    uint64_t head[2] = { 0, RECORD + 0x10000 + 16 };
    uint64_t block[] = { 0, 0, RECORD + SPAN_RECORD };
    fake_remote_map(POINTER, (void *)head, sizeof(head));
    fake_remote_map(RECORD + 0x10000, (void *)table, sizeof(table));
    fake_remote_map(RECORD + 0x20000, (void *)block, sizeof(block));
    scene->variable = (struct thread_variable){ true, 2, 16 };
    look_at(scene, POINTER);
    assert_true(span_piece_search(&scene->piece, &scene->variable, &scene->remote, 1));
    assert_false(span_piece_search(&scene->piece, &scene->variable, &scene->remote, 100000000)); /* it sleeps */
    look_at(scene, POINTER);
    assert_span(scene, 0);
    table[6] = RECORD + 0x20000;
    span_piece_search(&scene->piece, &scene->variable, &scene->remote, 2); /* not due */
    assert_int_equal(scene->piece.variable, 0);
    assert_true(span_piece_search(&scene->piece, &scene->variable, &scene->remote, 1000000000));
    look_at(scene, POINTER);
    assert_span(scene, 0xB2);
    /* Another thread has the memory of the thread pointer, and a block of its own. */
    uint64_t later[] = { 0, 0, RECORD };
    fake_remote_map(RECORD + 0x30000, (void *)later, sizeof(later));
    table[6] = RECORD + 0x30000;
    scene->native_id = 2;
    look_at(scene, POINTER);
    assert_span(scene, 0);
    span_piece_search(&scene->piece, &scene->variable, &scene->remote, 1000000001);
    look_at(scene, POINTER);
    assert_span(scene, 0xA1);
    scene->variable.module = 4; /* beyond the table */
    assert_int_equal(thread_variable_address(&scene->variable, &scene->remote, POINTER), 0);
    free(scene);
}

/* A look at two threads, with calls for both. */
static void look_at_two(struct scene *scene, struct span_piece pieces[2])
{
    static struct batch batch;
    static const uint64_t pointers[] = { POINTER, OTHER };
    bool taken[2] = { false, false };
    size_t good = 0;
    for (int calls = 0; !taken[0] || !taken[1]; calls++) {
        assert_in_range(calls, 0, 5);
        batch.count = 0;
        for (int i = 0; i < 2; i++)
            if (!taken[i])
                span_piece_plan(&pieces[i], &scene->variable, &batch);
        if (batch.count > 0)
            remote_read_pieces(&scene->remote, batch.pieces, batch.count, &good);
        for (int i = 0; i < 2; i++)
            taken[i] = taken[i] || span_piece_take(&pieces[i], &scene->variable, pointers[i], 0, good);
    }
    assert_int_equal(good, batch.count); /* what follows in the call was read, too: the witness of the look */
}

/* A call ends at a piece that is not there. What follows it is not lost, at this look or later. */
static void a_record_that_is_gone_is_of_its_thread_alone(void **state)
{
    (void)state;
    struct scene *scene = scene_new();
    struct span_piece pieces[2] = { 0 };
    scene->below[0][0] = RECORD;
    scene->below[1][0] = RECORD + SPAN_RECORD;
    look_at_two(scene, pieces);
    assert_int_equal(pieces[0].span.id, UINT64_C(0xA1A1A1A1A1A1A1A1));
    assert_int_equal(pieces[1].span.id, UINT64_C(0xB2B2B2B2B2B2B2B2));
    fake_remote_hide(RECORD, SPAN_RECORD); /* the thread still leads to it */
    for (uint64_t look = 0; look < 4; look++) {
        look_at_two(scene, pieces);
        assert_int_equal(pieces[0].span.id, 0);
        assert_int_equal(pieces[1].span.id, UINT64_C(0xB2B2B2B2B2B2B2B2));
        scene->below[0][0] = 0x1234 + look; /* a program that lies, in another way at each look */
    }
    free(scene);
}

TEST_FILE(span_piece)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_has_the_span),
        cmocka_unit_test(another_thread_has_another_span),
        cmocka_unit_test(memory_that_lies_is_no_span),
        cmocka_unit_test(a_record_that_is_gone_is_of_its_thread_alone),
        cmocka_unit_test(a_block_is_found_when_it_is_there),
    };
    return run_all(tests);
}
