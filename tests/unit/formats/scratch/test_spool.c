/* SPDX-License-Identifier: MIT */
#include "formats/scratch/spool.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

#define THREADS 5
#define SAMPLES 400000u

/* Sample i of a thread: times that grow, stacks that jump; those of one thread are the same for some time. */
static struct spool_sample sample_of(uint32_t thread, uint64_t i)
{
    if (thread == 2)
        return (struct spool_sample){ i * 50 + i / 300 % 2 * 7, (uint32_t)(i / 200 % 3) };
    const uint64_t noise = (i * THREADS + thread) * 2654435761u;
    return (struct spool_sample){ i * 50 + thread + noise % 7, i % 1000 == 0 ? UINT32_MAX : (uint32_t)(noise >> 7) };
}

static bool has_thread(uint32_t thread, uint64_t i)
{
    return thread != 3 || i % 5000 == 0; /* one that is rarely there */
}

static void assert_column(struct spool_reader *reader, struct spool *spool, const struct spool_column *column,
                          uint32_t thread, uint64_t count)
{
    struct spool_sample sample;
    spool_rewind(reader, spool, column);
    for (uint64_t i = 0; i < count; i++) {
        if (!has_thread(thread, i))
            continue;
        const struct spool_sample wanted = sample_of(thread, i);
        if (!spool_next(reader, &sample) || sample.time != wanted.time || sample.stack != wanted.stack)
            fail_msg("sample %lu of thread %u is another", i, thread);
    }
    assert_false(spool_next(reader, &sample));
    assert_string_equal(spool->failure.text, "");
}

/* Threads mixed at random, more than memory is used for; each comes back in one piece. */
static void every_thread_comes_back_in_one_piece(void **state)
{
    (void)state;
    struct spool spool = { 0 };
    struct spool_column columns[THREADS + 1] = { 0 };
    struct spool_reader reader = { 0 };
    for (uint64_t i = 0; i < SAMPLES; i++)
        for (uint32_t thread = 0; thread < THREADS; thread++)
            if (has_thread(thread, i))
                spool_add(&spool, &columns[thread], sample_of(thread, i));
    assert_true(spool.on_disk);
    assert_int_equal(columns[0].count, SAMPLES);
    spool_settle(&spool, &columns[1]);
    spool_settle(&spool, &columns[3]);
    for (int round = 0; round < 2; round++)
        for (uint32_t thread = 0; thread < THREADS; thread++)
            assert_column(&reader, &spool, &columns[thread], thread, SAMPLES);
    assert_column(&reader, &spool, &columns[THREADS], 0, 0);
    spool_reader_free(&reader);
    for (uint32_t thread = 0; thread <= THREADS; thread++)
        spool_drop(&columns[thread]);
    spool_close(&spool);
}

static void few_samples_make_no_file(void **state)
{
    (void)state;
    struct spool spool = { 0 };
    struct spool_column column = { 0 };
    struct spool_reader reader = { 0 };
    for (uint64_t i = 0; i < 1000; i++)
        spool_add(&spool, &column, sample_of(0, i));
    assert_false(spool.on_disk);
    assert_column(&reader, &spool, &column, 0, 1000);
    spool_settle(&spool, &column);
    assert_false(spool.on_disk);
    assert_column(&reader, &spool, &column, 0, 1000);
    spool_reader_free(&reader);
    spool_drop(&column);
    spool_close(&spool);
}

static void a_folder_that_takes_no_file_is_told(void **state)
{
    (void)state;
    struct spool spool = { 0 };
    struct spool_column column = { 0 };
    setenv("TMPDIR", "/no/such/folder", 1);
    for (uint64_t i = 0; i < SAMPLES; i++)
        spool_add(&spool, &column, sample_of(0, i));
    unsetenv("TMPDIR");
    assert_non_null(strstr(spool.failure.text, "cannot create a temporary file in /no/such/folder"));
    spool_drop(&column);
    spool_close(&spool);
}

TEST_FILE(spool)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_comes_back_in_one_piece),
        cmocka_unit_test(few_samples_make_no_file),
        cmocka_unit_test(a_folder_that_takes_no_file_is_told),
    };
    return run_all(tests);
}
