/* SPDX-License-Identifier: MIT */
/* On which processor a thread runs: what /proc says, and what the kernel notes in the thread's own memory. The process
 * is ourselves, with as much of a CPython as makes one: _PyRuntime is where the linker was told. */
#include "record/process/procfs.h"
#include "record/python/runtime.h"

#include "formats/base/alloc.h"
#include "tests/fakes/published.h"
#include "tests/fakes/testing.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUNTIME_AT ((void *)0x7f1200000000)
#define CPU_ID     4 /* where the processor is in struct rseq */
#define NOBODY     0x3FFFFFFF

static cpu_set_t allowed;

/* A thread that is bound to a processor and waits. */
struct bound {
    uint32_t processor;
    pthread_t thread;
    sem_t there, over;
    uint32_t tid;
    uint64_t pointer;
};

static void bind_to(uint32_t processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static void *be_bound(void *data)
{
    struct bound *bound = data;
    bind_to(bound->processor);
    prctl(PR_SET_NAME, "a b) R 7 (c"); /* as a name may be */
    bound->tid = (uint32_t)syscall(SYS_gettid);
    bound->pointer = (uint64_t)pthread_self();
    sem_post(&bound->there);
    sem_wait(&bound->over);
    return NULL;
}

static void start(struct bound *bound, uint32_t processor)
{
    *bound = (struct bound){ .processor = processor };
    sem_init(&bound->there, 0, 0);
    sem_init(&bound->over, 0, 0);
    assert_int_equal(pthread_create(&bound->thread, NULL, be_bound, bound), 0);
    sem_wait(&bound->there);
}

static void end(struct bound *bound)
{
    sem_post(&bound->over);
    pthread_join(bound->thread, NULL);
}

static void proc_tells_where_a_thread_is(void **state)
{
    (void)state;
    for (uint32_t p = 0; p < CPU_SETSIZE; p++) {
        if (!CPU_ISSET(p, &allowed))
            continue;
        uint32_t processor = UINT32_MAX;
        struct bound bound;
        bind_to(p);
        assert_true(procfs_processor(getpid(), (uint32_t)syscall(SYS_gettid), &processor));
        assert_int_equal(processor, p);
        assert_int_equal(processor, sched_getcpu());
        sched_setaffinity(0, sizeof(allowed), &allowed);
        start(&bound, p);
        processor = UINT32_MAX;
        assert_true(procfs_processor(getpid(), bound.tid, &processor));
        assert_int_equal(processor, p);
        end(&bound);
    }
}

static void nobody_is_nowhere(void **state)
{
    (void)state;
    uint32_t processor;
    assert_false(procfs_processor(NOBODY, NOBODY, &processor));
    assert_false(procfs_processor(getpid(), NOBODY, &processor));
    assert_false(procfs_processor(getpid(), 1, &processor)); /* no thread of ours */
}

/* ---- the note in a thread's memory ---- */

/* From now on we have the head of a CPython 3.14. */
static void be_python(void)
{
    unsigned char *memory = mmap(RUNTIME_AT, 1 << 20, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(memory, RUNTIME_AT);
    memcpy(memory, published_3_14, sizeof(published_3_14));
    struct layout layout;
    assert_true(layout_load(&layout, 0x030e0af0, published_3_14, sizeof(published_3_14), NULL));
    const uint64_t somewhere = (uint64_t)(uintptr_t)RUNTIME_AT;
    memcpy(memory + layout.runtime_interpreters_head, &somewhere, sizeof(somewhere));
}

static uint32_t noted(uint64_t pointer, int64_t rseq)
{
    uint32_t processor;
    memcpy(&processor, (const void *)(uintptr_t)(pointer + (uint64_t)rseq + CPU_ID), sizeof(processor));
    return processor;
}

static void the_thread_has_a_note_of_it(void **state)
{
    (void)state;
    struct remote remote;
    struct runtime runtime;
    struct fault why = { 0 };
    be_python();
    assert_true(remote_open(&remote, getpid(), &why));
    if (runtime_find(&runtime, &remote, &why) != RUNTIME_READY)
        fail_msg("%s", why.text);
    assert_ptr_equal((void *)(uintptr_t)runtime.address, RUNTIME_AT);
    remote_close(&remote);
    if (runtime.rseq == 0) {
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__GLIBC__) && __GLIBC__ * 100 + __GLIBC_MINOR__ >= 235
        fail_msg("this C library has such a note, and it was not found");
#endif
        print_message("not tested: this C library has no such note\n");
        skip();
    }
    for (uint32_t p = 0; p < CPU_SETSIZE; p++) {
        if (!CPU_ISSET(p, &allowed))
            continue;
        bind_to(p);
        assert_int_equal(noted((uint64_t)pthread_self(), runtime.rseq), p);
        sched_setaffinity(0, sizeof(allowed), &allowed);
        struct bound bound;
        start(&bound, p);
        assert_int_equal(noted(bound.pointer, runtime.rseq), p);
        end(&bound);
    }
}

TEST_FILE(processor)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(proc_tells_where_a_thread_is),
        cmocka_unit_test(nobody_is_nowhere),
        cmocka_unit_test(the_thread_has_a_note_of_it),
    };
    sched_getaffinity(0, sizeof(allowed), &allowed);
    return run_all(tests);
}
