/* SPDX-License-Identifier: MIT */
/* The layout of CPython's structures: offsets in bytes, and what a version does differently. CPython 3.13 and later
 * publish most offsets at the start of _PyRuntime (struct _Py_DebugOffsets, whose own shape differs by minor version).
 * Those of 3.11 and 3.12 are fixed. Facts that no version publishes are in a table of layout.c, with a column for each
 * version. No other file of the recorder compares versions: a difference is a member of this struct, whose name says
 * what the version does.
 *
 *     _PyRuntime ─ runtime_interpreters_head ─▶ interpreter ─ interpreter_next ─▶ ...
 *                                                 └ interpreter_threads_head ─▶ thread ─ thread_next ─▶ ...
 *     thread ─ thread_current_frame ─▶ leaf frame ─ frame_previous ─▶ caller ─ ... ─▶ root
 *     frame ─ frame_executable ─▶ code object ─▶ name, file, line table
 *
 * Published values come from the target and are not trusted: layout_load() bounds each. */
#ifndef PYREEL_RECORD_PYTHON_LAYOUT_H
#define PYREEL_RECORD_PYTHON_LAYOUT_H

#include "formats/base/fault.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_PUBLISHED_HEAD 24   /* bytes that say which published table follows: cookie, version, threading */
#define LAYOUT_PUBLISHED_MAX  1024 /* bytes of the largest one we know */
#define LAYOUT_FIRST          "3.11"
#define LAYOUT_SUPPORTED      LAYOUT_FIRST " to 3.15, and 3.16 as of alpha 0"

/* Upper limits of the sizes in a layout that layout_load() accepts, in bytes. */
#define LAYOUT_THREAD_MAX      4096 /* thread_size */
#define LAYOUT_FRAME_MAX       128  /* frame_size */
#define LAYOUT_CODE_MAX        512  /* code_size */
#define LAYOUT_OBJECT_MAX      128  /* the head of any other object */
#define LAYOUT_IDENTITY_MAX    96   /* code_identity_size */
#define LAYOUT_INTERPRETER_MAX 2048 /* interpreter_size */
#define LAYOUT_BASIC_SIZE_MAX  4096 /* an object of a Python class, without its values */
#define LAYOUT_GIL_SIZE        24   /* struct _gil_runtime_state from last_holder on: that, int locked, switch_number */
/* 3.11: bytes from the lock's word last_holder to gilstate.tstate_current. In between are the members above, two
 * condition variables, each with its mutex, and int check_enabled. */
#define LAYOUT_GIL_CURRENT (LAYOUT_GIL_SIZE + 2 * (sizeof(pthread_cond_t) + sizeof(pthread_mutex_t)) + 8)
#define LAYOUT_GIL_MAX     (LAYOUT_GIL_CURRENT + 8) /* bytes of the lock from last_holder on, in any version */

struct layout {
    uint32_t version;       /* PY_VERSION_HEX of the target */
    uint32_t free_threaded; /* 1: a build without the global lock (3.13t and later), whose objects have a larger head */

    uint32_t runtime_interpreters_head;
    uint32_t interpreter_id, interpreter_next, interpreter_threads_head;
    uint32_t interpreter_code_generation;         /* grows when a code object is freed; 0: not kept (before 3.14) */
    uint32_t interpreter_copies_generation;       /* u32: grows when copies of bytecode may change hands; 0: none */
    uint32_t interpreter_start, interpreter_size; /* the part that has the members above and own_gil */
    uint32_t interpreter_gc;                      /* struct _gc_runtime_state; offsets in it: */
    uint32_t gc_collecting;                       /* int: a collection runs */
    uint32_t gc_frame;                            /* address of the frame that started it; 0: not kept */
    /* Of a collector with three generations: how many bytes in front of gc_collecting the array of generations is, or
     * the address of the array. At most one is not 0. Both are 0 where it is not known which generation is collected.
     */
    uint32_t gc_generations_before, gc_generations_address_before;
    /* The global lock. 3.11: the runtime contains the lock. Later: interpreter_gil is a pointer to the lock, which the
     * same interpreter contains (interpreter_own_gil) or the main one. runtime_gil and interpreter_own_gil are the
     * offsets of the lock's word last_holder. Behind a lock of the runtime is the address of the thread state that runs
     * (LAYOUT_GIL_CURRENT), 0 while no thread state does. */
    uint32_t runtime_gil, interpreter_gil, interpreter_own_gil;

