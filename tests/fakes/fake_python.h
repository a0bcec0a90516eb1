/* SPDX-License-Identifier: MIT */
/* A small CPython of any version in fake memory, built by hand: a runtime, interpreters, threads, frames, code objects.
 * Frames are as the version has them: those of plain calls one behind the other on the thread's data stack, those of
 * generators in heap objects, which the frame that drives them has on its stack of values, entry shims
 * elsewhere; each with the note of where its stack of values ends that its state calls for. What has returned leaves
 * the remains that the version leaves. Where it keeps what, is layout's business, which test_layout.c compares with
 * real Pythons. */
#ifndef PYREEL_TESTS_FAKES_FAKE_PYTHON_H
#define PYREEL_TESTS_FAKES_FAKE_PYTHON_H

#include "record/unwind/unwind.h"

#define FAKE_BASE        0x7f1200000000u
#define FAKE_SIZE        ((size_t)16 << 20)
#define FAKE_THREADS     48
#define FAKE_FRAMES      128 /* of a thread's stack */
#define FAKE_SHIMS       32
#define FAKE_CHUNK       (16u << 10)
#define FAKE_PAGE        4096u
#define FAKE_INTERPRETER 18000 /* bytes of an interpreter that are read */
#define FAKE_UNIT        7     /* code units of a line */
#define FAKE_DRIVE       5     /* from this one on it can drive a generator */
#define FAKE_LOCALS      2     /* words that a frame has for variables ... */
#define FAKE_STACK       4     /* ... and for values, unless fake_code_words() says others */

#define FAKE_FREE_THREADED 1u /* in a version, whose last digit is 0: the free-threaded build of it */
#define FAKE_COPIES        5 /* of bytecode, where there are any: that in the code object, those of the first threads */

/* In each of them the recorder must see the same. */
static const uint32_t fake_versions[] = {
    0x030b07f0, 0x030c01f0, 0x030d00f0, 0x030e0af0, 0x030f02f0,
    0x031000a0, 0x030d12f1, 0x030e0af1, 0x030f02f1, 0x031000a1,
};

struct fake_frame {
    /* A generator is driven by the frame before it: through C in 3.11, later directly. SHIM: the next frame is entered
     * from C; in 3.11 that is a byte in it, later an entry shim between both. */
    enum { PLAIN, GENERATOR, SHIM } kind;
    uint64_t code;
    int unit; /* each is a line; -1: it has not begun */
};

struct fake_thread {
    uint64_t address, cframe, base_frame;
    uint64_t caller_cframe; /* before 3.13: where the C code that called what runs now has noted its current frame */
    uint64_t chunks[4];     /* of the data stack, oldest first; more than the first: see fake_chunk() */
    size_t chunks_count, chunk_begins[4]; /* the frame at which each begins */
    uint64_t root_shim;
    uint64_t off_stack[FAKE_FRAMES]; /* where the n-th frame is when it is a generator's ... */
    uint64_t shims[FAKE_SHIMS];      /* ... and the n-th entry from C, on the C stack */
    struct {
        struct fake_frame is;
        uint64_t address; /* 0: it is no frame of its own in this version */
    } stack[FAKE_FRAMES];
    size_t depth;

    struct walk walk;
    struct unwound unwound; /* the last sample's */
    enum unwind_state state;
    uint32_t keep, attempts;
};

struct fake_python {
    unsigned char *memory;
    size_t used;
    struct target target; /* open */
    struct definitions definitions;
    struct codes codes;
    struct unwinder unwinder;
    uint64_t interpreter, code_type;
    uint32_t last_code_version, last_lines; /* of the code object made last */
    struct fake_thread threads[FAKE_THREADS];
    size_t threads_count;
    char text[65536];
};

/* A process with an interpreter and a thread that has no frames. */
struct fake_python *fake_python_start(uint32_t version);
void fake_python_end(struct fake_python *p);
const struct layout *fake_layout(const struct fake_python *p);
unsigned fake_minor(const struct fake_python *p); /* of its version: 11 to 15 */
/* Tells a story of each version. */
void fake_each_version(void (*story)(struct fake_python *p));

