/* SPDX-License-Identifier: MIT */
#include "record/python/runtime.h"

#include "formats/base/alloc.h"
#include "formats/model/event.h"
#include "record/process/python_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The fact that a file exports _PyRuntime: others have the symbol, but do not export it. */
#define EXPORTS "exported _PyRuntime"

/* A mapped file that is searched for symbols. */
struct runtime_search {
    struct remote *remote;
    const struct image *image;
    struct elf_file *known; /* what is known of the file; NULL: nothing is remembered */
    int file;               /* the open file of the image; -1: not needed yet, or it cannot be opened */
    bool recalled;          /* the address of a symbol was known already */
    size_t *evidence_left;  /* bytes that may still be searched for evidence of a version */
    bool evidence_cut;      /* evidence was sought in a part of the file only */
};

static uint64_t find_in_file(struct runtime_search *search, const char *name, const char *section)
{
    if (search->file < 0)
        search->file = images_open(search->remote, search->image);
    return search->file < 0 ? 0 : elf_file_symbol(search->file, search->image->address, name, section);
}

/* Finds a symbol in the memory of the process, and if that fails and `reads_file`, in the file. `fact` is the name
 * under which the address is remembered. An address is remembered only if the file has it, too: the process itself can
 * change its memory, and other processes map the same file. */
static uint64_t look_up(struct runtime_search *search, const char *name, const char *fact, const char *section,
                        bool reads_file)
{
    const uint64_t base = search->image->address;
    uint64_t found, in_file = 0;
    if (search->known && elf_file_recall(search->known, fact, base, &found)) {
        search->recalled |= found != 0;
        return found;
    }
    found = elf_symbol(search->remote, base, name);
    if (found ? search->known != NULL : reads_file)
        in_file = find_in_file(search, name, section);
    found = found ? found : in_file;
    const bool certain = found ? found == in_file : !reads_file || search->file >= 0;
    if (search->known && certain)
        elf_file_note(search->known, fact, base, found);
    return found;
}

/* A static build exports no symbols, but its file has them. Only likely files are read: reading the symbols of all
 * libraries of a large program takes long. */
static uint64_t find_symbol(struct runtime_search *search, const char *name, const char *section)
{
    return look_up(search, name, name, section, search->image->program || strstr(search->image->path, "python"));
}

static bool exports(struct runtime_search *search, const char *name, const char *fact)
{
    return look_up(search, name, fact, NULL, false) != 0;
}

/* Before 3.11 no memory of the process states the version, but the names of its files mostly do. */
static void name_old_version(const struct images *images, struct fault *why)
{
    for (size_t i = 0; i < images->count; i++) {
        const unsigned minor = python_files_minor(images->rows[i].path);
        if (minor && minor < PYTHON_FILES_OLDEST) {
            fault(why, "it seems to run CPython 3.%u, and this version of pyreel reads CPython " LAYOUT_SUPPORTED,
                  minor);
            return;
        }
    }
    fault(why,
          "it runs a CPython older than " LAYOUT_FIRST ", and this version of pyreel reads CPython " LAYOUT_SUPPORTED);
}

/* The version that the runtime states, or 0. From 3.13 on the version is in the runtime's first words; in 3.11 and 3.12
 * it is in the variable Py_Version. */
static uint32_t find_version(struct runtime_search *search, const unsigned char *head)
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

static size_t find_build_id(struct runtime_search *search, unsigned char id[ELF_BUILD_ID_MAX])
{
    struct elf_file *known = search->known;
    if (!known)
        return elf_build_id(search->remote, search->image->address, id);
    if (!known->id_known)
        known->id_size = elf_build_id(search->remote, search->image->address, known->id);
    known->id_known = known->id_size > 0;
    memcpy(id, known->id, known->id_size);
    return known->id_size;
}

/* Notes what build the CPython is. Only a debug build has the function that complains of a wrong reference count; that
 * it has none is known only if the image exports its symbols. */
static void describe_build(struct runtime *runtime, struct runtime_search *search)
{
    struct runtime_build *build = &runtime->build;
    unsigned char id[ELF_BUILD_ID_MAX];
    elf_build_id_text(id, find_build_id(search, id), build->id);
    if (!exports(search, "_PyRuntime", EXPORTS))
        return;
    build->bits = BUILD_KNOWN;
    if (runtime->layout.free_threaded)
        build->bits |= BUILD_FREE_THREADED;
    if (exports(search, "_Py_NegativeRefcount", "_Py_NegativeRefcount"))
        build->bits |= BUILD_DEBUG;
}

