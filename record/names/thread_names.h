/* SPDX-License-Identifier: MIT */
/* The names that Python's module `threading` has for its threads: "Thread-1 (work)", "ThreadPoolExecutor-0_0". The
 * kernel's names are cut after 15 bytes, and before CPython 3.14 all threads have the name of the program there.
 *
 *     interpreter ─ modules ─▶ dict ─ "threading" ─▶ module ─▶ dict ─ "_active" ─▶ dict ─ pthread_self() ─▶ Thread
 *     Thread ─ _name ─▶ str                          found once, then remembered ─┘
 *
 * A Thread is believed if its _ident is the pthread_self() that was searched for, and its _native_id is the kernel's
 * number of the thread: a new thread often has the pthread_self() of a thread that has ended. The program runs
 * meanwhile, so a name is believed if the Thread had it before and after the name was read, and may not be found at one
 * moment and be found at the next. */
#ifndef PYREEL_RECORD_NAMES_THREAD_NAMES_H
#define PYREEL_RECORD_NAMES_THREAD_NAMES_H

#include "record/names/dict.h"

#define THREAD_NAMES_LIMIT 255 /* most characters of a name; a longer name is cut, with a mark at the end */

/* What is known of an interpreter's module. */
struct named_interpreter {
    uint64_t address;
    uint64_t active;         /* address of the dict `_active`; 0: not found yet */
    uint64_t search_due_ns;  /* when the next search is due (monotonic), ... */
    uint64_t search_wait_ns; /* ... and the wait after that search */
};

struct thread_names {
    struct dict_reader reader;
    struct named_interpreter *interpreters;
    size_t count, room;
};

/* `remote` and `layout` must live as long. */
void thread_names_open(struct thread_names *names, struct remote *remote, const struct layout *layout);

/* Finds the name of a thread. `interpreter` is the address of its interpreter, `ident` its pthread_self(),
 * `native_id` the process's own number for it, `now_ns` the monotonic clock. native_id 0: a main thread, whose
 * pthread_self() no other thread can have. Its Thread has the number from before a fork, which CPython leaves there.
 * The caller frees the text. An empty text: not known. */
struct text thread_names_find(struct thread_names *names, uint64_t interpreter, uint64_t ident, uint32_t native_id,
                              uint64_t now_ns);

/* Frees what is remembered. */
void thread_names_close(struct thread_names *names);

#endif
