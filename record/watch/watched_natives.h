/* SPDX-License-Identifier: MIT */
/* Part of watched.c: CPU time of the process that no look at a thread of Python can have.
 *
 *     the process's CPU clock
 *       = threads of Python, from their first look to their last one
 *       + native threads: threads of the kernel that Python does not know (OpenBLAS, a thread pool of Rust or C)
 *       + the rest: threads that lived between two looks, and what a thread used after its last look
 *
 * Whenever the rest has grown, the threads of the kernel are asked, as often as a hundredth of a processor allows. A
 * native thread that used CPU time gets a row, as a thread of Python has, and its stack is the frame <native thread
 * NAME>. What is still left of the rest is told as EVENT_LEFT_OUT of an entry with the name <not sampled> and without a
 * tid: a reader may give it to threads that ended. */
#ifndef PYREEL_RECORD_WATCH_WATCHED_NATIVES_H
#define PYREEL_RECORD_WATCH_WATCHED_NATIVES_H

#include "record/watch/watched.h"

/* Asks for the CPU time of native threads if the rest has grown. Call this at each look, when the threads of Python are
 * emitted and the others, which native threads are, are not. */
void watched_natives_look(struct watched *watched, uint64_t time_ns);

/* Tells the rest. Call this with each measure. */
void watched_natives_measure(struct watched *watched, uint64_t time_ns);

/* Asks what the native threads that have a row used until now, before the stream ends and another one takes what is
 * emitted. */
void watched_natives_ask_now(struct watched *watched, uint64_t time_ns);

/* Tells the rest, before the stream ends, when all threads were asked. `clock_ns`: the CPU time of the process, which
 * was asked before the threads; 0: not known. */
void watched_natives_flush(struct watched *watched, uint64_t clock_ns, uint64_t time_ns);

/* A thread gets a state of Python. `row` is its row if it has one, which may be that of a native thread; else NULL.
 * Returns how much of its CPU time is told or from before the recording; CPU_NEW: all of it. */
uint64_t watched_natives_adopt(struct watched *watched, uint32_t native_id, struct emitted_thread *row);

/* The row of a thread is that of a native thread no more. */
void watched_natives_leave(struct watched *watched, struct emitted_thread *row);

/* The recorder was stopped: what the threads used meanwhile is no part of the recording. */
void watched_natives_pause(struct watched *watched);

/* A new stream begins: the entry begins again. */
void watched_natives_restart(struct watched *watched, uint64_t time_ns);

/* Tells the rest at the end of the program. Call this before the threads end. */
void watched_natives_end(struct watched *watched, uint64_t time_ns);

#endif
