/* SPDX-License-Identifier: MIT */
/* What tests/soak/hostile.py does with its own memory: writes anything into the words that the recorder reads, and puts
 * back what was there before its own interpreter sees a difference. hostile.py calls lie() with the interpreter's lock
 * held, so that no thread of its own runs Python meanwhile. A library for ctypes, because the program runs under each
 * version of CPython. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LIES_MOST 12
#define FAKE_SIZE ((size_t)1 << 20) /* bytes of made-up structures */
#define NAP_MOST  120000u           /* nanoseconds that a lie stands, most of the time */
#define LONG_MOST 4000000u

static uint64_t state;
static unsigned char *fake, *forbidden;
static char **again; /* arguments of the next program */
static pid_t self;

/* xorshift64* */
static uint64_t dice(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717u;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct range {
    uint64_t at, size;
};

/* Lies for so long, then tells the truth again. Returns the number of words written. */
__attribute__((visibility("default"))) uint64_t lie(const struct range *ranges, size_t count, uint64_t length_ns);

/* Prepares lie(). `arguments`: what starts the program again after a crash, or when `seconds` have passed. */
__attribute__((visibility("default"))) bool prepare(uint64_t seed, char **arguments, unsigned seconds);

static uint64_t *any_word(const struct range *ranges, size_t count)
{
    const struct range *range = &ranges[dice() % count];
    return (uint64_t *)(range->at & ~(uint64_t)7) + dice() % (range->size / 8);
}

/* Fills a part of the made-up structures: with a copy of a true structure, with addresses of the part itself, or with
 * anything. */
static void make_up(const struct range *ranges, size_t count)
{
    const size_t part = dice() % (FAKE_SIZE / 4096) * 4096;
    uint64_t *words = (uint64_t *)(fake + part);
    const struct range *range = &ranges[dice() % count];
    switch (dice() % 4) {
    case 0:
        memcpy(words, (const void *)(uintptr_t)range->at, range->size < 4096 ? range->size : 4096);
        break;
    case 1:
        for (size_t i = 0; i < 512; i++)
            words[i] = (uint64_t)(uintptr_t)(words + dice() % 512);
        break;
    case 2:
        for (size_t i = 0; i < 512; i++)
            words[i] = (uint64_t)(uintptr_t)any_word(ranges, count);
        break;
    default:
        for (size_t i = 0; i < 512; i++)
            words[i] = dice() >> (dice() % 64);
    }
}

/* What is written in the place of `before`, a word at `at`. */
static uint64_t any_value(const struct range *ranges, size_t count, uint64_t before, const uint64_t *at)
{
    static const uint64_t odd[] = { 0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    8,
                                    UINT64_MAX,
                                    UINT64_MAX - 7,
                                    (uint64_t)1 << 63,
                                    (uint64_t)1 << 32,
                                    0xDDDDDDDDDDDDDDDD,
                                    0x00007ffffffff000,
                                    0xffffffff80000000,
                                    4096,
                                    1 << 20,
                                    INT32_MAX };
    switch (dice() % 12) {
    case 0:
    case 1:
        return odd[dice() % (sizeof(odd) / sizeof(*odd))];
    case 2:
        return before ^ (uint64_t)1 << dice() % 64;
    case 3:
        return before + (dice() % 65 - 32) * 8;
    case 4:
        return (uint64_t)(uintptr_t)at;
    case 5:
    case 6:
        return *any_word(ranges, count);
    case 7:
        return (uint64_t)(uintptr_t)any_word(ranges, count);
    case 8:
    case 9:
        return (uint64_t)(uintptr_t)(fake + dice() % (FAKE_SIZE / 8) * 8);
    case 10:
        return (uint64_t)(uintptr_t)(forbidden + dice() % 8192 - 4096);
    default:
        return dice();
    }
}

static void spin(uint64_t length_ns)
{
    const uint64_t end_ns = now_ns() + length_ns;
    while (now_ns() < end_ns)
        ;
}

uint64_t lie(const struct range *ranges, size_t count, uint64_t length_ns)
{
    const uint64_t end_ns = now_ns() + length_ns;
    uint64_t written = 0;
    while (now_ns() < end_ns) {
        volatile uint64_t *words[LIES_MOST];
        uint64_t before[LIES_MOST];
        const size_t lies = 1 + dice() % LIES_MOST;
        make_up(ranges, count);
        for (size_t i = 0; i < lies; i++) {
            words[i] = any_word(ranges, count);
            before[i] = *words[i];
            const uint64_t value = any_value(ranges, count, before[i], (const uint64_t *)words[i]);
            if (dice() % 4)
                *words[i] = value;
            else
                *(volatile unsigned char *)words[i] = (unsigned char)value;
        }
        spin(dice() % (dice() % 64 ? NAP_MOST : LONG_MOST));
        for (size_t i = lies; i-- > 0;)
            *words[i] = before[i];
        written += lies;
    }
    return written;
}

/* A lie that the program itself fell for: the program begins anew. */
static void begin_anew(int number)
{
    sigset_t none;
    (void)number;
    if (getpid() != self) /* a child with a part of the threads, whose end is no loss */
        _exit(98);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(again[0], again);
    _exit(99);
}

bool prepare(uint64_t seed, char **arguments, unsigned seconds)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM, SIGTRAP };
    static unsigned char stack[65536];
    state = seed * 2 + 1;
    for (int i = 0; i < 20; i++)
        dice();
    again = arguments;
    self = getpid();
    fake = mmap(NULL, FAKE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    forbidden = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fake == MAP_FAILED || forbidden == MAP_FAILED)
        return false;
    const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
    sigaltstack(&other, NULL);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++) {
        struct sigaction action = { .sa_handler = begin_anew, .sa_flags = SA_NODEFER | SA_ONSTACK };
        sigemptyset(&action.sa_mask);
        sigaction(crashes[i], &action, NULL);
    }
    alarm(seconds);
    return true;
}