    uint32_t thread_prev, thread_next, thread_interpreter, thread_native_id;
    uint32_t thread_id;            /* the thread's pthread_self(): on x86-64 the thread pointer */
    uint32_t thread_current_frame; /* address of the current frame; before 3.13 see the next two: */
    uint32_t thread_cframe;        /* before 3.13: address of the newest C frame (struct _PyCFrame); 0: not kept ... */
    uint32_t cframe_current_frame; /* ... in a C frame: address of the current frame, then of the previous C frame */
    uint32_t notes_current_late;   /* 1: a thread points to a C frame before the current frame is written into it
                                      (before 3.13) */
    uint32_t thread_base_frame;    /* address of the base frame, above the root; 0: not kept (before 3.15) */
    uint32_t thread_chunk;      /* addresses: newest chunk of the data stack, then its first free word, then its end */
    uint32_t thread_gil_wait;   /* int: the thread waits for the interpreter's lock; 0: not kept */
    uint32_t thread_attachment; /* int: one of enum attachment; 0: not used (builds with the lock) */
    uint32_t thread_exception;  /* the exception that is being raised (3.11: its traceback) */
    uint32_t thread_exc_info;   /* address of the innermost item {handled exception, previous}, see exc_state.h */
    uint32_t thread_handler;    /* the outermost item, which lies in the thread's state */
    uint32_t thread_size;       /* bytes from the start that hold all of the above */

    uint32_t frame_previous, frame_executable, frame_instruction, frame_owner;
    uint32_t frame_locals;       /* its local variables, then its stack of values */
    uint32_t frame_stack;        /* since 3.14, for asyncio: address of the end of the stack of values */
    uint32_t frame_copy;         /* int: which copy of the bytecode the frame executes; 0: there are no copies */
    uint32_t frame_entry;        /* a byte that is 1 if C code entered the frame; 0: not kept (since 3.12) */
    uint32_t frame_object;       /* address of the frame object, if Python code has asked for one */
    uint32_t frame_size;         /* bytes from the start that hold all of the above */
    uint32_t owner_generator;    /* a frame inside a generator or coroutine */
    uint32_t owner_frame_object; /* a frame that has left its stack */
    uint32_t owner_shim;         /* this and higher: an entry shim, which has no code object */
    uint32_t root_is_shim;       /* 1: every stack ends in an entry shim (3.12 and later) */
    uint32_t executable_tags;    /* bits of the executable's word that are not its address (since 3.14) */
    uint64_t executable_mask;    /* the other bits */

    uint32_t code_name, code_file, code_line_table, code_first_line, code_instructions, code_units;
    uint32_t code_copies; /* address of the array of bytecode copies, see below; 0: there are no copies */
    const struct opcode_name *opcode_names;
    uint32_t
        code_first_traceable; /* the unit at which the function has begun; behind the last unit: CPython's own code */
    uint32_t code_flags, code_locals, code_stack; /* the last two: words of a frame for variables, and for values */
    /* A part of the code object that stays the same while it lives. From 3.12 on it contains co_version, a number that
     * an interpreter gives only once. */
    uint32_t code_identity, code_identity_size;
    uint32_t code_version; /* co_version; 0: not kept (3.11) */
    uint32_t code_size;    /* bytes from the start that hold all of the above but the instructions */

