/* SPDX-License-Identifier: MIT */
/* The true remote.c, against a child of ours that waits. */
#include "record/process/remote.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned char pattern[3 * 4096];

static pid_t start_child(void)
{
    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = (unsigned char)(i * 7 + i / 256);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves it behind */
        for (;;)
            pause();
    }
    memset(pattern, 0, sizeof(pattern)); /* ours; the child keeps what it had */
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static bool is_pattern(const unsigned char *bytes, size_t at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != (unsigned char)((at + i) * 7 + (at + i) / 256))
            return false;
    return true;
}

static void pieces_are_read_with_one_call(void **state)
{
    (void)state;
    uint64_t word = 0;
    static unsigned char into[REMOTE_PIECES][16];
    struct piece pieces[REMOTE_PIECES];
    struct remote remote;
    const pid_t child = start_child();
    assert_true(remote_open(&remote, child, NULL));
    for (size_t i = 0; i < countof(pieces); i++)
        pieces[i] = (struct piece){ (uintptr_t)pattern + i * 11, 1 + i % 16, into[i] };
    size_t good = 0;
    assert_int_equal(remote_read_pieces(&remote, pieces, countof(pieces), &good), REMOTE_READ);
    assert_int_equal(good, countof(pieces));
    for (size_t i = 0; i < countof(pieces); i++)
        assert_true(is_pattern(into[i], i * 11, pieces[i].size));
    unsigned char whole[sizeof(pattern)];
    assert_int_equal(remote_read(&remote, (uintptr_t)pattern, whole, sizeof(whole)), REMOTE_READ);
    assert_true(is_pattern(whole, 0, sizeof(whole)));
    assert_true(remote_same_program(&remote, (uintptr_t)pattern, &word));
    assert_memory_equal(&word, whole, sizeof(word));
    remote_close(&remote);
    remote_close(&remote);
    end_child(child);
}

/* It goes another way than several do. */
static enum remote_state read_one_piece(struct remote *remote, uint64_t address, void *into, size_t size, size_t *good)
{
    return remote_read_pieces(remote, &(struct piece){ address, (uint32_t)size, into }, 1, good);
}

static void one_piece_is_read(void **state)
{
    (void)state;
    unsigned char whole[sizeof(pattern)];
    struct remote remote;
    size_t good = 99;
    const pid_t child = start_child();
    assert_true(remote_open(&remote, child, NULL));
    static const size_t sizes[] = { 1, 8, 688, 2048, 2049, 4096, sizeof(whole) - 8 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < countof(sizes); i++) {
        assert_int_equal(read_one_piece(&remote, (uintptr_t)pattern + i, whole, sizes[i] - i % 2, &good), REMOTE_READ);
        assert_true(is_pattern(whole, i, sizes[i] - i % 2));
        assert_int_equal(good, 1);
        bytes += sizes[i] - i % 2;
        assert_int_equal(remote.calls, i + 1);
        assert_int_equal(remote.pieces, i + 1);
        assert_int_equal(remote.bytes, bytes);
    }
    assert_int_equal(read_one_piece(&remote, (uintptr_t)pattern, whole, 0, &good), REMOTE_READ);
    const uint64_t nowhere[] = { 0x10, UINT64_MAX - 3, (uint64_t)1 << 63 };
    for (size_t i = 0; i < countof(nowhere); i++) {
        good = 99;
        assert_int_equal(read_one_piece(&remote, nowhere[i], whole, 8, &good), REMOTE_UNREADABLE);
        assert_int_equal(good, 0);
    }
    remote_close(&remote);
    end_child(child);
}

/* The page behind it is not there. */
static void a_piece_that_is_cut_off_is_not_good(void **state)
{
    (void)state;
    unsigned char bytes[16];
    struct remote remote;
    size_t good = 99;
    unsigned char *pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    memset(pages, 1, 4096);
    assert_int_equal(munmap(pages + 4096, 4096), 0);
    const pid_t child = start_child();
    assert_true(remote_open(&remote, child, NULL));
    assert_int_equal(read_one_piece(&remote, (uintptr_t)pages + 4096 - 16, bytes, 16, &good), REMOTE_READ);
    assert_int_equal(read_one_piece(&remote, (uintptr_t)pages + 4096 - 8, bytes, 16, &good), REMOTE_UNREADABLE);
    assert_int_equal(good, 0);
    remote_close(&remote);
    end_child(child);
    munmap(pages, 4096);
}

/* What stands before the hole is whole, and counted. */
static void memory_that_is_not_there_ends_the_read(void **state)
{
    (void)state;
    unsigned char a[8], b[8], c[8];
    struct remote remote;
    const pid_t child = start_child();
    assert_true(remote_open(&remote, child, NULL));
    for (size_t hole = 0; hole < 3; hole++) {
        struct piece pieces[] = { { (uintptr_t)pattern, 8, a },
                                  { (uintptr_t)pattern + 8, 8, b },
                                  { (uintptr_t)pattern, 8, c } };
        size_t good = 99;
        pieces[hole].address = 0x10;
        assert_int_equal(remote_read_pieces(&remote, pieces, 3, &good), REMOTE_UNREADABLE);
        assert_int_equal(good, hole);
    }
    uint64_t word;
    assert_int_equal(remote_read(&remote, UINT64_MAX - 3, &word, sizeof(word)), REMOTE_UNREADABLE);
    assert_int_equal(remote_read(&remote, (uint64_t)1 << 63, &word, sizeof(word)), REMOTE_UNREADABLE);
    remote_close(&remote);
    end_child(child);
}

