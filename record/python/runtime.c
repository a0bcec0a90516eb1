/* SPDX-License-Identifier: MIT */
#include "record/python/runtime.h"

#include "formats/model/event.h"
#include "record/process/images.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* A mapped file that is searched for symbols. */
struct search {
    struct remote *remote;
    const struct image *image;
    int file; /* the open file of the image; -1: not needed yet, or it cannot be opened */
};

static uint64_t find_symbol(struct search *search, const char *name, const char *section)
{
    const uint64_t found = elf_symbol(search->remote, search->image->address, name);
    if (found)
        return found;
    /* A static build exports no symbols, but its file has them. Only likely files are read: reading the symbols of all
     * libraries of a large program takes long. */
    if (!search->image->program && !strstr(search->image->path, "python"))
        return 0;
    if (search->file < 0)
        search->file = images_open(search->remote, search->image);
    return search->file < 0 ? 0 : elf_file_symbol(search->file, search->image->address, name, section);
}

/* Before 3.11 no memory of the process states the version, but the paths of its files mostly do: .../python3.9/... */
static void name_old_version(const struct images *images, struct fault *why)
{
    for (size_t i = 0; i < images->count; i++) {
        const char *at = strstr(images->rows[i].path, "python3.");
        if (at && isdigit((unsigned char)at[8])) {
            fault(why, "it seems to run CPython %.*s, and this version of pyreel reads CPython " LAYOUT_SUPPORTED,
                  2 + (int)strspn(at + 8, "0123456789"), at + 6);
            return;
        }
    }
    fault(why,
          "it runs a CPython older than " LAYOUT_FIRST ", and this version of pyreel reads CPython " LAYOUT_SUPPORTED);
}

/* The version that the runtime states, or 0. From 3.13 on the version is in the runtime's first words; in 3.11 and 3.12
 * it is in the variable Py_Version. */
static uint32_t find_version(struct search *search, const unsigned char *head)
{
    uint32_t version;
    if (layout_published(head, &version))
        return version;
    const uint64_t variable = find_symbol(search, "Py_Version", NULL);
    uint64_t stated = 0;
    if (variable && remote_read(search->remote, variable, &stated, sizeof(stated)) == REMOTE_READ)
        return (uint32_t)stated;
    return 0;
}

/* Notes what build the CPython is. Only a debug build has the function that complains of a wrong reference count; that
 * it has none is known only if the image exports its symbols. */
static void describe_build(struct runtime *runtime, const struct search *search)
{
    static const char digits[] = "0123456789abcdef";
    struct runtime_build *build = &runtime->build;
    unsigned char id[ELF_BUILD_ID_MAX];
    const size_t size = elf_build_id(search->remote, search->image->address, id);
    for (size_t i = 0; i < size; i++) {
        build->id[2 * i] = digits[id[i] >> 4];
        build->id[2 * i + 1] = digits[id[i] & 15];
    }
    if (!elf_symbol(search->remote, search->image->address, "_PyRuntime"))
        return;
    build->bits = BUILD_KNOWN;
    if (runtime->layout.free_threaded)
        build->bits |= BUILD_FREE_THREADED;
    if (elf_symbol(search->remote, search->image->address, "_Py_NegativeRefcount"))
        build->bits |= BUILD_DEBUG;
}

static enum runtime_state try_image(struct runtime *runtime, struct search *search, const struct images *images,
                                    struct fault *why)
{
    const uint64_t address = find_symbol(search, "_PyRuntime", ".PyRuntime");
    if (address == 0)
        return RUNTIME_NONE;
    unsigned char published[LAYOUT_PUBLISHED_MAX];
    if (remote_read(search->remote, address, published, sizeof(published)) != REMOTE_READ)
        return RUNTIME_NONE;
    const uint32_t version = find_version(search, published);
    if (version == 0) {
        if (why->text[0] == '\0')
            name_old_version(images, why);
        return RUNTIME_UNSUPPORTED;
    }
    if (!layout_load(&runtime->layout, version, published, sizeof(published), why))
        return RUNTIME_UNSUPPORTED;
    runtime->address = address;
    const uint64_t at = address + runtime->layout.runtime_interpreters_head;
    uint64_t head;
    if (remote_read(search->remote, at, &head, sizeof(head)) != REMOTE_READ)
        return RUNTIME_NONE;
    if (!head)
        return RUNTIME_STARTING;
    describe_build(runtime, search);
    return RUNTIME_READY;
}

/* The offset of a thread's rseq area from its thread pointer; 0: there is none. glibc states it in two variables of its
 * dynamic linker. Only on x86-64 is CPython's id of a thread the thread pointer. */
static int64_t find_rseq(struct remote *remote, const struct images *images)
{
#if defined(__x86_64__)
    for (size_t i = 0; i < images->count; i++) {
        /* No other file has the variables. Reading the symbols of all libraries of a large program takes long. */
        if (!images->rows[i].program && !strstr(images->rows[i].path, "/ld-"))
            continue;
        const uint64_t image = images->rows[i].address;
        const uint64_t offset_at = elf_symbol(remote, image, "__rseq_offset");
        const uint64_t size_at = offset_at ? elf_symbol(remote, image, "__rseq_size") : 0;
        int64_t offset = 0;
        uint32_t size = 0;
        if (size_at && remote_read(remote, offset_at, &offset, sizeof(offset)) == REMOTE_READ &&
            remote_read(remote, size_at, &size, sizeof(size)) == REMOTE_READ)
            return size > 0 ? offset : 0; /* size 0: rseq is switched off, or the kernel lacks it */
    }
#else
    (void)remote;
    (void)images;
#endif
    return 0;
}

enum runtime_state runtime_find(struct runtime *runtime, struct remote *remote, struct fault *why)
{
    *runtime = (struct runtime){ 0 };
    struct images images;
    if (!images_of(remote, &images))
        return RUNTIME_LOST;
    /* A process that may not be read has a maps file, but it is empty or its memory is refused. */
    uint32_t probe;
    if (images.count > 0) {
        const enum remote_state state = remote_read(remote, images.rows[0].address, &probe, sizeof(probe));
        if (state == REMOTE_DENIED || state == REMOTE_GONE) {
            errno = state == REMOTE_DENIED ? EPERM : ESRCH;
            procfs_images_free(&images);
            return RUNTIME_LOST;
        }
    }
    enum runtime_state best = RUNTIME_NONE;
    for (size_t i = 0; i < images.count && best != RUNTIME_READY; i++) {
        struct search search = { remote, &images.rows[i], -1 };
        struct runtime found = { 0 };
        const enum runtime_state state = try_image(&found, &search, &images, why);
        if (search.file >= 0)
            close(search.file);
        if (state == RUNTIME_READY || (state != RUNTIME_NONE && best == RUNTIME_NONE)) {
            best = state;
            *runtime = found;
        }
    }
    if (best == RUNTIME_READY)
        runtime->rseq = find_rseq(remote, &images);
    procfs_images_free(&images);
    return best;
}