    uint32_t object_type, type_name;
    uint32_t string_length, string_state, string_ascii, string_compact; /* the last two: where the characters begin */
    uint32_t string_kind; /* in the state: the bits from this one on are kind 3, compact 1, ascii 1 */
    uint32_t string_hash;
    uint32_t bytes_size, bytes_data;
    uint32_t tuple_items; /* from the number of a tuple's items, behind the object's head, to the first item */
    /* For the names of threads, see record/names/dict.h. */
    uint32_t interpreter_modules;  /* address of the dict of modules */
    uint32_t object_dict_before;   /* bytes before an object of a Python class: address of its dict, or 0 */
    uint32_t dict_word_is_tagged;  /* 1: an odd number there is the address of its values, minus 1 (3.12) */
    uint32_t object_values_before; /* bytes before an object: address of its values (3.11); 0: not there */
    uint32_t values_first;         /* in an array of values: the first */
    uint32_t type_cached_keys;     /* in a type: address of the keys of its objects' attributes */
    uint32_t type_managed_dict;    /* a bit of its flags: its objects have the words above */
    uint32_t type_inline_values;   /* a bit of its flags: the values are behind the object (since 3.13); 0: none */
    uint32_t int_count_bit;        /* in an int: the bit at which the number of digits begins */
    uint32_t generator_frame;      /* the frame in a generator, coroutine or asynchronous generator */
    uint32_t type_flags, type_basic_size;

    /* For asyncio's tasks: the coroutines of tasks, sets, ints. */
    uint32_t publishes_tasks;                    /* 1: a section of the module _asyncio has what follows of tasks */
    uint32_t generator_state;                    /* a signed byte, with these values: */
    int32_t state_waits_first, state_waits_last; /* from first to last: suspended, and may wait for another one, */
    int32_t state_runs, state_ended;             /* on a thread's stack; this and higher: ended */
    uint32_t waits_by_argument; /* 1: a suspended one waits for another one if the next instruction says so (RESUME) */
    uint32_t stack_is_index;    /* 1: frame_stack is the number of words in use, of locals and values (before 3.14) */
    uint32_t awaited_words;     /* the awaited object is this many words before the end of the stack of values */
    uint32_t set_used, set_mask, set_table;
    uint32_t int_tag, int_digits; /* number of digits << 3; then digits of 30 bits */
    /* Before 3.14, in builds with the lock; else all are 0. See record/asyncio/asyncio_module.h. */
    uint32_t future_loop, future_callback, future_callbacks, future_state, future_size;
    uint32_t task_coroutine, task_name, task_size;
    int32_t task_weak_references; /* what the type says of their place */
    uint32_t thread_dict;         /* in a thread: address of the dict that has its running event loop; 0: see next */
    uint32_t thread_loop;         /* in a thread: address of its running event loop (3.13) */
    uint32_t loop_is_held;        /* 1: the dict has an object whose first member is the loop (3.11) */

    uint32_t chunk_previous, chunk_size, chunk_top, chunk_data; /* of the data stack: see snapshot.h */
};

/* In a free-threaded build many threads are attached to an interpreter at once, and only attached threads run Python. A
 * thread that needs the others to stand still suspends them. The values are _Py_THREAD_* of pycore_pystate.h. */
enum attachment {
    THREAD_DETACHED,
    THREAD_ATTACHED,
    THREAD_SUSPENDED,
    THREAD_SHUTTING_DOWN,
    THREAD_SUSPENDED_WAITING, /* since 3.15 */
};

/* From 3.14 on, each thread of a free-threaded build specialises its own copy of the bytecode. The array of copies is a
 * _PyCodeArray of cpython/code.h: the number of copies, then the address of each. Copy 0 is the one in the code object.
 */
#define LAYOUT_COPIES_FIRST 8 /* offset of the first address in the array */

/* struct gc_generation: a list head of two words, int threshold, int count. */
#define LAYOUT_GENERATION_SIZE  24
#define LAYOUT_GENERATION_COUNT 20 /* offset of the count */
#define LAYOUT_GENERATIONS      3

/* Whether the LAYOUT_PUBLISHED_HEAD bytes at the start of a _PyRuntime begin a published table. *version: the version
 * that the table states, as PY_VERSION_HEX. */
bool layout_published(const void *head, uint32_t *version);

/* Fills in the layout for a version (PY_VERSION_HEX). `published` has the first `size` bytes of _PyRuntime; they are
 * used from 3.13 on. Returns false with the reason when the version is not supported or a published offset is out of
 * bounds. 3.16 is known as of alpha 0: a release whose published table shows other structures is refused, and the
 * instructions of all but alpha 0 have no names. */
bool layout_load(struct layout *layout, uint32_t version, const void *published, size_t size, struct fault *why);

#endif