/* Loads the layout of a version. RUNTIME_STARTING: the CPython has no interpreter yet. */
static enum runtime_state try_version(struct runtime *runtime, struct runtime_search *search, uint32_t version,
                                      const unsigned char *published, struct fault *why)
{
    if (!layout_load(&runtime->layout, version, published, LAYOUT_PUBLISHED_MAX, why))
        return RUNTIME_UNSUPPORTED;
    const uint64_t at = runtime->address + runtime->layout.runtime_interpreters_head;
    uint64_t head;
    if (remote_read(search->remote, at, &head, sizeof(head)) != REMOTE_READ)
        return RUNTIME_NONE;
    return head ? RUNTIME_READY : RUNTIME_STARTING;
}

/* Searches each file once, as far as files are remembered: the search takes long. */
static struct elf_file_versions find_evidence(struct runtime_search *search)
{
    if (search->known && search->known->versions.known)
        return search->known->versions;
    if (search->file < 0)
        search->file = images_open(search->remote, search->image);
    if (search->file < 0)
        return (struct elf_file_versions){ 0 };
    const bool all_left = *search->evidence_left == RUNTIME_EVIDENCE_MOST;
    const struct elf_file_versions versions = runtime_versions(search->file, search->evidence_left);
    if (search->known && (all_left || !versions.cut))
        search->known->versions = versions;
    return versions;
}

/* Tries the versions for which there is evidence. Exactly one of them must fit what is in memory. */
static enum runtime_state try_evidence(struct runtime *runtime, struct runtime_search *search,
                                       const unsigned char *published, struct fault *why)
{
    const struct elf_file_versions versions = find_evidence(search);
    const struct runtime bare = *runtime;
    struct runtime fitting = bare;
    size_t ready = 0, starting = 0;
    search->evidence_cut = versions.cut;
    for (size_t i = 0; i < versions.count; i++) {
        *runtime = bare;
        enum runtime_state state = try_version(runtime, search, versions.rows[i], published, why);
        if (state == RUNTIME_READY)
            state = runtime_confirm(runtime, search->remote);
        ready += state == RUNTIME_READY;
        starting += state == RUNTIME_STARTING;
        if (state == RUNTIME_READY)
            fitting = *runtime;
    }
    if (versions.count > 1 || ready == 1)
        *runtime = fitting;
    return ready == 1 ? RUNTIME_READY : ready == 0 && starting > 0 ? RUNTIME_STARTING : RUNTIME_UNSUPPORTED;
}

/* Says why the version is not known. A file that has the symbol _PyRuntime and not Py_Version has an older CPython. */
static void name_version(struct runtime_search *search, const struct images *images, struct fault *why)
{
    if (why->text[0] != '\0')
        return;
    if (elf_symbol(search->remote, search->image->address, "_PyRuntime") != 0 ||
        find_in_file(search, "_PyRuntime", NULL) != 0)
        name_old_version(images, why);
    else
        fault(why,
              "its version of CPython could not be determined: %s has no symbols%s. Do not strip it, or link it with "
              "-Wl,--export-dynamic",
              search->image->path,
              search->evidence_cut ? ", and only a part of it was searched for its version, because it is large" : "");
}

static enum runtime_state try_image(struct runtime *runtime, struct runtime_search *search, const struct images *images,
                                    struct fault *why)
{
    const uint64_t address = find_symbol(search, "_PyRuntime", ".PyRuntime");
    if (address == 0)
        return RUNTIME_NONE;
    unsigned char published[LAYOUT_PUBLISHED_MAX];
    if (remote_read(search->remote, address, published, sizeof(published)) != REMOTE_READ)
        return RUNTIME_NONE;
    runtime->address = address;
    const uint32_t version = find_version(search, published);
    const enum runtime_state state = version ? try_version(runtime, search, version, published, why)
                                             : try_evidence(runtime, search, published, why);
    if (state == RUNTIME_READY)
        describe_build(runtime, search);
    if (state == RUNTIME_UNSUPPORTED)
        name_version(search, images, why);
    return state;
}

