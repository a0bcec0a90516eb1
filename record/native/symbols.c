/* SPDX-License-Identifier: MIT */
#include "record/native/symbols.h"

#include "formats/base/alloc.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_LIMIT 4096
#define SYMBOLS_LIMIT  (2u << 20)  /* of a table; a very large library has a million */
#define NAMES_LIMIT    (96u << 20) /* bytes of the names of a table */
#define AT_ONCE        4096        /* symbols that are read with one call */

static bool read_at(int file, uint64_t offset, void *into, size_t size)
{
    return offset <= INT64_MAX && pread(file, into, size, (off_t)offset) == (ssize_t)size;
}

/* Reads the names that a table's section of names has. Returns where they begin in `names`; SIZE_MAX: not readable. */
static size_t read_names(struct symbols *s, int file, const Elf64_Shdr *section)
{
    const size_t at = s->names_size, size = section->sh_size;
    if (section->sh_type != SHT_STRTAB || size == 0 || size > NAMES_LIMIT || at + size > NAMES_LIMIT)
        return SIZE_MAX;
    size_t room = at;
    char *names = alloc_grow(s->names, &room, at + size + 1, 1);
    s->names = names;
    if (!read_at(file, section->sh_offset, names + at, size))
        return SIZE_MAX;
    names[at + size] = '\0';
    s->names_size = at + size + 1;
    return at;
}

static void add_symbol(struct symbols *s, const Elf64_Sym *symbol, size_t names, size_t names_size)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0 ||
        symbol->st_name == 0 || symbol->st_name >= names_size)
        return;
    s->rows = alloc_grow(s->rows, &s->room, s->count + 1, sizeof(*s->rows));
    s->rows[s->count++] = (struct symbol){
        .address = symbol->st_value,
        .size = symbol->st_size < UINT32_MAX ? (uint32_t)symbol->st_size : UINT32_MAX,
        .name = (uint32_t)(names + symbol->st_name),
    };
}

static void symbols_read_table(struct symbols *s, int file, const Elf64_Shdr *table, const Elf64_Shdr *names)
{
    static Elf64_Sym some[AT_ONCE];
    const size_t all = table->sh_entsize == sizeof(Elf64_Sym) ? table->sh_size / sizeof(Elf64_Sym) : 0;
    const size_t count = all < SYMBOLS_LIMIT ? all : SYMBOLS_LIMIT;
    const size_t first = count > 0 ? read_names(s, file, names) : SIZE_MAX;
    for (size_t i = 0, got; first != SIZE_MAX && i < count; i += got) {
        got = count - i < AT_ONCE ? count - i : AT_ONCE;
        if (!read_at(file, table->sh_offset + i * sizeof(Elf64_Sym), some, got * sizeof(Elf64_Sym)))
            return;
        for (size_t k = 0; k < got; k++)
            add_symbol(s, &some[k], first, names->sh_size);
    }
}

/* By address; of several at one address the first of the table. */
static int symbol_order(const void *a, const void *b)
{
    const struct symbol *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return one->name < other->name ? -1 : one->name > other->name;
}

bool symbols_read(struct symbols *s, int file)
{
    Elf64_Ehdr head;
    *s = (struct symbols){ 0 };
    if (!read_at(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0 || head.e_shnum > SECTIONS_LIMIT)
        return false;
    Elf64_Shdr *sections = alloc_zeroed(head.e_shnum, sizeof(*sections));
    bool whole = false;
    if (read_at(file, head.e_shoff, sections, head.e_shnum * sizeof(*sections)))
        for (size_t i = 0; i < head.e_shnum; i++) {
            const Elf64_Shdr *table = &sections[i];
            if ((table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM) && table->sh_link < head.e_shnum)
                symbols_read_table(s, file, table, &sections[table->sh_link]);
            whole |= table->sh_type == SHT_SYMTAB && s->count > 0;
        }
    free(sections);
    if (s->count > 0)
        qsort(s->rows, s->count, sizeof(*s->rows), symbol_order);
    return whole;
}

void symbols_free(struct symbols *s)
{
    free(s->rows);
    free(s->names);
    *s = (struct symbols){ 0 };
}

const struct symbol *symbols_find(const struct symbols *s, uint64_t address)
{
    size_t low = 0, high = s->count; /* the first symbol behind the address is in [low, high] */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    size_t first = low - 1;
    while (first > 0 && s->rows[first - 1].address == s->rows[low - 1].address)
        first--;
    for (; first < low; first++)
        if (address - s->rows[first].address < s->rows[first].size)
            return &s->rows[first];
    return NULL;
}

const char *symbols_name(const struct symbols *s, const struct symbol *symbol)
{
    return s->names + symbol->name;
}
