/* SPDX-License-Identifier: MIT */
/* Where a symbol lies in a program or library. First in the process's own memory, through the table that the dynamic
 * linker uses: that needs no file, so deleted, renamed and unreachable ones are no different. When that does not have
 * it, in a file (libelf). Both are not trusted: every count, offset and loop is bounded. */
#ifndef PYREEL_RECORD_PROCESS_ELF_H
#define PYREEL_RECORD_PROCESS_ELF_H

#include "record/process/remote.h"

/* The address of symbol `name` of the ELF image that starts at `base` in the process; 0 when it does not export it. */
uint64_t elf_symbol(struct remote *remote, uint64_t base, const char *name);

/* The same, looked for in the file open at `fd`, of which the image is a mapping: among all its symbols, or, when
 * `section` is not NULL and there is no such symbol, the start of the section of that name. */
uint64_t elf_file_symbol(int fd, uint64_t base, const char *name, const char *section);

#endif
