/* SPDX-License-Identifier: MIT */
/* Reads the constant parts of a program or library that a process has mapped: from its file; from the memory of the
 * process where there is no such file any more (it was replaced or deleted), or none at all (the vdso).
 *
 * Addresses are those of the file: an address in the process minus the bias. File and memory are not trusted: each read
 * names its size, and may fail. */
#ifndef PYREEL_RECORD_NATIVE_NAMES_IMAGE_FILE_H
#define PYREEL_RECORD_NATIVE_NAMES_IMAGE_FILE_H

#include "record/process/remote.h"

#include <elf.h>

#define IMAGE_SEGMENTS 64

/* `= {0}` is closed. */
struct image_file {
    struct remote *remote; /* lives as long */
    int file;              /* -1: only the memory can be read */
    uint64_t bias;         /* an address in the process minus that of the file */
    Elf64_Phdr segments[IMAGE_SEGMENTS];
    size_t segments_count;
};

/* Opens an image of the process. False when its head is not that of an ELF file of this machine. */
bool image_file_open(struct image_file *image, struct remote *remote, const struct image *mapped);
void image_file_close(struct image_file *image);

/* Reads `size` bytes at an address of the file. False when one of them is not in a loaded part, or not readable. */
bool image_file_read(const struct image_file *image, uint64_t address, void *into, size_t size);

#endif
