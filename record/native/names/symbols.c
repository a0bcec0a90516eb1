/* SPDX-License-Identifier: MIT */
#include "record/native/names/symbols.h"

#include "formats/base/alloc.h"
#include "formats/base/output.h"
#include "formats/intern/sorted.h"
#include "record/native/names/sections.h"
#include "record/process/own_thread.h"

#include <lzma.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEBUGDATA      ".gnu_debugdata"
#define PACKED_LIMIT   (16u << 20)      /* bytes of a packed file, ... */
#define UNPACKED_LIMIT (96u << 20)      /* ... of what it becomes, ... */
#define UNXZ_MEMORY    (72u << 20)      /* ... and of memory to unpack it */
#define SYMBOLS_LIMIT  (2u << 20)       /* of a table; a very large library has a million */
#define NAMES_LIMIT    (96u << 20)      /* bytes of the names of a table */
#define SIZE_MOST      ((1u << 28) - 1) /* bytes of a function */
#define RANK_MOST      15u
#define LARGE          20000 /* symbols that a thread of its own reads: these take some milliseconds */
#define NAMES_MOST     64    /* names of one function that are looked at */
#define AT_ONCE        4096  /* symbols that are read with one call */

/* ---- packed files ---- */

/* Unpacks with a decoder until the end, or to the limit. */
static bool unxz_into(lzma_stream *stream, int file)
{
    unsigned char part[65536];
    lzma_ret state = LZMA_OK;
    while (state == LZMA_OK && stream->total_out <= UNPACKED_LIMIT) {
        stream->next_out = part;
        stream->avail_out = sizeof(part);
        state = lzma_code(stream, LZMA_FINISH);
        if (!output_write_all(file, part, sizeof(part) - stream->avail_out))
            return false;
    }
    return state == LZMA_STREAM_END;
}

/* Returns an open file with what is packed in these bytes (xz); -1: they are damaged, or it is too large. */
static int unxz(const unsigned char *packed, size_t size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    const int file = memfd_create("debugdata", MFD_CLOEXEC);
    stream.next_in = packed;
    stream.avail_in = size;
    const bool good = file >= 0 && lzma_stream_decoder(&stream, UNXZ_MEMORY, 0) == LZMA_OK && unxz_into(&stream, file);
    lzma_end(&stream);
    if (good || file < 0)
        return file;
    close(file);
    return -1;
}

/* ---- one table ---- */

/* A table of symbols, and that of their names. */
struct symbol_table {
    int file;
    Elf64_Shdr rows, names;
};

/* Reads the names of a table behind those that are there. False: there are none. */
static bool read_names(struct symbols *s, const struct symbol_table *table)
{
    const size_t size = table->names.sh_size, before = s->names_size;
    if (table->names.sh_type != SHT_STRTAB || size == 0 || size > NAMES_LIMIT)
        return false;
    s->names = alloc_resize(s->names, before + size + 1, 1);
    if (!sections_read_file(table->file, table->names.sh_offset, s->names + before, size))
        return false;
    s->names[before + size] = '\0';
    s->names_size = before + size + 1;
    return true;
}

/* Names that are exported before those that are not, with few underscores before those with many. */
static uint32_t symbol_rank(const Elf64_Sym *symbol, const char *name)
{
    const size_t underscores = strspn(name, "_");
    return (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ? 8 : 0) + (underscores < 7 ? (uint32_t)underscores : 7);
}

/* Adds a symbol whose name is in the names from `before` on. */
static void add_symbol(struct symbols *s, const Elf64_Sym *symbol, size_t before)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF || symbol->st_size == 0 ||
        symbol->st_name == 0 || symbol->st_name >= s->names_size - before - 1)
        return;
    s->rows[s->count++] = (struct symbol){
        .address = symbol->st_value,
        .size = symbol->st_size < SIZE_MOST ? symbol->st_size & SIZE_MOST : SIZE_MOST,
        .rank = symbol_rank(symbol, s->names + before + symbol->st_name) & RANK_MOST,
        .name = (uint32_t)before + symbol->st_name,
    };
}

static size_t count_of(const Elf64_Shdr *rows)
{
    const size_t count = rows->sh_entsize == sizeof(Elf64_Sym) ? rows->sh_size / sizeof(Elf64_Sym) : 0;
    return count < SYMBOLS_LIMIT ? count : SYMBOLS_LIMIT;
}

static void symbols_read_table(struct symbols *s, const struct symbol_table *table)
{
    const size_t count = count_of(&table->rows), before = s->names_size;
    if (!read_names(s, table))
        return;
    Elf64_Sym *some = alloc_zeroed(AT_ONCE, sizeof(*some));
    s->rows = alloc_resize(s->rows, s->count + count, sizeof(*s->rows));
    for (size_t i = 0, got; i < count; i += got) {
        got = count - i < AT_ONCE ? count - i : AT_ONCE;
        if (!sections_read_file(table->file, table->rows.sh_offset + i * sizeof(Elf64_Sym), some,
                                got * sizeof(Elf64_Sym)))
            break;
        for (size_t k = 0; k < got; k++)
            add_symbol(s, &some[k], before);
    }
    free(some);
}

/* ---- where the tables are ---- */

