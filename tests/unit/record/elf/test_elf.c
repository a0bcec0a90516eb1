/* SPDX-License-Identifier: MIT */
/* Symbols are looked for in our own memory and files: what the dynamic linker says of them is the expected result. */
#include "record/elf/elf.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int exported_by_the_test = 7;

/* A loaded image: its readable segments become memory of the fake process. */
struct loaded {
    const char *name; /* part of its path; NULL: the program */
    uint64_t base;
    char path[4096];
};

static int map_image(struct dl_phdr_info *info, size_t size, void *self)
{
    struct loaded *loaded = self;
    (void)size;
    if (loaded->name ? !strstr(info->dlpi_name, loaded->name) : info->dlpi_name[0] != '\0')
        return 0;
    snprintf(loaded->path, sizeof(loaded->path), "%s", loaded->name ? info->dlpi_name : "/proc/self/exe");
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R))
            continue;
        const uint64_t address = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_offset == 0)
            loaded->base = address;
        fake_remote_map(address, (void *)(uintptr_t)address, segment->p_memsz);
    }
    return 1;
}

static struct loaded load(const char *name)
{
    struct loaded loaded = { .name = name };
    fake_remote_reset();
    assert_int_equal(dl_iterate_phdr(map_image, &loaded), 1);
    assert_true(loaded.base != 0);
    return loaded;
}

static const char *const exported[] = { "crc32",  "deflate",   "inflate",      "zlibVersion",
                                        "gzopen", "adler32_z", "compressBound" };

