/* SPDX-License-Identifier: MIT */
/* The bytes of a program: its unwind tables and its tables of methods as the memory of a process, its symbols as a
 * file, also those that are packed into it; the bytes as the file of a just-in-time compiler, and as a name of the
 * linker. */
#include "formats/names/demangle.h"
#include "record/native/cfi.h"
#include "record/native/names/methods.h"
#include "record/native/names/perf_map.h"
#include "record/native/names/symbols.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE  0x400000u
#define STEPS 64 /* addresses that are asked for */

static void ask(const struct image_file *image, size_t size)
{
    struct cfi cfi;
    struct methods methods;
    struct cfi_rule rule;
    char name[METHOD_NAME_MAX];
    methods_read(&methods, image);
    const bool has_rules = cfi_open(&cfi, image);
    for (size_t i = 0; i < STEPS; i++) {
        const uint64_t address = size * i / STEPS;
        if (has_rules && cfi_find(&cfi, address, &rule) && (rule.end <= rule.begin || rule.begin != address))
            abort();
        methods_name(&methods, image, address, name);
    }
    methods_free(&methods);
}

FUZZ_TARGET(code)
{
    struct remote remote = { .pid = 1 };
    struct image mapped = { .address = BASE };
    struct image_file image;
    fake_remote_reset();
    fake_remote_map(BASE, (void *)bytes, size);
    if (image_file_open(&image, &remote, &mapped))
        ask(&image, size);
    image_file_close(&image);
    /* Without a head: the first words say where the table is. */
    if (size >= 8) {
        uint16_t at;
        memcpy(&at, bytes, sizeof(at));
        image = (struct image_file){ .remote = &remote, .file = -1, .bias = BASE, .segments_count = 2 };
        image.segments[0] = (Elf64_Phdr){
            .p_type = PT_LOAD, .p_flags = PF_R | PF_W | PF_X, .p_filesz = size, .p_memsz = size
        };
        image.segments[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_vaddr = at };
        ask(&image, size);
    }
    fake_remote_reset();

    struct symbols symbols;
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (size > 0 && write(file, bytes, size) != (ssize_t)size)
        abort();
    symbols_read(&symbols, file, -1);
    for (size_t i = 0; i < STEPS; i++) {
        const struct symbol *symbol = symbols_find(&symbols, size * i / STEPS);
        if (symbol && strlen(symbols_name(&symbols, symbol)) > symbols.names_size)
            abort();
    }
    symbols_free(&symbols);
    close(file);

    struct perf_map map = { 0 };
    if (perf_map_take(&map, (struct text){ (const char *)bytes, size }) > size)
        abort();
    for (size_t i = 0; i < STEPS; i++) {
        const struct perf_function *function = perf_map_find(&map, size * i / STEPS);
        if (function && strlen(perf_map_name(&map, function)) >= map.names_size)
            abort();
    }
    perf_map_close(&map);

    struct bytes readable = { 0 };
    demangle((struct text){ (const char *)bytes, strnlen((const char *)bytes, size) }, &readable);
    if (readable.size > DEMANGLE_MOST)
        abort();
    bytes_free(&readable);
    return 0;
}
