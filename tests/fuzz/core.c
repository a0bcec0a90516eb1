/* SPDX-License-Identifier: MIT */
/* The bytes of a core file. Reading memory opens the files that it names, so the paths in the corpus lead nowhere. */
#include "record/core/core_file.h"

#include "record/elf/elf.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ADDRESSES_MOST 64

static void read_at(struct core_file *core, uint64_t address)
{
    unsigned char bytes[300];
    core_file_read(core, address, bytes, sizeof(bytes));
    core_file_read(core, address - sizeof(bytes) / 2, bytes, sizeof(bytes));
}

FUZZ_TARGET(core)
{
    struct core_file core;
    struct fault why = { 0 };
    struct images images;
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (size > 0 && write(fd, bytes, size) != (ssize_t)size)
        abort();
    if (core_file_take(&core, fd, "fuzz", &why)) {
        for (size_t i = 0; i < core.segments_count && i < ADDRESSES_MOST; i++)
            read_at(&core, core.segments[i].address + core.segments[i].size);
        for (size_t i = 0; i < core.mappings_count && i < ADDRESSES_MOST; i++)
            read_at(&core, core.mappings[i].address);
        struct remote remote = remote_of(&core_file_kind, &core);
        core_file_kind.images(&core, &images);
        for (size_t i = 0; i < images.count && i < ADDRESSES_MOST; i++)
            elf_symbol(&remote, images.rows[i].address, "_PyRuntime");
        procfs_images_free(&images);
        core_file_explain(&core, "fuzz", &why);
    }
    core_file_close(&core);
    return 0;
}
