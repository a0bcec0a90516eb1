/* SPDX-License-Identifier: MIT */
#include "record/core/core_file.h"

#include "formats/base/alloc.h"
#include "record/core/core_notes.h"
#include "record/elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* ---- the segments ---- */

static int by_address(const void *left, const void *right)
{
    const struct core_segment *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int by_mapped_address(const void *left, const void *right)
{
    const struct core_mapping *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static void take_segment(struct core_file *core, const Elf64_Phdr *header)
{
    const uint64_t left = core->size > header->p_offset ? core->size - header->p_offset : 0;
    const uint64_t claimed = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;
    if (header->p_type == PT_NOTE)
        core_notes_take(core, header->p_offset, header->p_filesz < left ? header->p_filesz : left);
    if (header->p_type != PT_LOAD || header->p_memsz == 0 || header->p_vaddr + header->p_memsz < header->p_vaddr)
        return;
    core->cut |= claimed > left;
    core->segments = alloc_grow(core->segments, &core->segments_room, core->segments_count + 1,
                                sizeof(*core->segments));
    core->segments[core->segments_count++] = (struct core_segment){ .address = header->p_vaddr,
                                                                    .size = header->p_memsz,
                                                                    .offset = header->p_offset,
                                                                    .there = claimed < left ? claimed : left };
}

/* The number of segments. One that is too large for its field is in the first section's header. */
static uint64_t count_segments(const struct core_file *core, const Elf64_Ehdr *header)
{
    Elf64_Shdr section;
    if (header->e_phnum != PN_XNUM || !core_notes_read(core, header->e_shoff, &section, sizeof(section)))
        return header->e_phnum;
    return section.sh_info;
}

static bool take_segments(struct core_file *core, const Elf64_Ehdr *header, const char *path, struct fault *why)
{
    const uint64_t count = count_segments(core, header);
    if (count > CORE_COUNT_LIMIT)
        return fault(why, "cannot read %s: it has more than %u segments of memory", path, CORE_COUNT_LIMIT);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Phdr segment;
        if (!core_notes_read(core, header->e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
            return fault(why, "%s is cut off in its table of segments", path);
        take_segment(core, &segment);
    }
    if (core->segments_count > 0)
        qsort(core->segments, core->segments_count, sizeof(*core->segments), by_address);
    if (core->mappings_count > 0)
        qsort(core->mappings, core->mappings_count, sizeof(*core->mappings), by_mapped_address);
    return true;
}

/* ---- opening ---- */

/* Says what the file is, if it is no core file of this machine's kind. */
static bool check_kind(const struct core_file *core, Elf64_Ehdr *header, const char *path, struct fault *why)
{
    static const struct {
        const char *magic, *packer;
    } packed[] = { { "\x28\xB5\x2F\xFD", "zstd -d" },
                   { "\x04\x22\x4D\x18", "lz4 -d" },
                   { "\xFD"
                     "7zX",
                     "xz -d" },
                   { "\x1F\x8B\x08", "gzip -d" } };
    memset(header, 0, sizeof(*header));
    const bool whole = core_notes_read(core, 0, header, sizeof(*header));
    for (size_t i = 0; i < countof(packed); i++)
        if (whole && memcmp(header->e_ident, packed[i].magic, strlen(packed[i].magic)) == 0)
            return fault(why, "%s is compressed: unpack it first (%s)", path, packed[i].packer);
    if (!whole || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return fault(why, "%s is no core file", path);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        (MACHINE != EM_NONE && header->e_machine != MACHINE))
        return fault(why, "%s comes from a machine of another kind: read it on such a machine", path);
    if (header->e_type != ET_CORE || header->e_phentsize != sizeof(Elf64_Phdr))
        return fault(why, "%s is no core file, but a program or a library", path);
    return true;
}

bool core_file_take(struct core_file *core, int fd, const char *path, struct fault *why)
{
    struct stat stat;
    Elf64_Ehdr header;
    *core = (struct core_file){ .fd = fd, .exe = -1 };
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return fault(why, "%s is no regular file", path);
    core->size = (uint64_t)stat.st_size;
    return check_kind(core, &header, path, why) && take_segments(core, &header, path, why);
}

bool core_file_open(struct core_file *core, const char *path, const char *exe, struct fault *why)
{
    *core = (struct core_file){ .fd = -1, .exe = -1 };
    const int fd = procfs_open_regular(path);
    if (fd < 0)
        return fault(why, "cannot open %s: %s", path, errno == EINVAL ? "it is no regular file" : strerror(errno));
    if (!core_file_take(core, fd, path, why))
        return false;
    core->exe_path = exe;
    core->exe = exe ? procfs_open_regular(exe) : -1;
    return !exe || core->exe >= 0 ||
           fault(why, "cannot open %s: %s", exe, errno == EINVAL ? "it is no regular file" : strerror(errno));
}

void core_file_close(struct core_file *core)
{
    const bool opened = core->fd > 0 || core->size > 0;
    for (size_t i = 0; i < core->files_count; i++)
        if (core->files[i].fd >= 0 && core->files[i].fd != core->exe)
            close(core->files[i].fd);
    if (opened && core->exe >= 0)
        close(core->exe);
    if (opened && core->fd >= 0)
        close(core->fd);
    free(core->segments);
    free(core->mappings);
    free(core->paths);
    free(core->files);
    free(core->threads);
    *core = (struct core_file){ .fd = -1, .exe = -1 };
}

/* ---- builds of files ---- */

/* The last row at or below an address; NULL: none. The rows are sorted, and each begins with its address. */
static const void *last_at(const void *rows, size_t count, size_t size, uint64_t address)
{
    const unsigned char *bytes = rows;
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (word_at(bytes + middle * size, 0) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? bytes + (low - 1) * size : NULL;
}

/* The segment that has an address. Knows the core file only, without mapped files. */
static const struct core_segment *segment_at(const struct core_file *core, uint64_t address)
{
    const struct core_segment *found = last_at(core->segments, core->segments_count, sizeof(*core->segments), address);
    return found && address - found->address < found->size ? found : NULL;
}

static bool read_own(void *self, uint64_t address, void *into, size_t size)
{
    const struct core_file *core = self;
    const struct core_segment *segment = segment_at(core, address);
    const uint64_t at = segment ? address - segment->address : 0;
    return segment && at < segment->there && size <= segment->there - at &&
           core_notes_read(core, segment->offset + at, into, size);
}

/* A file as memory: an address is an offset in the file. */
static bool core_read_mapped(void *self, uint64_t address, void *into, size_t size)
{
    const struct core_file file = { .fd = *(const int *)self };
    return core_notes_read(&file, address, into, size);
}

static const struct memory_kind own_kind = { .read = read_own }, file_kind = { .read = core_read_mapped };

/* The build id of an image in the core file, and of an open file. 0: there is none. */
static size_t id_of_image(struct core_file *core, uint64_t address, unsigned char id[ELF_BUILD_ID_MAX])
{
    struct remote remote = remote_of(&own_kind, core);
    return address ? elf_build_id(&remote, address, id) : 0;
}

static size_t id_of_file(int fd, unsigned char id[ELF_BUILD_ID_MAX])
{
    struct remote remote = remote_of(&file_kind, &fd);
    return elf_build_id(&remote, 0, id);
}

static bool same_build(struct core_file *core, const struct core_mapped *file, int fd)
{
    unsigned char theirs[ELF_BUILD_ID_MAX], ours[ELF_BUILD_ID_MAX];
    const size_t size = id_of_image(core, file->address, theirs);
    return size > 0 && id_of_file(fd, ours) == size && memcmp(theirs, ours, size) == 0;
}

const struct core_mapped *core_file_program(const struct core_file *core)
{
    for (size_t i = 0; core->headers_at && i < core->mappings_count; i++)
        if (core->headers_at >= core->mappings[i].address && core->headers_at < core->mappings[i].end)
            return &core->files[core->mappings[i].file];
    return NULL;
}

/* Whether the file that the user gave is this one. It is believed if the core file does not say the build of the
 * program. */
static bool is_given(struct core_file *core, const struct core_mapped *file)
{
    unsigned char id[ELF_BUILD_ID_MAX];
    if (core->exe < 0)
        return false;
    return same_build(core, file, core->exe) ||
           (file == core_file_program(core) && id_of_image(core, file->address, id) == 0);
}

/* An open file of the build of a mapped file; -1: there is none here. */
static int core_find_file(struct core_file *core, struct core_mapped *file)
{
    if (file->tried)
        return file->fd;
    file->tried = true;
    if (is_given(core, file)) {
        core->exe_used = true;
        return file->fd = core->exe;
    }
    if (file->path[0] != '/')
        return -1;
    const int fd = procfs_open_regular(file->path);
    if (fd >= 0 && same_build(core, file, fd))
        return file->fd = fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- memory ---- */

static const struct core_mapping *mapping_at(const struct core_file *core, uint64_t address)
{
    const struct core_mapping *found = last_at(core->mappings, core->mappings_count, sizeof(*core->mappings), address);
    return found && address < found->end ? found : NULL;
}

static size_t piece_least(uint64_t a, size_t b)
{
    return a < b ? (size_t)a : b;
}

/* Reads as many of the bytes as have one source. Returns their number; 0: the first one is not there. */
static size_t core_read_some(struct core_file *core, uint64_t address, void *into, size_t size)
{
    const struct core_segment *segment = segment_at(core, address);
    const uint64_t at = segment ? address - segment->address : 0;
    if (segment && at < segment->there) {
        const size_t some = piece_least(segment->there - at, size);
        return core_notes_read(core, segment->offset + at, into, some) ? some : 0;
    }
    const struct core_mapping *mapping = mapping_at(core, address);
    const int fd = mapping ? core_find_file(core, &core->files[mapping->file]) : -1;
    if (fd < 0)
        return 0;
    size_t some = piece_least(mapping->end - address, size);
    some = segment ? piece_least(segment->size - at, some) : some;
    uint64_t offset;
    if (__builtin_add_overflow(mapping->offset, address - mapping->address, &offset))
        return 0;
    return core_read_mapped((void *)&fd, offset, into, some) ? some : 0;
}

bool core_file_read(struct core_file *core, uint64_t address, void *into, size_t size)
{
    for (size_t done = 0; done < size;) {
        const size_t some = core_read_some(core, address + done, (unsigned char *)into + done, size - done);
        if (some == 0)
            return false;
        done += some;
    }
    return true;
}

static bool read_memory(void *self, uint64_t address, void *into, size_t size)
{
    return core_file_read(self, address, into, size);
}

static bool list_images(void *self, struct images *images)
{
    struct core_file *core = self;
    const struct core_mapped *program = core_file_program(core);
    *images = (struct images){ 0 };
    for (size_t i = 0; i < core->files_count; i++) {
        const struct core_mapped *file = &core->files[i];
        if (file->address)
            procfs_images_add(images, (struct image){ .address = file->address,
                                                      .inode = i + 1,
                                                      .program = file == program,
                                                      .path = alloc_copy(file->path, strlen(file->path)) });
    }
    procfs_images_sort(images);
    return true;
}

static int open_image(void *self, const struct image *image)
{
    struct core_file *core = self;
    const size_t file = (size_t)image->inode - 1;
    const int fd = file < core->files_count ? core_find_file(core, &core->files[file]) : -1;
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

const struct memory_kind core_file_kind = { .read = read_memory, .images = list_images, .open_image = open_image };

/* ---- explanations ---- */

static const char *id_text(const unsigned char *id, size_t size, char text[ELF_BUILD_ID_TEXT])
{
    return size > 0 ? elf_build_id_text(id, size, text) : "none";
}

bool core_file_explain(struct core_file *core, const char *path, struct fault *why)
{
    unsigned char id[ELF_BUILD_ID_MAX];
    char theirs[ELF_BUILD_ID_TEXT], ours[ELF_BUILD_ID_TEXT];
    const struct core_mapped *program = core_file_program(core);
    if (core->segments_count == 0 || core->files_count == 0)
        return fault(why, "%s has no %s", path, core->segments_count ? "list of mapped files" : "memory");
    const size_t size = program ? id_of_image(core, program->address, id) : 0;
    id_text(id, size, theirs);
    if (core->exe >= 0 && !core->exe_used)
        return fault(why, "%s is not a file of the program in %s: its build id is %s, that of the program %s",
                     core->exe_path, path, id_text(id, id_of_file(core->exe, id), ours), theirs);
    if (program && core_find_file(core, (struct core_mapped *)program) < 0)
        return fault(
            why,
            "no CPython was found in %s: the memory of its program %s is not in the core file, and this machine "
            "has no file of that path and build (build id %s). Give the file with --exe",
            path, program->path, theirs);
    return fault(why, "no CPython interpreter was found in %s%s", path, core->cut ? ", which is cut off" : "");
}
