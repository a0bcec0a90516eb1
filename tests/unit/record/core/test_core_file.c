/* SPDX-License-Identifier: MIT */
/* A core file that has the first page of this test's own program, and names the rest by path. */
#include "record/core/core_file.h"

#include "tests/fakes/testing.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE  UINT64_C(0x400000)
#define PAGE  4096u
#define HEAP  UINT64_C(0x7000000)
#define WORDS "words in the heap"

struct made {
    struct core_file core;
    struct fault why;
    char path[PATH_MAX];
    int exe;
};

static void put(int fd, uint64_t offset, const void *bytes, size_t size)
{
    assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), size);
}

/* Writes the note that lists the mapped files, at the start of page 1. Returns its size. */
static size_t put_note(int fd, const char *path)
{
    const size_t path_size = strlen(path) + 1;
    const uint64_t words[] = { 1, PAGE, BASE, BASE + 3 * PAGE, 0 };
    const Elf64_Nhdr head = { .n_namesz = 5, .n_descsz = (Elf64_Word)(sizeof(words) + path_size), .n_type = NT_FILE };
    put(fd, PAGE, &head, sizeof(head));
    put(fd, PAGE + sizeof(head), "CORE\0\0\0", 8);
    put(fd, PAGE + sizeof(head) + 8, words, sizeof(words));
    put(fd, PAGE + sizeof(head) + 8 + sizeof(words), path, path_size);
    return sizeof(head) + 8 + ((sizeof(words) + path_size + 3) & ~(size_t)3);
}

/* The byte at `spoiled` of the program's first page is another one in the core file; 0: none is. */
static void make(struct made *made, size_t spoiled)
{
    unsigned char page[PAGE];
    *made = (struct made){ .exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
    assert_true(readlink("/proc/self/exe", made->path, sizeof(made->path) - 1) > 0);
    assert_int_equal(pread(made->exe, page, PAGE, 0), PAGE);
    if (spoiled)
        page[spoiled] ^= 1;
    const int fd = memfd_create("core", MFD_CLOEXEC);
    const size_t note = put_note(fd, made->path);
    Elf64_Ehdr header;
    memcpy(&header, page, sizeof(header)); /* class, machine and byte order are ours */
    header.e_type = ET_CORE;
    header.e_phoff = sizeof(header);
    header.e_phnum = 3;
    const Elf64_Phdr segments[] = {
        { .p_type = PT_NOTE, .p_offset = PAGE, .p_filesz = note },
        { .p_type = PT_LOAD, .p_vaddr = BASE, .p_offset = 8 * PAGE, .p_filesz = PAGE, .p_memsz = 3 * PAGE },
        { .p_type = PT_LOAD, .p_vaddr = HEAP, .p_offset = 9 * PAGE, .p_filesz = sizeof(WORDS), .p_memsz = 2 * PAGE },
    };
    put(fd, 0, &header, sizeof(header));
    put(fd, sizeof(header), segments, sizeof(segments));
    put(fd, 8 * PAGE, page, PAGE);
    put(fd, 9 * PAGE, WORDS, sizeof(WORDS));
    assert_true(core_file_take(&made->core, fd, "core", &made->why));
}

static void end(struct made *made)
{
    core_file_close(&made->core);
    core_file_close(&made->core);
    close(made->exe);
}

/* The offset of the first byte of the build id in the program; 0: the program has none. */
static size_t find_id(int exe)
{
    static const unsigned char head[] = { 4, 0, 0, 0, 20, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0 };
    unsigned char page[PAGE];
    assert_int_equal(pread(exe, page, PAGE, 0), PAGE);
    const unsigned char *found = memmem(page, PAGE, head, sizeof(head));
    return found ? (size_t)(found - page) + sizeof(head) : 0;
}

static void test_bytes_of_the_core_and_of_files(void **state)
{
    (void)state;
    struct made made;
    unsigned char ours[300], theirs[300];
    char words[sizeof(WORDS)];
    make(&made, 0);
    assert_true(core_file_read(&made.core, HEAP, words, sizeof(words)));
    assert_string_equal(words, WORDS);
    assert_false(core_file_read(&made.core, HEAP, ours, sizeof(ours))); /* the rest is nowhere */
    if (find_id(made.exe)) {
        assert_int_equal(pread(made.exe, theirs, sizeof(theirs), PAGE - 100), sizeof(theirs));
        assert_true(core_file_read(&made.core, BASE + PAGE - 100, ours, sizeof(ours))); /* from both */
        assert_memory_equal(ours, theirs, sizeof(ours));
    }
    assert_false(core_file_read(&made.core, BASE + 3 * PAGE, ours, 1));
    assert_false(core_file_read(&made.core, UINT64_MAX - 4, ours, 8));
    end(&made);
}

static void test_a_file_of_another_build_is_not_used(void **state)
{
    (void)state;
    struct made made;
    unsigned char byte;
    const int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const size_t id = find_id(exe);
    close(exe);
    if (id == 0)
        skip();
    make(&made, id);
    assert_true(core_file_read(&made.core, BASE, &byte, 1));
    assert_false(core_file_read(&made.core, BASE + PAGE, &byte, 1));
    end(&made);
}

static void test_images(void **state)
{
    (void)state;
    struct made made;
    struct images images;
    make(&made, 0);
    assert_true(core_file_kind.images(&made.core, &images));
    assert_int_equal(images.count, 1);
    assert_int_equal(images.rows[0].address, BASE);
    assert_string_equal(images.rows[0].path, made.path);
    procfs_images_free(&images);
    assert_false(core_file_explain(&made.core, "core", &made.why));
    assert_non_null(strstr(made.why.text, "no CPython"));
    end(&made);
}

static void test_files_that_are_no_core(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *why;
        size_t size;
    } cases[] = { { "", "is no core file", 0 },
                  { "\x28\xB5\x2F\xFD 100 bytes that are no frame of zstd, which nobody reads .....", "zstd -d", 64 },
                  { "hello, this is some text that is as long as the header of an ELF file .....", "is no core file",
                    64 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct core_file core;
        struct fault why = { 0 };
        const int fd = memfd_create("core", MFD_CLOEXEC);
        put(fd, 0, cases[i].bytes, cases[i].size);
        assert_false(core_file_take(&core, fd, "FILE", &why));
        assert_non_null(strstr(why.text, cases[i].why));
        core_file_close(&core);
    }
}

TEST_FILE(core_file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_of_the_core_and_of_files),
        cmocka_unit_test(test_a_file_of_another_build_is_not_used),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_files_that_are_no_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
