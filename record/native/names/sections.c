/* SPDX-License-Identifier: MIT */
#include "record/native/names/sections.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_LIMIT 4096
#define NAMES_LIMIT    (1u << 20) /* bytes of the names of all sections */

bool sections_read_file(int file, uint64_t offset, void *into, size_t size)
{
    return offset <= INT64_MAX && pread(file, into, size, (off_t)offset) == (ssize_t)size;
}

static void read_section_names(struct sections *s, const Elf64_Shdr *section)
{
    if (section->sh_type != SHT_STRTAB || section->sh_size == 0 || section->sh_size > NAMES_LIMIT)
        return;
    s->names = alloc_zeroed(section->sh_size + 1, 1);
    if (sections_read_file(s->file, section->sh_offset, s->names, section->sh_size))
        s->names_size = section->sh_size;
}

void sections_free(struct sections *s)
{
    free(s->rows);
    free(s->names);
    *s = (struct sections){ 0 };
}

bool sections_open(struct sections *s, int file)
{
    Elf64_Ehdr head;
    *s = (struct sections){ .file = file };
    if (!sections_read_file(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0 ||
        head.e_shnum > SECTIONS_LIMIT)
        return false;
    s->rows = alloc_zeroed(head.e_shnum, sizeof(*s->rows));
    if (!sections_read_file(file, head.e_shoff, s->rows, head.e_shnum * sizeof(*s->rows))) {
        sections_free(s);
        return false;
    }
    s->count = head.e_shnum;
    if (head.e_shstrndx < s->count)
        read_section_names(s, &s->rows[head.e_shstrndx]);
    return true;
}

const Elf64_Shdr *sections_find(const struct sections *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].sh_type != SHT_NOBITS && s->rows[i].sh_name < s->names_size &&
            strcmp(s->names + s->rows[i].sh_name, name) == 0)
            return &s->rows[i];
    return NULL;
}

unsigned char *sections_read(const struct sections *s, const char *name, size_t most, size_t *size)
{
    const Elf64_Shdr *section = sections_find(s, name);
    if (!section || section->sh_size == 0 || section->sh_size > most)
        return NULL;
    unsigned char *bytes = alloc_zeroed(section->sh_size + 1, 1);
    *size = section->sh_size;
    if (sections_read_file(s->file, section->sh_offset, bytes, *size))
        return bytes;
    free(bytes);
    return NULL;
}
