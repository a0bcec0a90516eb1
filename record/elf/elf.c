/* SPDX-License-Identifier: MIT */
#include "record/elf/elf.h"

#include "formats/base/alloc.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#define SEGMENTS_LIMIT 64
#define DYNAMIC_LIMIT  256        /* entries */
#define CHAIN_LIMIT    (1u << 16) /* symbols looked at in one hash bucket */
#define NAME_LIMIT     64
#define NOTES_LIMIT    1024 /* bytes of a segment of notes that are searched */

#define RELOCATIONS_LIMIT   (1u << 20) /* of a table */
#define RELOCATIONS_AT_ONCE 1024

/* The tables that the dynamic section of an image names, as addresses in the process. */
struct dynamic {
    uint64_t symbols, strings, gnu_hash;
    struct {
        uint64_t address, size;
    } relocations[2]; /* of data, and of functions */
    uint64_t bias;    /* what the dynamic linker added to the addresses in the file */
};

static bool elf_read_at(struct remote *remote, uint64_t address, void *into, size_t size)
{
    return remote_read(remote, address, into, size) == REMOTE_READ;
}

static bool is_elf64(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_phentsize == sizeof(Elf64_Phdr) &&
           header->e_phnum > 0 && header->e_phnum <= SEGMENTS_LIMIT;
}

/* Reads the segments of an image. Returns how many there are; 0: this is no such image. */
static size_t read_segments(struct remote *remote, uint64_t base, Elf64_Phdr segments[SEGMENTS_LIMIT])
{
    Elf64_Ehdr header;
    if (!elf_read_at(remote, base, &header, sizeof(header)) || !is_elf64(&header) ||
        !elf_read_at(remote, base + header.e_phoff, segments, header.e_phnum * sizeof(*segments)))
        return 0;
    return header.e_phnum;
}

/* Finds the bias from the segment that has the start of the file, which is mapped at `base`. */
static bool find_bias(const Elf64_Phdr *segments, size_t count, uint64_t base, uint64_t *bias)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t page = segments[i].p_align > 1 ? segments[i].p_align : 1;
        if (segments[i].p_type != PT_LOAD || segments[i].p_offset >= page)
            continue;
        *bias = base - (segments[i].p_vaddr - segments[i].p_offset);
        return true;
    }
    return false;
}

/* An address of the dynamic section as an address in the process. glibc adds the bias to these addresses when it loads
 * the image; musl does not. */
static uint64_t real_address(uint64_t address, uint64_t bias)
{
    return address < bias ? address + bias : address;
}

size_t elf_segments(struct remote *remote, uint64_t base, Elf64_Phdr *segments, size_t room, uint64_t *bias)
{
    Elf64_Phdr all[SEGMENTS_LIMIT];
    const size_t count = read_segments(remote, base, all);
    if (count > room || !find_bias(all, count, base, bias))
        return 0;
    memcpy(segments, all, count * sizeof(*all));
    return count;
}

static bool read_dynamic(struct remote *remote, uint64_t address, size_t size, struct dynamic *dynamic)
{
    Elf64_Dyn entries[DYNAMIC_LIMIT];
    const size_t count = size / sizeof(*entries) < DYNAMIC_LIMIT ? size / sizeof(*entries) : DYNAMIC_LIMIT;
    if (!elf_read_at(remote, address, entries, count * sizeof(*entries)))
        return false;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        const uint64_t value = real_address(entries[i].d_un.d_ptr, dynamic->bias);
        if (entries[i].d_tag == DT_SYMTAB)
            dynamic->symbols = value;
        if (entries[i].d_tag == DT_STRTAB)
            dynamic->strings = value;
        if (entries[i].d_tag == DT_GNU_HASH)
            dynamic->gnu_hash = value;
        if (entries[i].d_tag == DT_RELA)
            dynamic->relocations[0].address = value;
        if (entries[i].d_tag == DT_RELASZ)
            dynamic->relocations[0].size = entries[i].d_un.d_val;
        if (entries[i].d_tag == DT_JMPREL)
            dynamic->relocations[1].address = value;
        if (entries[i].d_tag == DT_PLTRELSZ)
            dynamic->relocations[1].size = entries[i].d_un.d_val;
    }
    return dynamic->symbols && dynamic->strings && dynamic->gnu_hash;
}

