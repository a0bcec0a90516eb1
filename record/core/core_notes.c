/* SPDX-License-Identifier: MIT */
#include "record/core/core_notes.h"

#include "formats/base/alloc.h"
#include "record/elf/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#define NOTES_LIMIT (1u << 21)         /* notes of all kinds; a thread has about five */
#define FILES_LIMIT ((size_t)32 << 20) /* bytes of the note that lists the mapped files */
#define NAME_MOST   8                  /* bytes of the name of a note that are compared */

bool core_notes_read(const struct core_file *core, uint64_t offset, void *into, size_t size)
{
    unsigned char *to = into;
    while (size > 0) {
        const ssize_t got = offset <= INT64_MAX ? pread(core->fd, to, size, (off_t)offset) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

/* ---- notes by kind ---- */

static void note_take_thread(struct core_file *core, uint64_t offset, uint64_t size)
{
    struct elf_prstatus status;
    if (size < sizeof(status) || core->threads_count >= CORE_COUNT_LIMIT ||
        !core_notes_read(core, offset, &status, sizeof(status)))
        return;
    core->threads = alloc_grow(core->threads, &core->threads_room, core->threads_count + 1, sizeof(*core->threads));
    struct core_thread *thread = &core->threads[core->threads_count++];
    *thread = (struct core_thread){ .tid = status.pr_pid, .signal = status.pr_cursig };
    memcpy(thread->registers, &status.pr_reg, sizeof(thread->registers));
}

static void note_take_process(struct core_file *core, uint64_t offset, uint64_t size)
{
    struct elf_prpsinfo info;
    if (size < sizeof(info) || !core_notes_read(core, offset, &info, sizeof(info)))
        return;
    core->pid = info.pr_pid;
    memcpy(core->name, info.pr_fname, sizeof(core->name) - 1);
    memcpy(core->arguments, info.pr_psargs, sizeof(core->arguments) - 1);
}

static void take_auxiliary(struct core_file *core, uint64_t offset, uint64_t size)
{
    Elf64_auxv_t rows[64];
    const size_t count = size / sizeof(*rows) < countof(rows) ? size / sizeof(*rows) : countof(rows);
    if (!core_notes_read(core, offset, rows, count * sizeof(*rows)))
        return;
    for (size_t i = 0; i < count && rows[i].a_type != AT_NULL; i++)
        if (rows[i].a_type == AT_PHDR)
            core->headers_at = rows[i].a_un.a_val;
}

/* ---- mapped files ---- */

/* The index of the file with a path. The list of mappings has those of one file behind each other. */
static size_t core_mapped_index(struct core_file *core, const char *path)
{
    if (core->files_count > 0 && strcmp(core->files[core->files_count - 1].path, path) == 0)
        return core->files_count - 1;
    core->files = alloc_grow(core->files, &core->files_room, core->files_count + 1, sizeof(*core->files));
    core->files[core->files_count] = (struct core_mapped){ .path = path, .fd = -1 };
    return core->files_count++;
}

static void core_add_mapping(struct core_file *core, const uint64_t words[3], uint64_t page, const char *path)
{
    uint64_t offset;
    if (words[0] >= words[1] || __builtin_mul_overflow(words[2], page, &offset))
        return;
    const size_t file = core_mapped_index(core, path);
    if (offset == 0 && core->files[file].address == 0)
        core->files[file].address = words[0];
    core->mappings = alloc_grow(core->mappings, &core->mappings_room, core->mappings_count + 1,
                                sizeof(*core->mappings));
    core->mappings[core->mappings_count++] = (struct core_mapping){
        .address = words[0], .end = words[1], .offset = offset, .file = file
    };
}

/* The note is: count, page size, count times (start, end, offset in pages), count paths that each end in a NUL. */
static void take_files(struct core_file *core, uint64_t offset, uint64_t size)
{
    uint64_t head[2];
    if (core->paths || size < sizeof(head) || size > FILES_LIMIT || !core_notes_read(core, offset, head, sizeof(head)))
        return;
    const size_t rows_size = (size_t)size - sizeof(head);
    if (head[0] > CORE_COUNT_LIMIT || head[0] > rows_size / 24)
        return;
    char *bytes = alloc_zeroed(rows_size + 1, 1); /* a NUL behind the last byte */
    core->paths = bytes;
    if (!core_notes_read(core, offset + sizeof(head), bytes, rows_size))
        return;
    const char *path = bytes + head[0] * 24, *end = bytes + rows_size;
    for (uint64_t i = 0; i < head[0] && path < end; i++) {
        uint64_t words[3];
        memcpy(words, bytes + i * 24, sizeof(words));
        core_add_mapping(core, words, head[1], path);
        path += strlen(path) + 1;
    }
}

/* ---- the list ---- */

static void take_note(struct core_file *core, const Elf64_Nhdr *head, const char *name, uint64_t offset)
{
    if (head->n_namesz < 4 || memcmp(name, "CORE", 4) != 0)
        return;
    switch (head->n_type) {
    case NT_PRSTATUS:
        note_take_thread(core, offset, head->n_descsz);
        break;
    case NT_PRPSINFO:
        note_take_process(core, offset, head->n_descsz);
        break;
    case NT_AUXV:
        take_auxiliary(core, offset, head->n_descsz);
        break;
    case NT_FILE:
        take_files(core, offset, head->n_descsz);
        break;
    default:
        break;
    }
}

void core_notes_take(struct core_file *core, uint64_t offset, uint64_t size)
{
    Elf64_Nhdr head;
    char name[NAME_MOST];
    for (; core->notes < NOTES_LIMIT && size >= sizeof(head); core->notes++) {
        if (!core_notes_read(core, offset, &head, sizeof(head)))
            return;
        const uint64_t name_size = elf_note_padded(head.n_namesz),
                       note = sizeof(head) + name_size + elf_note_padded(head.n_descsz);
        if (note > size)
            return;
        memset(name, 0, sizeof(name));
        if (!core_notes_read(core, offset + sizeof(head), name, head.n_namesz < NAME_MOST ? head.n_namesz : NAME_MOST))
            return;
        take_note(core, &head, name, offset + sizeof(head) + name_size);
        offset += note;
        size -= note;
    }
}
