/* SPDX-License-Identifier: MIT */
/* The sections of an ELF file. What is loaded is found by segments (image_file.h); the tables of symbols, and what says
 * where more of them are, are in sections. The file is not trusted: each size is bounded. */
#ifndef PYREEL_RECORD_NATIVE_NAMES_SECTIONS_H
#define PYREEL_RECORD_NATIVE_NAMES_SECTIONS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `= {0}` has none. */
struct sections {
    int file; /* belongs to the caller */
    Elf64_Shdr *rows;
    size_t count;
    char *names; /* with a NUL behind them */
    size_t names_size;
};

/* Reads bytes of an open file. False when there are not so many. */
bool sections_read_file(int file, uint64_t offset, void *into, size_t size);

/* Opens the sections of an open file. False when it is no ELF file of 64 bits, or has no sections. */
bool sections_open(struct sections *sections, int file);
void sections_free(struct sections *sections);

/* The first section with this name; NULL: there is none, or the file does not have its bytes. */
const Elf64_Shdr *sections_find(const struct sections *sections, const char *name);

/* Reads the section with this name if it has at most `most` bytes. Returns its bytes with a NUL behind them, which the
 * caller frees; NULL: there is no such section. */
unsigned char *sections_read(const struct sections *sections, const char *name, size_t most, size_t *size);

#endif
