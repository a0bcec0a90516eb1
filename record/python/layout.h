/* SPDX-License-Identifier: MIT */
/* Where each CPython keeps what we read: offsets in its structures, in bytes. CPython 3.13 and later publish most of
 * them at the start of _PyRuntime (struct _Py_DebugOffsets, whose own shape differs by minor version); 3.11 and 3.12
 * have fixed ones. Facts that no version publishes are in a table of layout.c, a column for each version. No other file
 * of the recorder compares versions: a difference is a field of this struct, whose name says what the version does.
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

#include <stddef.h>
#include <stdint.h>

#define LAYOUT_PUBLISHED_HEAD 24   /* bytes that tell which published table follows: cookie, version, threading */
#define LAYOUT_PUBLISHED_MAX  1024 /* bytes of the largest one we know */
#define LAYOUT_FIRST          "3.11"
#define LAYOUT_SUPPORTED      LAYOUT_FIRST " to 3.15"
#define LAYOUT_TASKS_SINCE    "3.14" /* publishes_tasks */

/* What layout_load() lets through is not larger than this, in bytes. */
#define LAYOUT_THREAD_MAX      4096 /* thread_size */
#define LAYOUT_FRAME_MAX       128  /* frame_size */
#define LAYOUT_CODE_MAX        512  /* code_size */
#define LAYOUT_OBJECT_MAX      128  /* the head of any other object */
#define LAYOUT_IDENTITY_MAX    96   /* code_identity_size */
#define LAYOUT_INTERPRETER_MAX 2048 /* interpreter_size */
#define LAYOUT_GIL_SIZE        24   /* struct _gil_runtime_state from last_holder on: that, int locked, switch_number */

struct layout {
    uint32_t version;       /* PY_VERSION_HEX of the target */
    uint32_t free_threaded; /* 1: a build without the global lock (3.13t and later), whose objects have a larger head */

    uint32_t runtime_interpreters_head;
    uint32_t interpreter_id, interpreter_next, interpreter_threads_head;
    uint32_t interpreter_code_generation;         /* grows when a code object is freed; 0: not kept (before 3.14) */
    uint32_t interpreter_copies_generation;       /* u32: grows when copies of bytecode may change hands; 0: none */
    uint32_t interpreter_start, interpreter_size; /* the part of it that holds the above and own_gil */
    uint32_t interpreter_gc;                      /* struct _gc_runtime_state, in it: */
    uint32_t gc_collecting;                       /* int: a collection is at work */
    uint32_t gc_frame;                            /* address of the frame that started it; 0: not kept */
    /* The global lock. 3.11: the runtime contains the lock. Later: interpreter_gil is a pointer to the lock, which the
     * same interpreter contains (interpreter_own_gil) or the main one. runtime_gil and interpreter_own_gil are the
     * offsets of the lock's word last_holder. */
    uint32_t runtime_gil, interpreter_gil, interpreter_own_gil;

    uint32_t thread_prev, thread_next, thread_interpreter, thread_native_id;
    uint32_t thread_id;            /* what pthread_self() gave it: on x86-64 the thread pointer */
    uint32_t thread_current_frame; /* the leaf; before 3.13 behind one more pointer: */
    uint32_t thread_cframe;        /* 0, or where the thread keeps the address of the struct with the leaf in it ... */
    uint32_t cframe_current_frame; /* ... and where that is there, followed by the address of the struct before it */
    uint32_t notes_current_late;   /* 1: a thread points to that struct before the leaf is in it (before 3.13) */
    uint32_t thread_base_frame;    /* the address of the frame that is every stack's root; 0: not kept (before 3.15) */
    uint32_t thread_chunk;         /* newest chunk of the data stack; behind it: its first free word, its limit */
    uint32_t thread_gil_wait;      /* int: it waits for the interpreter's lock; 0: not kept */
    uint32_t thread_attachment;    /* int: one of enum attachment; 0: not kept where we look (builds with the lock) */
    uint32_t thread_exception;     /* what is being raised (3.11: its traceback) */
    uint32_t thread_exc_info;      /* address of the innermost {exception handled, previous} */
    uint32_t thread_handler;       /* the outermost of these, in the thread's state itself */
    uint32_t thread_size;          /* bytes from the start that hold all of the above */

