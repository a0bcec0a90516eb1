/* SPDX-License-Identifier: MIT */
#include "record/native/names/image_file.h"

#include "record/elf/elf.h"

#include <unistd.h>

bool image_file_open(struct image_file *image, struct remote *remote, const struct image *mapped)
{
    *image = (struct image_file){ .remote = remote, .file = -1 };
    image->segments_count = elf_segments(remote, mapped->address, image->segments, IMAGE_SEGMENTS, &image->bias);
    if (image->segments_count == 0)
        return false;
    image->file = mapped->inode ? images_open(remote, mapped) : -1;
    return true;
}

void image_file_close(struct image_file *image)
{
    if (image->remote && image->file >= 0)
        close(image->file);
    *image = (struct image_file){ 0 };
}

/* The loaded segment of which the file has `size` bytes at an address; NULL: none. */
static const Elf64_Phdr *loaded_segment(const struct image_file *image, uint64_t address, size_t size)
{
    for (size_t i = 0; i < image->segments_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        const uint64_t offset = address - segment->p_vaddr;
        if (segment->p_type == PT_LOAD && offset < segment->p_filesz && segment->p_filesz - offset >= size)
            return segment;
    }
    return NULL;
}

bool image_file_read(const struct image_file *image, uint64_t address, void *into, size_t size)
{
    const Elf64_Phdr *segment = loaded_segment(image, address, size);
    if (!segment)
        return false;
    if (image->file < 0)
        return remote_read(image->remote, address + image->bias, into, size) == REMOTE_READ;
    const uint64_t offset = segment->p_offset + (address - segment->p_vaddr);
    return offset <= INT64_MAX && pread(image->file, into, size, (off_t)offset) == (ssize_t)size;
}
