/* SPDX-License-Identifier: MIT */
#include "record/python/asyncio_layout.h"

#include "formats/base/alloc.h"
#include "record/elf/elf.h"

#include <stddef.h>
#include <unistd.h>

#define TASK_LIMIT        (ASYNCIO_LAYOUT_TASK_MAX - 8)
#define THREAD_LIMIT      (1u << 16)
#define INTERPRETER_LIMIT (1u << 24)

#define AT(member) offsetof(struct asyncio_layout, member)

/* The words of the section, in their order: {task: size, name, awaited_by, is_task, awaited_by_is_set, coro, node;
 * interpreter: size, asyncio_tasks_head; thread: size, asyncio_running_loop, asyncio_running_task, asyncio_tasks_head}.
 */
enum { WORDS = 13 };
static const struct row {
    size_t member;
    uint32_t word, limit, align;
} rows[] = {
    { AT(task_size), 0, TASK_LIMIT, 1 },          { AT(task_name), 1, TASK_LIMIT, 8 },
    { AT(task_waiter), 2, TASK_LIMIT, 8 },        { AT(task_is_task), 3, TASK_LIMIT, 1 },
    { AT(task_waiter_is_set), 4, TASK_LIMIT, 1 }, { AT(task_coroutine), 5, TASK_LIMIT, 8 },
    { AT(task_node), 6, TASK_LIMIT, 8 },          { AT(interpreter_tasks), 8, INTERPRETER_LIMIT, 8 },
    { AT(thread_task), 11, THREAD_LIMIT, 8 },     { AT(thread_tasks), 12, THREAD_LIMIT, 8 },
};

static bool asyncio_layout_load(struct asyncio_layout *offsets, const uint64_t *words)
{
    *offsets = (struct asyncio_layout){ 0 };
    for (const struct row *row = rows; row < rows + countof(rows); row++) {
        const uint64_t offset = words[row->word];
        if (offset == 0 || offset >= row->limit || offset % row->align != 0)
            return false;
        *(uint32_t *)(void *)((char *)offsets + row->member) = (uint32_t)offset;
    }
    return true;
}

struct asyncio_layout asyncio_layout_known(const struct layout *l)
{
    return (struct asyncio_layout){
        .task_size = l->task_size,
        .task_name = l->task_name,
        .task_coroutine = l->task_coroutine,
        .future_callback = l->future_callback,
        .future_callbacks = l->future_callbacks,
        .future_loop = l->future_loop,
        .future_state = l->future_state,
    };
}

/* Whether a file may have the section. Reading the sections of all libraries of a large program takes long. */
static bool may_have_it(const struct image *image)
{
    return image->program || strstr(image->path, "python") || strstr(image->path, "_asyncio");
}

/* *settled: another search finds the same. The linker may be about to map the library, and the section is not there
 * yet. */
static bool asyncio_layout_find_in(struct asyncio_layout *offsets, struct remote *remote, const struct image *image,
                                   bool *settled)
{
    uint64_t words[WORDS];
    *settled = true;
    const int fd = images_open(remote, image);
    if (fd < 0)
        return false;
    const uint64_t address = elf_file_symbol(fd, image->address, "_Py_AsyncioDebug", ".AsyncioDebug");
    close(fd);
    const bool found = address && remote_read(remote, address, words, sizeof(words)) == REMOTE_READ &&
                       asyncio_layout_load(offsets, words);
    *settled = found || address == 0;
    return found;
}

bool asyncio_layout_find(struct asyncio_layout *offsets, struct asyncio_searched *searched, struct remote *remote)
{
    struct images images;
    bool found = false;
    if (!images_of(remote, &images))
        return false;
    for (size_t i = 0; i < images.count && !found; i++) {
        const struct image *image = &images.rows[i];
        const uint32_t page = (uint32_t)(image->address >> 12), inode = (uint32_t)image->inode;
        bool settled = true, added;
        if (intern_pairs_find(&searched->seen, page, inode))
            continue;
        found = may_have_it(image) && asyncio_layout_find_in(offsets, remote, image, &settled);
        if (settled)
            intern_pairs_number(&searched->seen, page, inode, &added);
    }
    procfs_images_free(&images);
    return found;
}

void asyncio_layout_free_searched(struct asyncio_searched *searched)
{
    intern_pairs_free(&searched->seen);
}