    uint32_t frame_previous, frame_executable, frame_instruction, frame_owner;
    uint32_t frame_locals;     /* its local variables, then its stack of values */
    uint32_t frame_stack;      /* where that stack ends; says whether the frame runs, see live/find.h */
    uint32_t stack_is_pointer; /* 1: as an address (since 3.14), 0: as a number of words, 32 bits */
    /* One of the two is 1. Before 3.14 frame_stack is -1 while the interpreter or C runs in the frame. Since 3.14 it is
     * at the bottom in a frame that has returned, or that frame has no code. */
    uint32_t marks_running_frames, marks_returned_frames;
    uint32_t frame_copy;         /* int: which copy of its bytecode it executes; 0: there are none */
    uint32_t frame_entry;        /* a byte that is 1 when it was entered from C; 0: not kept (since 3.12) */
    uint32_t frame_size;         /* bytes from the start that hold all of the above */
    uint32_t owner_generator;    /* a frame inside a generator or coroutine */
    uint32_t owner_frame_object; /* a frame that has left its stack */
    uint32_t owner_shim;         /* this and higher: entered from C, has no code */
    uint32_t root_is_shim;       /* 1: every stack ends in such a frame (3.12 and later) */
    uint32_t executable_tags;    /* bits of the executable's word that are not its address (since 3.14) */
    uint64_t executable_mask;    /* the other bits */

    uint32_t code_name, code_file, code_line_table, code_first_line, code_instructions, code_units;
    uint32_t code_copies;    /* address of its copies of the bytecode, see below; 0: there are none */
    const uint16_t *opcodes; /* effects by opcode, see formats/cpython/opcodes.h */
    const struct opcode_name *opcode_names;
    uint32_t code_first_traceable; /* the unit where its function has begun; behind the last: it never does */
    uint32_t code_flags, code_locals, code_stack; /* the last two: how many words a frame of it needs for each */
    /* A part of it that stays the same while it lives. From 3.12 on co_version is in it, a number that an interpreter
     * gives once only. */
    uint32_t code_identity, code_identity_size;
    uint32_t code_version; /* where co_version is in it; 0: not kept (3.11) */
    uint32_t code_size;    /* bytes from the start that hold all of the above but the instructions */

    uint32_t object_type, type_name;
    uint32_t string_length, string_state, string_ascii, string_compact; /* the last two: where the characters begin */
    uint32_t string_kind; /* in the state: the bits from this one on are kind 3, compact 1, ascii 1 */
    uint32_t string_hash;
    uint32_t bytes_size, bytes_data;
    uint32_t generator_frame; /* where its frame is in a generator, coroutine or asynchronous generator */
    uint32_t type_flags, type_basic_size;

    /* For asyncio's tasks. Where these are not published (before 3.14), all are 0. */
    uint32_t publishes_tasks;
    uint32_t generator_state;                    /* a signed byte: */
    int32_t state_waits_first, state_waits_last; /* these: suspended while it waits for another, ... */
    int32_t state_runs, state_ended;             /* ... on a thread's stack; over: this and higher */
    uint32_t awaited_words; /* that other one is so many words before the end of its frame's stack of values */
    uint32_t set_used, set_mask, set_table;
    uint32_t int_tag, int_digits; /* how many digits << 3, then digits of 30 bits */

    uint32_t chunk_previous, chunk_size, chunk_top, chunk_data; /* of the data stack: see snapshot.h */
};

/* In a free-threaded build many threads are attached to an interpreter at once, and only those may do anything with
 * Python; one that wants the others to stand still suspends them. _Py_THREAD_* of pycore_pystate.h. */
enum attachment {
    THREAD_DETACHED,
    THREAD_ATTACHED,
    THREAD_SUSPENDED,
    THREAD_SHUTTING_DOWN,
    THREAD_SUSPENDED_WAITING, /* since 3.15 */
};

/* From 3.14 on, each thread of a free-threaded build specialises a copy of the bytecode of its own (_PyCodeArray of
 * cpython/code.h: their number, then the address of each). The first is the one in the code object itself. */
#define LAYOUT_COPIES_FIRST 8 /* where the addresses begin */

/* Whether the bytes at the start of a _PyRuntime begin a published table, and if so the version it states. */
bool layout_published(const void *head, uint32_t *version);

/* Fills the layout for a version (PY_VERSION_HEX). `published` holds `size` bytes of _PyRuntime, from its start; it is
 * needed from 3.13 on. False when the version is not one we know or a published offset can't be right. */
bool layout_load(struct layout *layout, uint32_t version, const void *published, size_t size, struct fault *why);

#endif
