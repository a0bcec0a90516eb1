/* SPDX-License-Identifier: MIT */
/* A small CPython of any version in fake memory, built by hand: a runtime, interpreters, threads, frames, code objects.
 * Plain frames lie on the thread's data stack, those of generators and the marks of entries from C elsewhere, as the
 * version does it. Where it keeps what, is layout's business, which test_layout.c compares with real Pythons. */
#ifndef PYREEL_TESTS_FAKE_PYTHON_H
#define PYREEL_TESTS_FAKE_PYTHON_H

#include "formats/tables.h"
#include "record/unwind.h"

#define FAKE_BASE    0x7f1200000000u
#define FAKE_SIZE    ((size_t)1 << 20)
#define FAKE_THREADS 4
#define FAKE_STRAYS  512
#define FAKE_CHUNK   (16u << 10)

/* In each of them the recorder must see the same. */
static const uint32_t fake_versions[] = { 0x030b07f0, 0x030c01f0, 0x030d00f0, 0x030e0af0, 0x030f02f0 };

struct fake_frame {
    enum { PLAIN, GENERATOR, SHIM } kind;
    uint64_t code;
    int unit; /* each is a line */
};

struct fake_thread {
    uint64_t address, cframe, base_frame, chunk;
    struct walk walk;
    struct unwound unwound;
    enum unwind_state state;
};

struct fake_python {
    unsigned char *memory;
    size_t used;
    struct target target; /* open */
    struct tables tables; /* what was defined */
    struct codes codes;
    struct unwinder unwinder;
    uint64_t interpreter, code_type;
    uint64_t strays[FAKE_STRAYS]; /* where the n-th frame of a stack is when it is not on the data stack */
    uint32_t last_code_version;
    struct fake_thread threads[FAKE_THREADS];
    size_t threads_count;
    char text[65536];
};

/* A process with an interpreter and a thread that has no frames. */
struct fake_python *fake_python_start(uint32_t version);
void fake_python_end(struct fake_python *p);
/* Tells a story of each version. */
void fake_each_version(void (*story)(struct fake_python *p));

/* ---- memory ---- */

/* Zeroed room. */
uint64_t fake_room(struct fake_python *p, size_t size);
void fake_poke(struct fake_python *p, uint64_t address, uint64_t value);
uint64_t fake_peek(const struct fake_python *p, uint64_t address);
unsigned char *fake_bytes(const struct fake_python *p, uint64_t address);

/* ---- what a Python has ---- */

/* A str of ASCII. */
uint64_t fake_string(struct fake_python *p, const char *text);
/* A function whose n-th code unit is in line `first_line` + n. */
uint64_t fake_code(struct fake_python *p, const char *name, uint32_t first_line, uint32_t units);
/* Makes one where there is one already, as when that has been freed. */
void fake_code_at(struct fake_python *p, uint64_t address, const char *name, uint32_t first_line, uint32_t units);
/* One more thread, at the head of the list. Returns its place in `threads`. */
size_t fake_thread(struct fake_python *p, uint32_t native_id);

/* The thread's stack is this from now on, root first; what is needed below the root is put there. */
void fake_stack(struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t count);
/* Where the n-th frame of a thread's stack is. */
uint64_t fake_frame_address(const struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t n);
/* Where the thread keeps its leaf. */
uint64_t fake_leaf_at(const struct fake_python *p, size_t thread);

/* ---- what the recorder sees ---- */

/* Unwinds the thread: "<module>:3 f:11", or why not. Valid until the next call. */
const char *fake_sample(struct fake_python *p, size_t thread);

#endif