static void an_ended_process_is_gone(void **state)
{
    (void)state;
    uint64_t word = 0;
    unsigned char byte;
    struct remote remote;
    struct fault why = { 0 };
    const pid_t child = start_child();
    assert_true(remote_open(&remote, child, NULL));
    end_child(child);
    assert_int_equal(remote_read(&remote, (uintptr_t)pattern, &byte, 1), REMOTE_GONE);
    assert_int_equal(read_one_piece(&remote, (uintptr_t)pattern, &byte, 1, NULL), REMOTE_GONE);
    assert_false(remote_same_program(&remote, (uintptr_t)pattern, &word));
    remote_close(&remote);
    errno = 0;
    assert_false(remote_open(&remote, child, &why));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(strncmp(why.text, "cannot open /proc/", 18), 0);
    remote_close(&remote);
}

/* Another program in the same process is not the one that was opened, even where its memory looks the same. */
static void another_program_is_noticed(void **state)
{
    (void)state;
    uint64_t word = 0;
    int go[2], gone[2];
    char byte;
    struct remote remote;
    assert_int_equal(pipe(go), 0);
    assert_int_equal(pipe2(gone, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (read(go[0], &byte, 1) == 1)
            execlp("sleep", "sleep", "100", (char *)NULL);
        _exit(1);
    }
    close(gone[1]);
    assert_true(remote_open(&remote, child, NULL));
    assert_true(remote_same_program(&remote, (uintptr_t)pattern, &word));
    assert_int_equal(write(go[1], "x", 1), 1);
    assert_int_equal(read(gone[0], &byte, 1), 0); /* closed by a successful exec */
    assert_false(remote_same_program(&remote, (uintptr_t)pattern, &word));
    assert_int_equal(read_one_piece(&remote, (uintptr_t)pattern, &word, sizeof(word), NULL), REMOTE_GONE);
    remote_close(&remote);
    end_child(child);
    close(go[0]);
    close(go[1]);
    close(gone[0]);
}

static void a_full_call_takes_no_more(void **state)
{
    (void)state;
    struct {
        struct batch batch;
        unsigned char behind[sizeof(struct piece)];
    } *room = alloc_zeroed(1, sizeof(*room));
    for (size_t i = 0; i < REMOTE_PIECES; i++)
        assert_true(batch_add(&room->batch, 8, 8, pattern));
    for (int i = 0; i < 3; i++)
        assert_false(batch_add(&room->batch, 16, 8, pattern));
    assert_int_equal(room->batch.count, REMOTE_PIECES);
    for (size_t i = 0; i < sizeof(room->behind); i++)
        assert_int_equal(room->behind[i], 0);
    free(room);
}

/* What a program composes may be long to read, but not endless. */
static void reading_ends_at_a_moment(void **state)
{
    (void)state;
    uint64_t word;
    struct remote remote;
    const pid_t child = start_child();
    assert_true(remote_open(&remote, child, NULL));
    remote_give_up_at(&remote, 1); /* long ago */
    size_t calls = 0;
    while (remote_read(&remote, (uintptr_t)pattern, &word, sizeof(word)) == REMOTE_READ)
        assert_true(++calls < REMOTE_GLANCE);
    const struct piece piece = { (uintptr_t)pattern, sizeof(word), &word };
    size_t good = 1;
    assert_int_equal(remote_read_pieces(&remote, &piece, 1, &good), REMOTE_UNREADABLE);
    assert_int_equal(good, 0);
    assert_true(remote_same_program(&remote, (uintptr_t)pattern, &word));
    remote_give_up_at(&remote, UINT64_MAX);
    assert_int_equal(remote_read(&remote, (uintptr_t)pattern, &word, sizeof(word)), REMOTE_READ);
    remote_give_up_at(&remote, 0);
    assert_int_equal(remote_read_pieces(&remote, &piece, 1, &good), REMOTE_READ);
    remote_close(&remote);
    end_child(child);
}

TEST_FILE(remote)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_read_with_one_call),
        cmocka_unit_test(reading_ends_at_a_moment),
        cmocka_unit_test(one_piece_is_read),
        cmocka_unit_test(a_full_call_takes_no_more),
        cmocka_unit_test(a_piece_that_is_cut_off_is_not_good),
        cmocka_unit_test(memory_that_is_not_there_ends_the_read),
        cmocka_unit_test(an_ended_process_is_gone),
        cmocka_unit_test(another_program_is_noticed),
    };
    return run_all(tests);
}