static bool find_dynamic(struct remote *remote, uint64_t base, struct dynamic *dynamic)
{
    Elf64_Phdr segments[SEGMENTS_LIMIT];
    const size_t count = read_segments(remote, base, segments);
    if (!find_bias(segments, count, base, &dynamic->bias))
        return false;
    for (size_t i = 0; i < count; i++)
        if (segments[i].p_type == PT_DYNAMIC)
            return read_dynamic(remote, segments[i].p_vaddr + dynamic->bias, segments[i].p_memsz, dynamic);
    return false;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_called(struct remote *remote, const struct dynamic *dynamic, const Elf64_Sym *symbol, const char *name)
{
    char called[NAME_LIMIT];
    const size_t size = strlen(name) + 1;
    return size <= sizeof(called) && symbol->st_shndx != SHN_UNDEF &&
           elf_read_at(remote, dynamic->strings + symbol->st_name, called, size) && memcmp(called, name, size) == 0;
}

/* A symbol that an image exports, and its number. */
struct exported {
    Elf64_Sym symbol;
    uint32_t number;
};

/* Searches a hash bucket. The bucket's symbols begin at index `first` and are in a row; their hashes are in a row at
 * `chain`. Bit 0 of the last hash is set. */
static bool search_bucket(struct remote *remote, const struct dynamic *dynamic, uint64_t chain, uint32_t first,
                          const char *name, struct exported *found)
{
    const uint32_t wanted = gnu_hash(name);
    for (uint32_t i = 0; i < CHAIN_LIMIT; i++) {
        uint32_t hash;
        Elf64_Sym symbol;
        if (!elf_read_at(remote, chain + (uint64_t)i * sizeof(hash), &hash, sizeof(hash)))
            return false;
        if ((hash | 1) == (wanted | 1) &&
            elf_read_at(remote, dynamic->symbols + ((uint64_t)first + i) * sizeof(symbol), &symbol, sizeof(symbol)) &&
            is_called(remote, dynamic, &symbol, name)) {
            *found = (struct exported){ symbol, first + i };
            return true;
        }
        if (hash & 1)
            return false;
    }
    return false;
}

static bool find_exported(struct remote *remote, const struct dynamic *dynamic, const char *name,
                          struct exported *found)
{
    /* struct { buckets, first symbol, bloom words, bloom shift }, bloom words, buckets, chains */
    uint32_t head[4], first;
    if (!elf_read_at(remote, dynamic->gnu_hash, head, sizeof(head)) || head[0] == 0)
        return false;
    const uint64_t buckets = dynamic->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
    const uint64_t chains = buckets + (uint64_t)head[0] * sizeof(first);
    return elf_read_at(remote, buckets + (uint64_t)(gnu_hash(name) % head[0]) * sizeof(first), &first, sizeof(first)) &&
           first >= head[1] &&
           search_bucket(remote, dynamic, chains + ((uint64_t)first - head[1]) * sizeof(first), first, name, found);
}

uint64_t elf_symbol(struct remote *remote, uint64_t base, const char *name)
{
    struct dynamic dynamic = { 0 };
    struct exported found;
    const bool there = find_dynamic(remote, base, &dynamic) && find_exported(remote, &dynamic, name, &found);
    return there ? found.symbol.st_value + dynamic.bias : 0;
}

/* ---- variables of threads ---- */

#if defined(__aarch64__)
#define TLS_STATIC     R_AARCH64_TLS_TPREL
#define TLS_MODULE     R_AARCH64_TLS_DTPMOD
#define TLS_DESCRIPTOR R_AARCH64_TLSDESC
#else
#define TLS_STATIC     R_X86_64_TPOFF64
#define TLS_MODULE     R_X86_64_DTPMOD64
#define TLS_DESCRIPTOR R_X86_64_TLSDESC
#endif

/* Whether the dynamic linker fills in, at a relocation, what leads to the variable. */
static bool leads_to_variable(const Elf64_Rela *relocation, const struct exported *variable, struct elf_tls *tls)
{
    const uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
    const uint32_t number = (uint32_t)ELF64_R_SYM(relocation->r_info);
    const bool own = number == 0 && (uint64_t)relocation->r_addend == variable->symbol.st_value && type != TLS_MODULE;
    if (number != variable->number && !own)
        return false;
    tls->kind = type == TLS_STATIC       ? ELF_TLS_STATIC
                : type == TLS_MODULE     ? ELF_TLS_MODULE
                : type == TLS_DESCRIPTOR ? ELF_TLS_DESCRIPTOR
                                         : ELF_TLS_NONE;
    return tls->kind != ELF_TLS_NONE;
}

/* Searches the relocations of an image for the place of a variable. */
static void find_tls_place(struct remote *remote, const struct dynamic *dynamic, const struct exported *variable,
                           struct elf_tls *tls)
{
    Elf64_Rela read[RELOCATIONS_AT_ONCE];
    for (size_t table = 0; table < countof(dynamic->relocations); table++) {
        const uint64_t address = dynamic->relocations[table].address;
        const uint64_t size = dynamic->relocations[table].size / sizeof(*read);
        for (uint64_t at = 0; at < size && at < RELOCATIONS_LIMIT; at += countof(read)) {
            const size_t count = size - at < countof(read) ? (size_t)(size - at) : countof(read);
            if (!elf_read_at(remote, address + at * sizeof(*read), read, count * sizeof(*read)))
                break;
            for (size_t i = 0; i < count; i++)
                if (leads_to_variable(&read[i], variable, tls)) {
                    tls->place = read[i].r_offset + dynamic->bias;
                    return;
                }
        }
    }
}

bool elf_tls(struct remote *remote, uint64_t base, const char *name, struct elf_tls *tls)
{
    Elf64_Phdr segments[SEGMENTS_LIMIT];
    struct dynamic dynamic = { 0 };
    struct exported variable;
    *tls = (struct elf_tls){ 0 };
    if (!find_dynamic(remote, base, &dynamic) || !find_exported(remote, &dynamic, name, &variable) ||
        ELF64_ST_TYPE(variable.symbol.st_info) != STT_TLS)
        return false;
    tls->offset = variable.symbol.st_value;
    const size_t count = read_segments(remote, base, segments);
    for (size_t i = 0; i < count; i++) {
        const uint64_t align = segments[i].p_align > 1 ? segments[i].p_align : 1;
        if (segments[i].p_type == PT_TLS && segments[i].p_memsz < UINT32_MAX && align < UINT32_MAX)
            tls->size = (segments[i].p_memsz + align - 1) / align * align;
    }
    find_tls_place(remote, &dynamic, &variable, tls);
    return true;
}

/* ---- the build id ---- */

/* Searches the notes of a segment: each is a head, a name and a description, the last two padded. */
static size_t search_notes(const unsigned char *notes, size_t size, unsigned char id[ELF_BUILD_ID_MAX])
{
    Elf64_Nhdr head;
    for (size_t at = 0; size - at >= sizeof(head);) {
        memcpy(&head, notes + at, sizeof(head));
        at += sizeof(head);
        if (head.n_namesz > size - at || elf_note_padded(head.n_namesz) > size - at)
            return 0;
        const unsigned char *name = notes + at;
        at += elf_note_padded(head.n_namesz);
        if (head.n_descsz > size - at)
            return 0;
        const bool wanted = head.n_type == NT_GNU_BUILD_ID && head.n_namesz == sizeof(ELF_NOTE_GNU) &&
                            memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
        if (wanted && head.n_descsz <= ELF_BUILD_ID_MAX) {
            memcpy(id, notes + at, head.n_descsz);
            return head.n_descsz;
        }
        if (elf_note_padded(head.n_descsz) > size - at)
            return 0;
        at += elf_note_padded(head.n_descsz);
    }
    return 0;
}

size_t elf_build_id(struct remote *remote, uint64_t base, unsigned char id[ELF_BUILD_ID_MAX])
{
    Elf64_Phdr segments[SEGMENTS_LIMIT];
    const size_t count = read_segments(remote, base, segments);
    uint64_t bias;
    if (!find_bias(segments, count, base, &bias))
        return 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char notes[NOTES_LIMIT];
        const size_t size = segments[i].p_memsz < sizeof(notes) ? segments[i].p_memsz : sizeof(notes);
        if (segments[i].p_type != PT_NOTE || !elf_read_at(remote, segments[i].p_vaddr + bias, notes, size))
            continue;
        const size_t found = search_notes(notes, size, id);
        if (found)
            return found;
    }
    return 0;
}