/* The same for a file of which something may be known. What is known may be wrong: then the image is searched anew. */
static enum runtime_state try_known_image(struct runtime *runtime, struct runtime_search *search,
                                          const struct images *images, struct fault *why)
{
    const struct fault before = *why;
    const enum runtime_state state = try_image(runtime, search, images, why);
    if (!search->recalled || state == RUNTIME_READY || state == RUNTIME_STARTING)
        return state;
    *why = before;
    *runtime = (struct runtime){ 0 };
    elf_file_forget(search->known);
    return try_image(runtime, search, images, why);
}

/* ---- rseq ---- */

/* CPython's id of a thread is the address of its struct pthread. On x86-64 the thread pointer is that address, too; on
 * aarch64 it is the end of the structure, whose size glibc states for debuggers. */
#if defined(__x86_64__)
#define KNOWS_POINTER    true
#define POINTER_DISTANCE NULL
#elif defined(__aarch64__)
#define KNOWS_POINTER    true
#define POINTER_DISTANCE "_thread_db_sizeof_pthread"
#else
#define KNOWS_POINTER    false
#define POINTER_DISTANCE NULL
#endif
#define PTHREAD_MOST 65536 /* bytes; a struct pthread is smaller */

static struct runtime_search begin_search(struct remote *remote, const struct image *image, struct elf_files *files)
{
    return (struct runtime_search){
        .remote = remote, .image = image, .known = files ? elf_files_find(files, remote, image) : NULL, .file = -1
    };
}

static void end_search(const struct runtime_search *search)
{
    if (search->file >= 0)
        close(search->file);
}

/* Reads the two variables in which glibc's dynamic linker states the area. */
static bool read_rseq(struct runtime_search *search, int64_t *rseq)
{
    const uint64_t offset_at = look_up(search, "__rseq_offset", "__rseq_offset", NULL, false);
    const uint64_t size_at = offset_at ? look_up(search, "__rseq_size", "__rseq_size", NULL, false) : 0;
    int64_t offset = 0;
    uint32_t size = 0;
    const struct piece pieces[] = { { offset_at, sizeof(offset), &offset }, { size_at, sizeof(size), &size } };
    if (!size_at || remote_read_pieces(search->remote, pieces, countof(pieces), NULL) != REMOTE_READ)
        return false;
    *rseq = size > 0 ? offset : 0; /* size 0: rseq is switched off, or the kernel lacks it */
    return true;
}

/* Reads the distance of the thread pointer from CPython's id of a thread. */
static bool read_pointer_distance(struct runtime_search *search, int64_t *distance)
{
    uint32_t bytes = 0;
    const uint64_t at = look_up(search, POINTER_DISTANCE, POINTER_DISTANCE, NULL, false);
    if (!at || remote_read(search->remote, at, &bytes, sizeof(bytes)) != REMOTE_READ || bytes > PTHREAD_MOST)
        return false;
    *distance = bytes;
    return true;
}

/* Asks the images of the process whose path has a text, and then its program, which may be static. Reading the symbols
 * of all libraries of a large program takes long. */
static bool ask_images(struct remote *remote, const struct images *images, struct elf_files *files, const char *path,
                       bool (*read)(struct runtime_search *search, int64_t *number), int64_t *number)
{
    bool found = false;
    for (int programs = 0; programs < 2; programs++)
        for (size_t i = 0; i < images->count && !found; i++) {
            const struct image *image = &images->rows[i];
            if (programs ? !image->program : !strstr(image->path, path))
                continue;
            struct runtime_search search = begin_search(remote, image, files);
            found = read(&search, number);
            end_search(&search);
        }
    return found;
}

/* The offset of a thread's rseq area from CPython's id of the thread; 0: there is none. */
static int64_t find_rseq(struct remote *remote, const struct images *images, struct elf_files *files)
{
    int64_t rseq = 0, distance = 0;
    if (!KNOWS_POINTER || !ask_images(remote, images, files, "/ld-", read_rseq, &rseq) || rseq == 0)
        return 0;
    if (POINTER_DISTANCE && !ask_images(remote, images, files, "/libc.so.", read_pointer_distance, &distance))
        return 0;
    return rseq + distance;
}

/* ---- all images ---- */

