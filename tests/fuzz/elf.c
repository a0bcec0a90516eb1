/* SPDX-License-Identifier: MIT */
/* The bytes of an ELF image: once as the memory of a process, once as a file. */
#include "record/elf/elf.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLS_LIMIT 500000 /* a bucket of the hash table is followed for 65536 symbols at most */

FUZZ_TARGET(elf)
{
    struct remote remote = { .pid = 1 };
    fake_remote_reset();
    fake_remote_map(0x400000, (void *)bytes, size);
    elf_symbol(&remote, 0x400000, "_PyRuntime");
    elf_symbol(&remote, 0x400000, "f");
    struct elf_tls tls;
    elf_tls(&remote, 0x400000, "f", &tls);
    if (remote.calls > CALLS_LIMIT)
        abort();
    fake_remote_reset();

    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (size > 0 && write(fd, bytes, size) != (ssize_t)size)
        abort();
    lseek(fd, 0, SEEK_SET);
    elf_file_symbol(fd, 0x400000, "_PyRuntime", ".PyRuntime");
    elf_file_symbol(fd, 0x400000, "f", NULL);
    close(fd);
    return 0;
}