const char *elf_build_id_text(const unsigned char *id, size_t size, char text[ELF_BUILD_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    text[2 * size] = '\0';
    return text;
}

/* ---- files ---- */

static uint64_t symbol_in_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *called = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (called && strcmp(called, name) == 0)
            return symbol.st_value;
    }
    return 0;
}

/* Returns the address of the symbol or section without the bias, as the file has it; 0: not found. */
static uint64_t find_in_sections(Elf *elf, const char *name, const char *wanted_section)
{
    size_t names;
    uint64_t section_address = 0;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) {
            const uint64_t found = symbol_in_section(elf, section, &header, name);
            if (found)
                return found;
        }
        const char *called = elf_strptr(elf, names, header.sh_name);
        if (wanted_section && called && strcmp(called, wanted_section) == 0)
            section_address = header.sh_addr;
    }
    return section_address;
}

static bool file_bias(Elf *elf, uint64_t base, uint64_t *bias)
{
    size_t count;
    Elf64_Phdr segments[SEGMENTS_LIMIT];
    if (elf_getphdrnum(elf, &count) != 0 || count > SEGMENTS_LIMIT)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment))
            return false;
        segments[i] = segment;
    }
    return find_bias(segments, count, base, bias);
}

uint64_t elf_file_symbol(int fd, uint64_t base, const char *name, const char *section)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    uint64_t bias = 0, found = 0;
    if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 && file_bias(elf, base, &bias))
        found = find_in_sections(elf, name, section);
    elf_end(elf);
    return found ? found + bias : 0;
}

bool elf_file_constants(int fd, size_t *left, elf_look *look, void *self)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    size_t count = 0;
    bool whole = true;
    if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count) != 0)
        count = 0;
    for (size_t i = 0; i < count && i < SEGMENTS_LIMIT; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || segment.p_flags & PF_W)
            continue;
        const size_t size = segment.p_filesz < *left ? segment.p_filesz : *left;
        const Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, size, ELF_T_BYTE);
        whole &= size == segment.p_filesz;
        *left -= size;
        if (data && data->d_buf)
            look(self, data->d_buf, data->d_size, segment.p_vaddr);
    }
    elf_end(elf);
    return whole;
}
