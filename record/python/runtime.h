/* SPDX-License-Identifier: MIT */
/* Finds the heart of a CPython in a process: the variable _PyRuntime, and which version it belongs to. It is in the
 * program itself or in a shared library, under whatever name; a process may even hold an unused second copy, which
 * has no interpreters. */
#ifndef PYREEL_RECORD_PYTHON_RUNTIME_H
#define PYREEL_RECORD_PYTHON_RUNTIME_H

#include "record/process/remote.h"
#include "record/python/layout.h"

struct runtime {
    uint64_t address; /* of _PyRuntime */
    struct layout layout;
    int64_t rseq; /* where a thread's rseq area is, from its thread pointer (glibc 2.35 and later); 0: there is none */
};

enum runtime_state {
    RUNTIME_READY,
    RUNTIME_STARTING,    /* it is there, but has no interpreter yet */
    RUNTIME_NONE,        /* there is no CPython in the process so far */
    RUNTIME_UNSUPPORTED, /* there is one that we can't read; the reason says which */
    RUNTIME_LOST,        /* the process ended or may not be read; errno tells */
};

enum runtime_state runtime_find(struct runtime *runtime, struct remote *remote, struct fault *why);

#endif
