/* SPDX-License-Identifier: MIT */
/* A process with the memory of a free-threaded CPython and nothing else of it: free-threaded 3.13|3.14|3.15|3.16. For
 * tests/e2e, where no such build is at hand. Its main thread is attached, and works in f and in what that calls by
 * turns; another is detached and waits. The linker says that _PyRuntime is at FAKE_BASE. */
#include "tests/fakes/fake_python.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_US 3000

static volatile pid_t waiter_tid;

static void *wait_for_end(void *unused)
{
    waiter_tid = (pid_t)syscall(SYS_gettid);
    for (;;)
        pause();
    return unused;
}

/* From now on its memory is ours: the runtime at the address that _PyRuntime has. */
static bool move_in(struct fake_python *p)
{
    unsigned char *memory = mmap((void *)FAKE_BASE, FAKE_SIZE, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != (void *)FAKE_BASE)
        return false;
    memcpy(memory, p->memory, FAKE_SIZE);
    p->memory = memory;
    return p->target.runtime.address == FAKE_BASE;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t version;
    } versions[] = { { "3.13", 0x030d12f1 }, { "3.14", 0x030e0af1 }, { "3.15", 0x030f02f1 }, { "3.16", 0x031000a1 } };
    uint32_t version = 0;
    for (size_t i = 0; argc == 2 && i < sizeof(versions) / sizeof(versions[0]); i++)
        if (strcmp(argv[1], versions[i].name) == 0)
            version = versions[i].version;
    if (version == 0)
        return 2;
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_end, NULL);
    while (waiter_tid == 0)
        usleep(100);

    struct fake_python *p = fake_python_start(version);
    const struct layout *l = fake_layout(p);
    const uint64_t m = fake_code(p, "<module>", 1, 9), f = fake_code(p, "f", 20, 9), g = fake_code(p, "g", 40, 9);
    const size_t waits = fake_thread(p, (uint32_t)waiter_tid);
    fake_poke(p, p->threads[0].address + l->thread_native_id, (uint64_t)getpid());
    fake_poke(p, p->threads[0].address + l->thread_id, (uint64_t)pthread_self());
    fake_poke(p, p->threads[waits].address + l->thread_id, (uint64_t)waiter);
    fake_take_lock(p, 0);
    fake_stack(p, waits, (struct fake_frame[]){ { PLAIN, fake_code(p, "wait", 60, 9), 3 } }, 1);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, m, 2 }, { PLAIN, f, 1 } }, 2);
    if (!move_in(p))
        return 1;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (;;) {
        fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, m, 2 }, { PLAIN, f, 1 } }, 2);
        usleep(TURN_US);
        fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, m, 2 }, { PLAIN, f, 3 }, { PLAIN, g, 2 } }, 3);
        usleep(TURN_US);
    }
}
