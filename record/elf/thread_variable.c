/* SPDX-License-Identifier: MIT */
#include "record/elf/thread_variable.h"

#include "record/elf/elf.h"
#include "record/process/procfs.h"

#include <string.h>

#if defined(__x86_64__)
#define KNOWS_THREADS true
#else
#define KNOWS_THREADS false
#endif

#define DISTANCE_MOST (1 << 24)  /* bytes between the thread pointer and a variable at a fixed distance */
#define MODULES_MOST  (1 << 20)  /* images with variables of threads */
#define UNALLOCATED   UINT64_MAX /* a block that the thread has not used yet */

static bool is_distance(int64_t distance)
{
    return distance < 0 && distance >= -DISTANCE_MOST;
}

/* The argument of a descriptor is a distance, or else the address of { module, offset }. */
static bool follow_descriptor(struct remote *remote, const uint64_t words[2], struct thread_variable *variable)
{
    uint64_t index[2];
    if (is_distance((int64_t)words[1])) {
        *variable = (struct thread_variable){ true, 0, words[1] };
        return true;
    }
    if (remote_read(remote, words[1], index, sizeof(index)) != REMOTE_READ)
        return false;
    *variable = (struct thread_variable){ true, index[0], index[1] };
    return index[0] > 0 && index[0] < MODULES_MOST;
}

/* Takes what the dynamic linker has filled in. */
static bool follow_place(struct remote *remote, const struct elf_tls *tls, struct thread_variable *variable)
{
    uint64_t words[2];
    const size_t size = tls->kind == ELF_TLS_DESCRIPTOR ? sizeof(words) : sizeof(*words);
    if (remote_read(remote, tls->place, words, size) != REMOTE_READ)
        return false;
    if (tls->kind == ELF_TLS_DESCRIPTOR)
        return follow_descriptor(remote, words, variable);
    if (tls->kind == ELF_TLS_MODULE) {
        *variable = (struct thread_variable){ true, words[0], tls->offset };
        return words[0] > 0 && words[0] < MODULES_MOST;
    }
    *variable = (struct thread_variable){ true, 0, words[0] };
    return is_distance((int64_t)words[0]);
}

/* The code of a program may need no such words: its block ends at the thread pointer. */
static bool follow_tls(struct remote *remote, const struct elf_tls *tls, bool program, struct thread_variable *variable)
{
    if (tls->place)
        return follow_place(remote, tls, variable);
    *variable = (struct thread_variable){ true, 0, tls->offset - tls->size };
    return program && is_distance((int64_t)(tls->offset - tls->size));
}

bool thread_variable_find(struct remote *remote, const char *name, struct thread_variable *variable)
{
    struct images images = { 0 };
    bool found = false;
    if (KNOWS_THREADS && images_of(remote, &images))
        for (size_t i = 0; i < images.count && !found; i++) {
            struct elf_tls tls;
            found = elf_tls(remote, images.rows[i].address, name, &tls) &&
                    follow_tls(remote, &tls, images.rows[i].program, variable);
        }
    procfs_images_free(&images);
    if (!found)
        *variable = (struct thread_variable){ 0 };
    return found;
}

uint64_t thread_variable_address(const struct thread_variable *variable, struct remote *remote, uint64_t pointer)
{
    /* The table has { number of entries, - } in front, then { generation, - } and { block, - } of each module. */
    uint64_t table, entries, block;
    if (!variable->known || !pointer)
        return 0;
    if (!variable->module)
        return pointer + variable->offset;
    if (remote_read(remote, pointer + 8, &table, sizeof(table)) != REMOTE_READ ||
        remote_read(remote, table - 16, &entries, sizeof(entries)) != REMOTE_READ || entries < variable->module ||
        remote_read(remote, table + 16 * variable->module, &block, sizeof(block)) != REMOTE_READ || block == 0 ||
        block == UNALLOCATED)
        return 0;
    return block + variable->offset;
}
