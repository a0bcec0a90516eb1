/* SPDX-License-Identifier: MIT */
#include "record/elf/elf_files.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define SEARCHES 3 /* so many searches must have found nothing */

struct elf_file *elf_files_find(struct elf_files *files, struct remote *remote, const struct image *image)
{
    unsigned char head[ELF_FILE_HEAD];
    if (remote_read(remote, image->address, head, sizeof(head)) != REMOTE_READ)
        return NULL;
    for (size_t i = 0; i < files->count; i++) {
        struct elf_file *file = files->rows[i];
        if (file->inode == image->inode && file->device == image->device && memcmp(file->head, head, sizeof(head)) == 0)
            return file;
    }
    if (files->count == ELF_FILES_MAX)
        elf_files_free(files);
    struct elf_file *file = alloc_zeroed(1, sizeof(*file));
    file->device = image->device;
    file->inode = image->inode;
    memcpy(file->head, head, sizeof(head));
    files->rows = alloc_grow(files->rows, &files->room, files->count + 1, sizeof(struct elf_file *));
    return files->rows[files->count++] = file;
}

static const struct elf_fact *find_fact(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->facts_count; i++)
        if (strcmp(file->facts[i].name, name) == 0)
            return &file->facts[i];
    return NULL;
}

bool elf_file_recall(const struct elf_file *file, const char *name, uint64_t base, uint64_t *address)
{
    const struct elf_fact *fact = find_fact(file, name);
    if (!fact || (!fact->present && fact->searches < SEARCHES))
        return false;
    *address = fact->present ? base + (uint64_t)fact->distance : 0;
    return true;
}

void elf_file_note(struct elf_file *file, const char *name, uint64_t base, uint64_t address)
{
    struct elf_fact *fact = (struct elf_fact *)find_fact(file, name);
    if (!fact && file->facts_count == ELF_FILE_FACTS)
        return;
    if (!fact) {
        fact = &file->facts[file->facts_count++];
        *fact = (struct elf_fact){ .name = name };
    }
    fact->present = address != 0;
    fact->distance = (int64_t)(address - base);
    fact->searches++;
}

void elf_file_forget(struct elf_file *file)
{
    file->facts_count = 0;
    file->id_known = false;
}

void elf_files_free(struct elf_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->rows[i]);
    free(files->rows);
    *files = (struct elf_files){ 0 };
}
