/* SPDX-License-Identifier: MIT */
/* Remembers what the ELF files that processes map were found to say: addresses of symbols, and the build id. Processes
 * of one recording mostly map the same files, and the search in one file takes dozens of system calls.
 *
 * A file is recognised by its device, its inode and its first bytes in the memory of the process. An inode may become
 * another file, and the first bytes (headers, mostly with the build id) tell these apart. The memory of a process is
 * not trusted: a process can make its memory say anything of a file that other processes map, too. So the caller
 * proves what was remembered before the caller relies on it, and calls elf_files_forget() when the proof fails. */
#ifndef PYREEL_RECORD_ELF_ELF_FILES_H
#define PYREEL_RECORD_ELF_ELF_FILES_H

#include "record/elf/elf.h"
#include "record/process/procfs.h"

#define ELF_FILES_MAX  512  /* files; when there are more, all are forgotten */
#define ELF_FILE_FACTS 8    /* facts of each file */
#define ELF_FILE_HEAD  1024 /* first bytes of a file that are compared */

#define ELF_FILE_VERSIONS 16

/* The versions of CPython (PY_VERSION_HEX) that a file may have been built with, as far as its constants tell. */
struct elf_file_versions {
    uint32_t rows[ELF_FILE_VERSIONS];
    size_t count;
    bool known; /* the file was searched */
    bool cut;   /* only the beginning of the file was searched */
};

/* Where a file has a symbol, or that the file has none. */
struct elf_fact {
    const char *name; /* of the symbol; a string literal */
    int64_t distance; /* from the image's start */
    bool present;
    uint32_t searches; /* searches that found nothing so far */
};

struct elf_file {
    uint64_t device, inode;
    unsigned char head[ELF_FILE_HEAD];
    struct elf_fact facts[ELF_FILE_FACTS];
    size_t facts_count;
    bool id_known;
    unsigned char id[ELF_BUILD_ID_MAX];
    size_t id_size;
    struct elf_file_versions versions; /* not from memory: elf_file_forget() does not concern them */
};

/* `= {0}` knows no file. */
struct elf_files {
    struct elf_file **rows;
    size_t count, room;
};

/* Returns the file of an image; NULL: its memory is not readable. Valid until the next call. Takes one system call. */
struct elf_file *elf_files_find(struct elf_files *files, struct remote *remote, const struct image *image);

/* Sets *address to the address of a symbol in the image of the file that starts at `base`; 0: the file has no such
 * symbol. Returns false when that is not known. */
bool elf_file_recall(const struct elf_file *file, const char *name, uint64_t base, uint64_t *address);

/* Notes the result of a search: `address` is 0 when the symbol was not found. Only several searches without a result
 * are believed, because an image may not be mapped completely yet. */
void elf_file_note(struct elf_file *file, const char *name, uint64_t base, uint64_t address);

/* Forgets all facts of a file. */
void elf_file_forget(struct elf_file *file);

void elf_files_free(struct elf_files *files);

#endif
