/* SPDX-License-Identifier: MIT */
/* A core file: the memory of a process at the moment at which it crashed, or was copied (gcore). Memory that a core
 * file leaves out is mostly that of mapped files, which nobody changed. It comes from the files themselves, when they
 * are of the same build:
 *
 *     address ─▶ segment with bytes ─▶ the core file
 *             └▶ no bytes: mapping ─▶ path ─▶ a file whose build id is that of the image in the core
 *
 * The core file is not trusted: all sizes and counts are bounded, and only regular files with the right build id are
 * read besides it. */
#ifndef PYREEL_RECORD_CORE_CORE_FILE_H
#define PYREEL_RECORD_CORE_CORE_FILE_H

#include "record/process/remote.h"

#include <sys/procfs.h>

#define CORE_REGISTERS   ELF_NGREG  /* words; sys/procfs.h */
#define CORE_COUNT_LIMIT (1u << 17) /* the most segments, mappings, threads, notes of a kind */

/* A range of memory. */
struct core_segment {
    uint64_t address, size;
    uint64_t offset, there; /* in the core file; how many bytes of it are there */
};

/* A range of memory into which a file was mapped. */
struct core_mapping {
    uint64_t address, end;
    uint64_t offset; /* in the mapped file, in bytes */
    size_t file;     /* index of the file */
};

/* A mapped file. */
struct core_mapped {
    const char *path; /* as the process named it; not trusted */
    uint64_t address; /* of its start in memory; 0: the start is not mapped */
    int fd;           /* an open file of the same build; -1: none */
    bool tried;       /* it was searched for */
};

struct core_thread {
    pid_t tid;
    int signal;                         /* the signal that it was about to get; 0: none */
    uint64_t registers[CORE_REGISTERS]; /* as the machine's struct user_regs_struct has them */
};

/* `= {0}`, and call core_file_open(). */
struct core_file {
    int fd;
    uint64_t size;
    uint32_t notes; /* number of notes that were read, of all segments: these may be the same bytes many times */
    struct core_segment *segments; /* by address */
    size_t segments_count, segments_room;
    struct core_mapping *mappings; /* by address */
    size_t mappings_count, mappings_room;
    char *paths; /* the bytes of all paths */
    struct core_mapped *files;
    size_t files_count, files_room;
    struct core_thread *threads; /* the one that crashed comes first */
    size_t threads_count, threads_room;
    pid_t pid;                    /* the process's own number for itself; 0: not known */
    char name[17], arguments[81]; /* its name, and the beginning of its arguments; not trusted */
    uint64_t headers_at;  /* address of the program's headers, which tells the program from libraries; 0: not known */
    bool cut;             /* bytes that the core file must have are not there */
    int exe;              /* open file that was given as the program; -1: none */
    const char *exe_path; /* its path */
    bool exe_used;        /* the core has an image of its build */
};

/* How the core file is memory. `self` is a struct core_file. */
extern const struct memory_kind core_file_kind;

/* Opens a core file. `exe` is the path of the interpreter that the process ran, or of the library that has it; NULL: as
 * the core file says. Both paths must live as long. False with the reason. */
bool core_file_open(struct core_file *core, const char *path, const char *exe, struct fault *why);

/* The same for an open file, which belongs to `core` afterwards. */
bool core_file_take(struct core_file *core, int fd, const char *path, struct fault *why);

/* Reads memory. False when some of it is not there. */
bool core_file_read(struct core_file *core, uint64_t address, void *into, size_t size);

/* The mapped file that has the program; NULL: not known. */
const struct core_mapped *core_file_program(const struct core_file *core);

/* Explains why no CPython was found: which files of the program are missing here, or are of another build. Always
 * returns false. */
bool core_file_explain(struct core_file *core, const char *path, struct fault *why);

/* Frees everything. Safe on a zeroed or closed struct. */
void core_file_close(struct core_file *core);

#endif