/* Whether the first image can be read. A process that may not be read has a maps file, but it is empty or its memory is
 * refused. Sets errno when not. */
static bool may_read(struct remote *remote, const struct images *images)
{
    uint32_t probe;
    if (images->count == 0)
        return true;
    const enum remote_state state = remote_read(remote, images->rows[0].address, &probe, sizeof(probe));
    if (state == REMOTE_DENIED || state == REMOTE_GONE)
        errno = state == REMOTE_DENIED ? EPERM : ESRCH;
    return state != REMOTE_DENIED && state != REMOTE_GONE;
}

static enum runtime_state search_images(struct runtime *runtime, struct remote *remote, const struct images *images,
                                        struct elf_files *files, struct fault *why)
{
    enum runtime_state best = RUNTIME_NONE;
    size_t evidence_left = RUNTIME_EVIDENCE_MOST;
    for (size_t i = 0; i < images->count && best != RUNTIME_READY; i++) {
        struct runtime_search search = begin_search(remote, &images->rows[i], files);
        search.evidence_left = &evidence_left;
        struct runtime found = { 0 };
        const enum runtime_state state = try_known_image(&found, &search, images, why);
        end_search(&search);
        if (state == RUNTIME_READY || (state != RUNTIME_NONE && best == RUNTIME_NONE)) {
            best = state;
            *runtime = found;
        }
    }
    if (best == RUNTIME_READY) {
        runtime->rseq = find_rseq(remote, images, files);
        runtime->described = true;
    }
    return best;
}

static enum runtime_state search_process(struct runtime *runtime, struct remote *remote, struct elf_files *files,
                                         struct fault *why)
{
    struct images images;
    enum runtime_state state = RUNTIME_LOST;
    *runtime = (struct runtime){ 0 };
    if (!images_of(remote, &images))
        return state;
    if (may_read(remote, &images))
        state = search_images(runtime, remote, &images, files, why);
    const int cause = errno;
    procfs_images_free(&images);
    errno = cause;
    return state;
}

/* ---- the likely runtime ---- */

bool runtime_is_kin(const struct runtime *runtime, const struct runtime *other)
{
    return runtime->random_at && runtime->random_at == other->random_at &&
           memcmp(runtime->random, other->random, sizeof(runtime->random)) == 0;
}

static void find_random(struct runtime *runtime, struct remote *remote)
{
    runtime->random_at = procfs_random(remote->pid);
    if (runtime->random_at &&
        remote_read(remote, runtime->random_at, runtime->random, sizeof(runtime->random)) != REMOTE_READ)
        runtime->random_at = 0;
}

/* Whether the process has the likely runtime. RUNTIME_NONE: it has not, or only a search can tell the rest. */
static enum runtime_state try_likely(struct runtime *runtime, struct remote *remote, const struct runtime *likely)
{
    uint64_t head = 0;
    const struct piece pieces[] = {
        { likely->random_at, sizeof(runtime->random), runtime->random },
        { likely->address + likely->layout.runtime_interpreters_head, sizeof(head), &head },
    };
    runtime->random_at = likely->random_at;
    if (remote_read_pieces(remote, pieces, countof(pieces), NULL) != REMOTE_READ || !runtime_is_kin(runtime, likely) ||
        (head && !likely->described))
        return RUNTIME_NONE;
    *runtime = *likely;
    return head ? RUNTIME_READY : RUNTIME_STARTING;
}

enum runtime_state runtime_find_hinted(struct runtime *runtime, struct remote *remote,
                                       const struct runtime_hints *hints, struct fault *why)
{
    enum runtime_state state = RUNTIME_NONE;
    *runtime = (struct runtime){ 0 };
    if (hints->likely && hints->likely->random_at)
        state = try_likely(runtime, remote, hints->likely);
    if (state != RUNTIME_NONE)
        return state;
    state = search_process(runtime, remote, hints->files, why);
    if (hints->likely && runtime->layout.version && (state == RUNTIME_READY || state == RUNTIME_STARTING))
        find_random(runtime, remote);
    return state;
}

enum runtime_state runtime_find(struct runtime *runtime, struct remote *remote, struct fault *why)
{
    return runtime_find_hinted(runtime, remote, &(struct runtime_hints){ 0 }, why);
}
