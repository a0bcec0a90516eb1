/* SPDX-License-Identifier: MIT */
/* Finds the address of a symbol of a program or library. elf_symbol() reads the dynamic linker's tables in the
 * process's memory. It needs no file, so the file may be deleted, renamed or unreachable. elf_file_symbol() reads the
 * file (libelf). Memory and file are not trusted: every count, offset and loop is bounded. */
#ifndef PYREEL_RECORD_ELF_ELF_H
#define PYREEL_RECORD_ELF_ELF_H

#include "record/process/remote.h"

#include <elf.h>

/* Reads the segments of the ELF image that starts at `base` in the process, and what the dynamic linker added to the
 * addresses in its file. Returns how many there are; 0: this is no such image, or it has more than `room`. */
size_t elf_segments(struct remote *remote, uint64_t base, Elf64_Phdr *segments, size_t room, uint64_t *bias);

/* Returns the address of symbol `name` of the ELF image that starts at `base` in the process; 0: the image does not
 * export the symbol. */
uint64_t elf_symbol(struct remote *remote, uint64_t base, const char *name);

/* Where the code of an image finds a thread's copy of a variable of its own (TLS). */
struct elf_tls {
    uint64_t offset; /* of the variable in the image's block */
    uint64_t size;   /* of that block, with its alignment: the block of a program ends so many bytes later, where each
                      * thread   has its thread pointer (x86-64) */
    uint64_t place;  /* address of the words that the dynamic linker has filled in for the code; 0: there are none */
    enum {
        ELF_TLS_NONE,
        ELF_TLS_STATIC,
        ELF_TLS_MODULE,
        ELF_TLS_DESCRIPTOR
    } kind; /* of these words:
             * the distance to the thread pointer; a number of the image, and an offset; a function and its argument */
};

/* Finds the thread-local variable `name` that the image at `base` exports. Returns false if it has none. */
bool elf_tls(struct remote *remote, uint64_t base, const char *name, struct elf_tls *tls);

/* The same for the open file `fd`, of which the image is a mapping. Searches all symbols of the file. When there is no
 * such symbol and `section` is not NULL, returns the start of the section of that name. */
uint64_t elf_file_symbol(int fd, uint64_t base, const char *name, const char *section);

/* Calls `look` with the bytes of each part of the open file that is loaded and that the program cannot write. `address`
 * is that of the first byte, without the bias. Subtracts the bytes from *left, and stops when none is left. Returns
 * false when it left bytes out. */
typedef void elf_look(void *self, const unsigned char *bytes, size_t size, uint64_t address);
bool elf_file_constants(int fd, size_t *left, elf_look *look, void *self);

#define ELF_BUILD_ID_MAX 32 /* bytes; linkers write 8, 16 or 20 */

/* The bytes that a name or a description of `size` bytes takes in a note. */
static inline uint64_t elf_note_padded(uint64_t size)
{
    return (size + 3) & ~(uint64_t)3;
}

/* Reads the build id of the ELF image that starts at `base` in the process: the note that the linker wrote. Returns the
 * number of its bytes; 0: the image has none. */
size_t elf_build_id(struct remote *remote, uint64_t base, unsigned char id[ELF_BUILD_ID_MAX]);

#define ELF_BUILD_ID_TEXT (2 * ELF_BUILD_ID_MAX + 1) /* room for a build id in hexadecimal digits, with a NUL */

/* Writes a build id in hexadecimal digits. Returns `text`; it is empty when there is no id. */
const char *elf_build_id_text(const unsigned char *id, size_t size, char text[ELF_BUILD_ID_TEXT]);

#endif
