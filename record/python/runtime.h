/* SPDX-License-Identifier: MIT */
/* Finds the CPython in a process: the variable _PyRuntime and its version. The variable is in the program itself or in
 * a shared library of any name. A process may have a second, unused CPython, which has no interpreters. */
#ifndef PYREEL_RECORD_PYTHON_RUNTIME_H
#define PYREEL_RECORD_PYTHON_RUNTIME_H

#include "record/elf/elf_files.h"
#include "record/process/remote.h"
#include "record/python/layout.h"

/* What is known of the build of a CPython. */
struct runtime_build {
    uint32_t bits;              /* of enum build (formats/model/event.h); 0: not known */
    char id[ELF_BUILD_ID_TEXT]; /* the build id of its program or library, in hexadecimal digits */
};

#define RSEQ_CPU_ID 4 /* offset of cpu_id, a u32, in struct rseq */

struct runtime {
    uint64_t address;         /* of _PyRuntime */
    uint64_t random_at;       /* address of the random bytes that the kernel gave the program at execve; 0: not known */
    unsigned char random[16]; /* these bytes. A forked process has the same */
    bool described;           /* `rseq` and `build` are filled in */
    struct layout layout;
    int64_t rseq; /* offset of a thread's rseq area from CPython's id of the thread (glibc 2.35 and later); 0: there is
                     none */
    struct runtime_build build;
};

enum runtime_state {
    RUNTIME_READY,
    RUNTIME_STARTING,    /* the CPython has no interpreter yet */
    RUNTIME_NONE,        /* the process has no CPython so far */
    RUNTIME_UNSUPPORTED, /* the CPython's version is not supported; `why` names it */
    RUNTIME_LOST,        /* the process ended or may not be read: errno has the cause */
};

/* A CPython 3.11 or 3.12 in a program without symbols does not state its version. There is other evidence: numbers and
 * texts in the read-only data of the program's file, and whether the runtime is built as that version builds it. */

/* The most bytes of the files of one process that are searched for evidence. */
#define RUNTIME_EVIDENCE_MOST ((size_t)256 << 20)

/* Returns the versions that the open file may have been built with. A version is one if the file has both the number
 * (as in the variable Py_Version) and the text; the text alone if the file has no such number. No version: it is not
 * known. Searches at most *left bytes, and subtracts them. */
struct elf_file_versions runtime_versions(int fd, size_t *left);

/* RUNTIME_READY: the runtime has interpreters and threads where its layout has them: the lists and the links back
 * agree, and the kernel knows a thread. RUNTIME_STARTING: it agrees, and has no threads yet. RUNTIME_NONE: it does not
 * agree. */
enum runtime_state runtime_confirm(const struct runtime *runtime, struct remote *remote);

/* Searches the files that are mapped into the process. Prefers a CPython that has interpreters. RUNTIME_READY and
 * RUNTIME_STARTING fill in `runtime`, the second without `rseq` and `build`. */
enum runtime_state runtime_find(struct runtime *runtime, struct remote *remote, struct fault *why);

/* What helps to find a runtime with few system calls. */
struct runtime_hints {
    struct elf_files *files; /* what is known of files, and becomes known. NULL: nothing is remembered */
    /* A runtime that the process likely has: that of its parent, which it has until it calls execve; or the one that
     * was still starting at the last search, which target_open_hinted() notes here. NULL or `= {0}`: none is known. It
     * is believed only if the process has the same random bytes: then no execve came between. */
    struct runtime *likely;
};

/* The same, with hints. */
enum runtime_state runtime_find_hinted(struct runtime *runtime, struct remote *remote,
                                       const struct runtime_hints *hints, struct fault *why);

/* Whether both processes run the same program since the same execve, so one was forked by the other, or both by a
 * third. */
bool runtime_is_kin(const struct runtime *runtime, const struct runtime *other);

#endif
