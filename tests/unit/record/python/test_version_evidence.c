/* SPDX-License-Identifier: MIT */
/* Files that say which CPython they have, and large ones that take long to read. */
#include "record/python/runtime.h"

#include "tests/fakes/testing.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* An open file whose constants are so large, with holes but for a text at `at`. */
static int file_with(uint64_t size, uint64_t at, const char *text)
{
    const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                                .e_type = ET_DYN,
                                .e_machine = EM_X86_64,
                                .e_version = EV_CURRENT,
                                .e_phoff = sizeof(header),
                                .e_ehsize = sizeof(header),
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = 1 };
    const Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = size, .p_memsz = size };
    const int fd = memfd_create("constants", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(header)), sizeof(segment));
    assert_int_equal(pwrite(fd, text, strlen(text), (off_t)at), strlen(text));
    return fd;
}

static void a_part_of_a_large_file_is_searched(void **state)
{
    (void)state;
    static const struct {
        uint64_t size, at;
        size_t most;
        bool found, cut;
    } rows[] = {
        { 1 * MIB, 4096, 1 * MIB, true, false },          { 2 * MIB, 4096, 1 * MIB, true, true },
        { 2 * MIB, 1 * MIB + 8, 1 * MIB, false, true },   { 3000 * MIB, 4096, 1 * MIB, true, true },
        { 3000 * MIB, 2999 * MIB, 1 * MIB, false, true }, { 1 * MIB, 4096, 0, false, true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t left = rows[i].most;
        const int fd = file_with(rows[i].size, rows[i].at, "3.11.7");
        const struct elf_file_versions versions = runtime_versions(fd, &left);
        close(fd);
        assert_true(versions.known);
        assert_int_equal(versions.cut, rows[i].cut);
        assert_int_equal(versions.count, rows[i].found);
        assert_true(!rows[i].found || versions.rows[0] == 0x030b07f0);
        assert_int_equal(left, 0);
    }
}

static void files_share_a_limit(void **state)
{
    (void)state;
    size_t left = 3 * MIB;
    const int fd = file_with(2 * MIB, 4096, "3.12.1");
    assert_false(runtime_versions(fd, &left).cut);
    assert_int_equal(left, 1 * MIB);
    assert_true(runtime_versions(fd, &left).cut);
    assert_int_equal(left, 0);
    close(fd);
}

TEST_FILE(version_evidence)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_of_a_large_file_is_searched),
        cmocka_unit_test(files_share_a_limit),
    };
    return run_all(tests);
}
