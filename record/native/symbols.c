/* SPDX-License-Identifier: MIT */
#include "record/native/symbols.h"

#include "formats/base/alloc.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_LIMIT 4096
#define SYMBOLS_LIMIT  (2u << 20)  /* of a table; a very large library has a million */
#define NAMES_LIMIT    (96u << 20) /* bytes of the names of a table */
#define LARGE          20000       /* symbols that a thread of its own reads: these take some milliseconds */
#define NAMES_MOST     64          /* names of one function that are looked at */
#define AT_ONCE        4096        /* symbols that are read with one call */

static bool read_at(int file, uint64_t offset, void *into, size_t size)
{
    return offset <= INT64_MAX && pread(file, into, size, (off_t)offset) == (ssize_t)size;
}

/* Reads the names that a table's section of names has. */
static bool read_names(struct symbols *s, int file, const Elf64_Shdr *section)
{
    const size_t size = section->sh_size;
    if (section->sh_type != SHT_STRTAB || size == 0 || size > NAMES_LIMIT)
        return false;
    s->names = alloc_zeroed(size + 1, 1);
    s->names_size = size;
    return read_at(file, section->sh_offset, s->names, size);
}

static void add_symbol(struct symbols *s, const Elf64_Sym *symbol, size_t names_size)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0 ||
        symbol->st_name == 0 || symbol->st_name >= names_size)
        return;
    s->rows[s->count++] = (struct symbol){
        .address = symbol->st_value,
        .size = symbol->st_size < UINT32_MAX ? (uint32_t)symbol->st_size : UINT32_MAX,
        .name = symbol->st_name,
    };
}

static size_t count_of(const Elf64_Shdr *table)
{
    const size_t count = table->sh_entsize == sizeof(Elf64_Sym) ? table->sh_size / sizeof(Elf64_Sym) : 0;
    return count < SYMBOLS_LIMIT ? count : SYMBOLS_LIMIT;
}

static void symbols_read_table(struct symbols *s, int file, const Elf64_Shdr *table, const Elf64_Shdr *names)
{
    Elf64_Sym *some = alloc_zeroed(AT_ONCE, sizeof(*some));
    const size_t count = count_of(table);
    if (count > 0 && read_names(s, file, names))
        s->rows = alloc_zeroed(count, sizeof(*s->rows));
    for (size_t i = 0, got; s->rows && i < count; i += got) {
        got = count - i < AT_ONCE ? count - i : AT_ONCE;
        if (!read_at(file, table->sh_offset + i * sizeof(Elf64_Sym), some, got * sizeof(Elf64_Sym)))
            break;
        for (size_t k = 0; k < got; k++)
            add_symbol(s, &some[k], names->sh_size);
    }
    free(some);
}

/* By address; of several at one address the first of the table. */
static int symbol_order(const void *a, const void *b)
{
    const struct symbol *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return one->name < other->name ? -1 : one->name > other->name;
}

/* The tables of a file: the symbols, and their names. */
struct symbol_tables {
    Elf64_Shdr table, names; /* sh_type 0: there is none */
};

/* Finds the table of symbols of a file: .symtab, else .dynsym. */
static struct symbol_tables find_symbol_tables(int file)
{
    struct symbol_tables found = { 0 };
    Elf64_Ehdr head;
    if (!read_at(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0 || head.e_shnum > SECTIONS_LIMIT)
        return found;
    Elf64_Shdr *sections = alloc_zeroed(head.e_shnum, sizeof(*sections));
    const bool good = read_at(file, head.e_shoff, sections, head.e_shnum * sizeof(*sections));
    for (size_t i = 0; good && i < head.e_shnum; i++) {
        const Elf64_Shdr *table = &sections[i];
        const bool better = table->sh_type == SHT_SYMTAB || (table->sh_type == SHT_DYNSYM && !found.table.sh_type);
        if (better && table->sh_link < head.e_shnum && count_of(table) > 0)
            found = (struct symbol_tables){ *table, sections[table->sh_link] };
    }
    free(sections);
    return found;
}

static void read_found(struct symbols *s, int file, const struct symbol_tables *found)
{
    if (found->table.sh_type)
        symbols_read_table(s, file, &found->table, &found->names);
    if (s->count > 0)
        qsort(s->rows, s->count, sizeof(*s->rows), symbol_order);
}

void symbols_read(struct symbols *s, int file)
{
    const struct symbol_tables found = find_symbol_tables(file);
    *s = (struct symbols){ 0 };
    read_found(s, file, &found);
}

/* ---- large tables ---- */

/* Belongs to the caller, who reads `read` when the thread has set `done`. */
struct symbols_reader {
    pthread_t thread;
    int file;
    struct symbol_tables found;
    struct symbols read;
    atomic_bool done;
};

static void *symbols_main(void *self)
{
    struct symbols_reader *reader = self;
    read_found(&reader->read, reader->file, &reader->found);
    atomic_store(&reader->done, true);
    return NULL;
}

/* Starts a thread with signals blocked: signals must interrupt the sleep of the recorder. */
static bool symbols_start(struct symbols_reader *reader)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool good = pthread_create(&reader->thread, NULL, symbols_main, reader) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

void symbols_begin(struct symbols *s, int file)
{
    struct symbols_reader *reader = alloc_zeroed(1, sizeof(*reader));
    *s = (struct symbols){ 0 };
    reader->file = file;
    reader->found = find_symbol_tables(file);
    if (count_of(&reader->found.table) > LARGE && symbols_start(reader)) {
        s->reader = reader;
        return;
    }
    read_found(s, file, &reader->found);
    free(reader);
}

bool symbols_ready(struct symbols *s)
{
    struct symbols_reader *reader = s->reader;
    if (!reader)
        return true;
    if (!atomic_load(&reader->done))
        return false;
    pthread_join(reader->thread, NULL);
    *s = reader->read;
    free(reader);
    return true;
}

void symbols_free(struct symbols *s)
{
    while (!symbols_ready(s))
        usleep(1000);
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
    for (int i = 0; i < NAMES_MOST && first > 0 && s->rows[first - 1].address == s->rows[low - 1].address; i++)
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