static void finds_what_an_image_in_memory_exports(void **state)
{
    (void)state;
    struct remote remote = { .pid = 1 };
    const struct loaded zlib = load("libz.so");
    void *handle = dlopen(zlib.path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(handle);
    for (size_t i = 0; i < countof(exported); i++)
        assert_int_equal(elf_symbol(&remote, zlib.base, exported[i]), (uintptr_t)dlsym(handle, exported[i]));
    assert_int_equal(elf_symbol(&remote, zlib.base, "_PyRuntime"), 0);
    assert_int_equal(elf_symbol(&remote, zlib.base, ""), 0);
    assert_int_equal(elf_symbol(&remote, zlib.base, "malloc"), 0); /* it uses that one, and has none of its own */
    assert_int_equal(elf_symbol(&remote, zlib.base + 4096, "crc32"), 0);
    assert_int_equal(elf_symbol(&remote, 0x1000, "crc32"), 0);
    char long_name[200];
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    assert_int_equal(elf_symbol(&remote, zlib.base, long_name), 0);
    dlclose(handle);
}

/* The build id of this program, as the linker wrote it into the file: the note begins with these words. */
static void reads_the_build_id_of_an_image(void **state)
{
    (void)state;
    static const char head[] = "\3\0\0\0GNU";
    struct remote remote = { .pid = 1 };
    const struct loaded program = load(NULL);
    unsigned char id[ELF_BUILD_ID_MAX], bytes[8192];
    const size_t size = elf_build_id(&remote, program.base, id);
    const int fd = open(program.path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = read(fd, bytes, sizeof(bytes));
    close(fd);
    const unsigned char *note = got > 0 ? memmem(bytes, (size_t)got, head, sizeof(head)) : NULL;
    assert_int_equal(size > 0, note != NULL);
    if (note) {
        assert_int_equal(size, note[-4]);
        assert_memory_equal(id, note + sizeof(head), size);
    }
    assert_int_equal(elf_build_id(&remote, program.base + 4096, id), 0);
    assert_int_equal(elf_build_id(&remote, 0x1000, id), 0);
}

static void finds_symbols_and_sections_in_files(void **state)
{
    (void)state;
    struct remote remote = { .pid = 1 };
    const struct loaded zlib = load("libz.so");
    int fd = open(zlib.path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t i = 0; i < countof(exported); i++)
        assert_int_equal(elf_file_symbol(fd, zlib.base, exported[i], NULL),
                         elf_symbol(&remote, zlib.base, exported[i]));
    assert_int_equal(elf_file_symbol(fd, zlib.base, "_PyRuntime", ".PyRuntime"), 0);
    close(fd);

    const struct loaded program = load(NULL);
    fd = open(program.path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(elf_file_symbol(fd, program.base, "exported_by_the_test", NULL), (uintptr_t)&exported_by_the_test);
    const uint64_t data = elf_file_symbol(fd, program.base, "no such symbol", ".data");
    assert_true(data > program.base && data <= (uintptr_t)&exported_by_the_test);
    assert_int_equal(elf_file_symbol(fd, program.base, "no such symbol", ".no such section"), 0);
    assert_int_equal(elf_file_symbol(fd, program.base, "no such symbol", NULL), 0);
    close(fd);
}

/* ---- images that are not what they say ---- */

static struct bytes small_library(void)
{
    const struct loaded zlib = load("libz.so");
    const int fd = open(zlib.path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return file_bytes(fd);
}

static void files_cut_or_changed_are_read_without_harm(void **state)
{
    (void)state;
    struct bytes file = small_library();
    for (size_t size = 0; size < file.size; size += size < 200 ? 1 : file.size / 50) {
        const int fd = memory_file(file.at, size);
        elf_file_symbol(fd, 0x10000, "crc32", ".data");
        close(fd);
    }
    for (size_t at = 0; at < sizeof(Elf64_Ehdr) + 10 * sizeof(Elf64_Phdr); at++) {
        const unsigned char was = file.at[at];
        file.at[at] ^= 0xFF;
        const int fd = memory_file(file.at, file.size);
        elf_file_symbol(fd, 0x10000, "crc32", ".data");
        close(fd);
        file.at[at] = was;
    }
    const int fd = memory_file(file.at, file.size);
    assert_int_not_equal(elf_file_symbol(fd, 0x10000, "crc32", NULL), 0);
    close(fd);
    bytes_free(&file);
}

/* An image as it is in memory when every segment lies where the file has it. */
static void memory_that_lies_is_read_without_harm(void **state)
{
    (void)state;
    static const uint64_t values[] = { 0, 1, UINT64_MAX, 0x100000000, 1 << 20, 0x7fffffffffffffff };
    struct remote remote = { .pid = 1 };
    const uint64_t base = 0x400000;
    unsigned char id[ELF_BUILD_ID_MAX];
    struct bytes file = small_library();
    fake_remote_reset();
    fake_remote_map(base, file.at, file.size);
    const Elf64_Ehdr *header = (const void *)file.at;
    Elf64_Phdr *segments = (void *)(file.at + header->e_phoff);
    Elf64_Dyn *dynamic = NULL;
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type != PT_DYNAMIC)
            continue;
        segments[i].p_vaddr = segments[i].p_offset;
        dynamic = (void *)(file.at + segments[i].p_offset);
    }
    assert_non_null(dynamic);
    assert_int_not_equal(elf_symbol(&remote, base, "crc32"), 0);
    for (size_t word = 0; word < sizeof(Elf64_Ehdr) / 8 + 12 * sizeof(Elf64_Phdr) / 8; word++) {
        uint64_t *at = (uint64_t *)(void *)file.at + word, was = *at;
        for (size_t v = 0; v < countof(values); v++) {
            *at = values[v];
            elf_symbol(&remote, base, "crc32");
            elf_build_id(&remote, base, id);
        }
        *at = was;
    }
    for (size_t i = 0; i < header->e_phnum; i++) {
        unsigned char *notes = file.at + segments[i].p_offset;
        for (size_t at = 0; segments[i].p_type == PT_NOTE && at < segments[i].p_filesz; at++) {
            notes[at] ^= 0xFF;
            assert_true(elf_build_id(&remote, base, id) <= sizeof(id));
            notes[at] ^= 0xFF;
        }
    }
    for (Elf64_Dyn *entry = dynamic; entry->d_tag != DT_NULL; entry++) {
        const uint64_t was = entry->d_un.d_val;
        for (size_t v = 0; v < countof(values); v++) {
            entry->d_un.d_val = values[v];
            elf_symbol(&remote, base, "crc32");
        }
        /* The table of symbols where the hash table should be, and so on. */
        for (uint64_t offset = 0; offset < file.size; offset += file.size / 40) {
            entry->d_un.d_val = offset;
            elf_symbol(&remote, base, "crc32");
        }
        entry->d_un.d_val = was;
    }
    assert_true(remote.calls < 200000000);
    assert_int_not_equal(elf_symbol(&remote, base, "crc32"), 0);
    fake_remote_reset();
    bytes_free(&file);
}

TEST_FILE(elf)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_an_image_in_memory_exports),
        cmocka_unit_test(reads_the_build_id_of_an_image),
        cmocka_unit_test(finds_symbols_and_sections_in_files),
        cmocka_unit_test(files_cut_or_changed_are_read_without_harm),
        cmocka_unit_test(memory_that_lies_is_read_without_harm),
    };
    return run_all(tests);
}
