/* SPDX-License-Identifier: MIT */
/* The copies of a thread-local variable of a program or library: one for each thread, which is found from the thread
 * pointer. Where that is, the words say that the dynamic linker has filled in for the code (ELF's TLS descriptors, and
 * the older ways). Two places exist:
 *
 *     at a fixed distance     program, libraries that came with it, and small ones that came later
 *     in a block of its own   thread pointer + 8 ─▶ table ─▶ [module] ─▶ block; made when the thread first uses it
 *
 * The table is glibc's. Only x86-64 is known: there, CPython's id of a thread is the thread pointer. All memory is that
 * of the process and not trusted. */
#ifndef PYREEL_RECORD_ELF_THREAD_VARIABLE_H
#define PYREEL_RECORD_ELF_THREAD_VARIABLE_H

#include "record/process/remote.h"

/* `= {0}`: not known. */
struct thread_variable {
    bool known;
    uint64_t module; /* 0: the variable is at a fixed distance */
    uint64_t offset; /* from the thread pointer, or in the block */
};

/* Searches all images of the process for the variable. Takes some system calls for each image. False: none exports it,
 * or where it is could not be found out. */
bool thread_variable_find(struct remote *remote, const char *name, struct thread_variable *variable);

/* The address of the variable of the thread with this thread pointer, by at most three system calls, or none for a
 * fixed distance. 0: the thread has not used it yet, or that could not be read. */
uint64_t thread_variable_address(const struct thread_variable *variable, struct remote *remote, uint64_t pointer);

#endif