/* A cmocka test that runs a story so: EACH_VERSION(finds_a_chain, walk_a_chain); */
#define EACH_VERSION(sentence, story)                                                                                  \
    static void sentence(void **state)                                                                                 \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        fake_each_version(story);                                                                                      \
    }                                                                                                                  \
    struct fake_python /* takes the semicolon */

/* ---- memory ---- */

/* Zeroed room. */
uint64_t fake_room(struct fake_python *p, size_t size);
/* The same of whole pages, as all has that can be unmapped. */
uint64_t fake_pages(struct fake_python *p, size_t size);
void fake_poke(struct fake_python *p, uint64_t address, uint64_t value);
void fake_poke4(struct fake_python *p, uint64_t address, uint32_t value);
uint64_t fake_peek(const struct fake_python *p, uint64_t address);
uint32_t fake_peek4(const struct fake_python *p, uint64_t address);
unsigned char *fake_bytes(const struct fake_python *p, uint64_t address);

/* ---- what a Python has ---- */

/* A str of ASCII. */
uint64_t fake_string(struct fake_python *p, const char *text);
/* A function with one line for each `unit` of a fake_frame: FAKE_UNIT code units, a CALL and, from FAKE_DRIVE on, a
 * FOR_ITER. The last line returns, unless it is the only one. */
uint64_t fake_code(struct fake_python *p, const char *name, uint32_t first_line, uint32_t lines);
/* The same of a generator. */
uint64_t fake_generator(struct fake_python *p, const char *name, uint32_t first_line, uint32_t lines);
/* Makes one where there is one already, as when that has been freed. */
void fake_code_at(struct fake_python *p, uint64_t address, const char *name, uint32_t first_line, uint32_t lines);
/* Before it is used: what its frames need room for, and one instruction for all of a line. */
void fake_code_words(struct fake_python *p, uint64_t code, uint32_t locals, uint32_t stack);
void fake_opcode(struct fake_python *p, uint64_t code, uint32_t line, uint8_t opcode);
/* The opcode of this name; -1: the version has none. */
int fake_opcode_called(const struct fake_python *p, const char *name);
/* Where a copy of its bytecode begins. */
uint64_t fake_first(const struct fake_python *p, uint64_t code, uint32_t copy);
/* Which one the thread executes. */
uint32_t fake_copy(const struct fake_python *p, size_t thread);
/* Makes it one of CPython's own, which never begin. */
void fake_hide(struct fake_python *p, uint64_t code);
/* One more thread, at the head of the list. Returns its place in `threads`. */
size_t fake_thread(struct fake_python *p, uint32_t native_id);
/* The thread takes the interpreter's lock; in a free-threaded build it is the only one that is attached. */
void fake_take_lock(struct fake_python *p, size_t thread);
/* From the thread's `first`-th frame on, its frames are in one more chunk. */
void fake_chunk(struct fake_python *p, size_t thread, size_t first);

/* The thread's stack is this from now on, root first; what is needed below the root is put there. What it had and is no
 * frame any more has returned, or, if a generator, is suspended. */
void fake_stack(struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t count);
/* The same without what it does to the thread: the current frame and the end of the data stack stay as they are. */
void fake_frames(struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t count);
/* Where the n-th frame of the thread's stack is. */
uint64_t fake_frame_address(const struct fake_python *p, size_t thread, size_t n);
/* Makes what is left of a frame look as if it still waited for one that it called, at this unit. */
void fake_revive(struct fake_python *p, uint64_t frame, uint64_t previous, uint64_t code, int unit);
/* Where the thread keeps its leaf. */
uint64_t fake_leaf_at(const struct fake_python *p, size_t thread);

/* ---- what the recorder sees ---- */

/* Unwinds the thread: "<module>:3 f:11", or why not. Valid until the next call. */
const char *fake_sample(struct fake_python *p, size_t thread);
/* The same of the first thread, which takes a bounded number of calls however much the memory lies. */
const char *fake_bounded_sample(struct fake_python *p);
/* And is to be this. */
void fake_assert_seen(struct fake_python *p, const char *wanted);
/* So many plain frames of this function. */
void fake_fill(struct fake_frame *frames, size_t count, uint64_t code, int unit);
/* Unwinds the first thread, whose stack must be so deep. */
void fake_assert_depth(struct fake_python *p, size_t depth);
/* The stack that a walk has. */
const char *fake_walk_text(struct fake_python *p, const struct walk *walk);

#endif