/* The tables of a module. */
struct symbol_tables {
    struct symbol_table tables[2];
    size_t count;
    int packed; /* a file that may have more of them in .gnu_debugdata; -1: none */
};

/* Adds the table of this type, if the file has one. */
static bool add_table(struct symbol_tables *found, const struct sections *sections, uint32_t type)
{
    for (size_t i = 0; i < sections->count; i++) {
        const Elf64_Shdr *rows = &sections->rows[i];
        if (rows->sh_type != type || rows->sh_link >= sections->count || count_of(rows) == 0)
            continue;
        found->tables[found->count++] = (struct symbol_table){ sections->file, *rows, sections->rows[rows->sh_link] };
        return true;
    }
    return false;
}

static bool add_table_of(struct symbol_tables *found, int file, uint32_t type)
{
    struct sections sections;
    const bool added = file >= 0 && sections_open(&sections, file) && add_table(found, &sections, type);
    if (file >= 0)
        sections_free(&sections);
    return added;
}

/* Unpacks what a file has in .gnu_debugdata. Returns an open file; -1: there is none. */
static int unpack_debugdata(int file)
{
    struct sections sections;
    size_t size;
    unsigned char *packed = sections_open(&sections, file) ? sections_read(&sections, DEBUGDATA, PACKED_LIMIT, &size)
                                                           : NULL;
    sections_free(&sections);
    const int unpacked = packed ? unxz(packed, size) : -1;
    free(packed);
    return unpacked;
}

static struct symbol_tables find_symbol_tables(int file, int debug)
{
    struct symbol_tables found = { .packed = -1 };
    struct sections sections;
    if (add_table_of(&found, file, SHT_SYMTAB) || add_table_of(&found, debug, SHT_SYMTAB) ||
        !sections_open(&sections, file))
        return found;
    add_table(&found, &sections, SHT_DYNSYM);
    found.packed = sections_find(&sections, DEBUGDATA) ? file : -1;
    sections_free(&sections);
    return found;
}

/* By address; of several at one address by rank, then by their place in the table. */
static int symbol_order(const void *a, const void *b)
{
    const struct symbol *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    return one->name < other->name ? -1 : one->name > other->name;
}

static void read_found(struct symbols *s, struct symbol_tables *found)
{
    const int unpacked = found->packed >= 0 ? unpack_debugdata(found->packed) : -1;
    add_table_of(found, unpacked, SHT_SYMTAB);
    for (size_t i = 0; i < found->count; i++)
        symbols_read_table(s, &found->tables[i]);
    if (s->count > 0)
        qsort(s->rows, s->count, sizeof(*s->rows), symbol_order);
    if (unpacked >= 0)
        close(unpacked);
}

void symbols_read(struct symbols *s, int file, int debug)
{
    struct symbol_tables found = find_symbol_tables(file, debug);
    *s = (struct symbols){ 0 };
    read_found(s, &found);
}

/* ---- large tables ---- */

/* Belongs to the caller, who reads `read` when the thread has set `done`. */
struct symbols_reader {
    pthread_t thread;
    int debug; /* closed at the end; -1: there is none */
    struct symbol_tables found;
    struct symbols read;
    atomic_bool done;
};

static void *symbols_main(void *self)
{
    struct symbols_reader *reader = self;
    read_found(&reader->read, &reader->found);
    atomic_store(&reader->done, true);
    return NULL;
}

static void reader_free(struct symbols_reader *reader)
{
    if (reader->debug >= 0)
        close(reader->debug);
    free(reader);
}

void symbols_begin(struct symbols *s, int file, int debug)
{
    struct symbols_reader *reader = alloc_zeroed(1, sizeof(*reader));
    size_t count = 0;
    *s = (struct symbols){ 0 };
    reader->debug = debug;
    reader->found = find_symbol_tables(file, debug);
    for (size_t i = 0; i < reader->found.count; i++)
        count += count_of(&reader->found.tables[i].rows);
    if ((count > LARGE || reader->found.packed >= 0) &&
        own_thread_start(&reader->thread, NULL, NULL, symbols_main, reader)) {
        s->reader = reader;
        return;
    }
    read_found(s, &reader->found);
    reader_free(reader);
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
    reader_free(reader);
    return true;
}

bool symbols_wait(struct symbols *s)
{
    while (!symbols_ready(s))
        usleep(1000);
    return true;
}

void symbols_free(struct symbols *s)
{
    symbols_wait(s);
    free(s->rows);
    free(s->names);
    *s = (struct symbols){ 0 };
}

const struct symbol *symbols_find(const struct symbols *s, uint64_t address)
{
    const size_t behind = sorted_until(s->rows, s->count, sizeof(*s->rows), address);
    if (behind == 0)
        return NULL;
    size_t first = behind - 1;
    for (int i = 0; i < NAMES_MOST && first > 0 && s->rows[first - 1].address == s->rows[behind - 1].address; i++)
        first--;
    for (; first < behind; first++)
        if (address - s->rows[first].address < s->rows[first].size)
            return &s->rows[first];
    return NULL;
}

const char *symbols_name(const struct symbols *s, const struct symbol *symbol)
{
    return s->names + symbol->name;
}
