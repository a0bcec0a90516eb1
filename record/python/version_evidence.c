/* SPDX-License-Identifier: MIT */
#include "record/python/runtime.h"

#include "formats/base/alloc.h"
#include "record/elf/elf.h"
#include "record/process/procfs.h"

#include <ctype.h>
#include <string.h>

#define THREADS_TRIED      64 /* of each interpreter */
#define INTERPRETERS_TRIED 16

/* ---- what the file says ---- */

/* Version numbers (PY_VERSION_HEX) that were found in a file. */
struct version_list {
    uint32_t versions[ELF_FILE_VERSIONS];
    size_t count;
    bool more; /* there was no room for all */
};

struct version_search {
    struct version_list words, texts;
};

static bool evidence_has(const struct version_list *list, uint32_t version)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->versions[i] == version)
            return true;
    return false;
}

static void list_add(struct version_list *list, uint32_t version)
{
    if (evidence_has(list, version))
        return;
    if (list->count == ELF_FILE_VERSIONS)
        list->more = true;
    else
        list->versions[list->count++] = version;
}

/* Whether a word can be the variable Py_Version of a CPython that does not publish its version in its runtime: 3.11 or
 * 3.12, and of a release level that there is (0xa alpha, 0xb beta, 0xc candidate, 0xf final). */
static bool may_be_version(uint64_t word)
{
    const uint64_t level = word >> 4 & 0xf;
    return (word >> 16 == 0x030b || word >> 16 == 0x030c) && ((level >= 0xa && level <= 0xc) || level == 0xf);
}

/* Reads a number of up to two digits. Returns the end of the digits; `at` itself when there are none. */
static const unsigned char *take_small(const unsigned char *at, const unsigned char *end, uint32_t *number)
{
    *number = 0;
    const unsigned char *const first = at;
    for (; at < end && at < first + 2 && isdigit(*at); at++)
        *number = *number * 10 + (uint32_t)(*at - '0');
    return at;
}

/* The version that the text at `at` is: "3.11.7", "3.12.0rc1", "3.11.7+", with a NUL behind it; 0: none. */
static uint32_t version_of_text(const unsigned char *at, const unsigned char *end)
{
    uint32_t minor, micro, level = 0xf, serial = 0;
    const unsigned char *digits = take_small(at + 2, end, &minor);
    if (digits == at + 2 || digits == end || *digits != '.')
        return 0;
    const unsigned char *rest = take_small(digits + 1, end, &micro);
    if (rest == digits + 1 || rest == end)
        return 0;
    if (*rest == 'a' || *rest == 'b' || *rest == 'r') {
        level = *rest == 'a' ? 0xa : *rest == 'b' ? 0xb : 0xc;
        rest += *rest == 'r' ? 2 : 1;
        rest = rest < end ? take_small(rest, end, &serial) : end;
    }
    rest += rest < end && *rest == '+';
    const uint32_t version = 3u << 24 | minor << 16 | micro << 8 | level << 4 | (serial & 0xf);
    return rest < end && *rest == '\0' && may_be_version(version) ? version : 0;
}

static void look_at_words(struct version_search *search, const unsigned char *bytes, size_t size, uint64_t address)
{
    for (size_t at = (8 - address % 8) % 8; size >= 8 && at <= size - 8; at += 8) {
        const uint64_t word = word_at(bytes + at, 0);
        if (may_be_version(word))
            list_add(&search->words, (uint32_t)word);
    }
}

static void look_at_texts(struct version_search *search, const unsigned char *bytes, size_t size)
{
    const unsigned char *const end = bytes + size;
    for (const unsigned char *at = bytes; at < end && (at = memmem(at, (size_t)(end - at), "3.1", 3)); at++) {
        const bool begins = at == bytes || (!isalnum(at[-1]) && at[-1] != '.');
        const uint32_t version = begins ? version_of_text(at, end) : 0;
        if (version)
            list_add(&search->texts, version);
    }
}

static void look_at_bytes(void *self, const unsigned char *bytes, size_t size, uint64_t address)
{
    look_at_words(self, bytes, size, address);
    look_at_texts(self, bytes, size);
}

struct elf_file_versions runtime_versions(int fd, size_t *left)
{
    struct version_search search = { 0 };
    struct elf_file_versions found = { .known = true };
    found.cut = !elf_file_constants(fd, left, look_at_bytes, &search);
    if (search.words.more || search.texts.more)
        return found;
    for (size_t i = 0; i < search.texts.count; i++)
        if (search.words.count == 0 || evidence_has(&search.words, search.texts.versions[i]))
            found.rows[found.count++] = search.texts.versions[i];
    return found;
}

/* ---- what the runtime looks like ---- */

/* What was found in the lists of a runtime. */
struct confirmation {
    struct intern_pairs tasks; /* the threads that the kernel knows */
    size_t threads, known;     /* threads that have a number of the kernel; those of them that the kernel knows */
};

/* Whether the list of an interpreter's threads is one. */
static bool confirm_threads(struct confirmation *confirmation, const struct layout *l, struct remote *remote,
                            uint64_t interpreter)
{
    uint64_t thread, previous = 0;
    if (remote_read(remote, interpreter + l->interpreter_threads_head, &thread, sizeof(thread)) != REMOTE_READ)
        return false;
    for (size_t i = 0; thread && i < THREADS_TRIED; i++) {
        unsigned char state[LAYOUT_THREAD_MAX];
        if (thread % 8 != 0 || remote_read(remote, thread, state, l->thread_size) != REMOTE_READ ||
            word_at(state, l->thread_interpreter) != interpreter || word_at(state, l->thread_prev) != previous)
            return false;
        const uint32_t number = (uint32_t)word_at(state, l->thread_native_id);
        confirmation->threads += number != 0;
        confirmation->known += number && intern_pairs_find(&confirmation->tasks, number, 0) != 0;
        previous = thread;
        thread = word_at(state, l->thread_next);
    }
    return true;
}

/* Whether the list of interpreters is one. The main interpreter is its last one, and has the number 0. */
static bool confirm_interpreters(struct confirmation *confirmation, const struct runtime *runtime,
                                 struct remote *remote)
{
    const struct layout *l = &runtime->layout;
    const uint64_t head_at = runtime->address + l->runtime_interpreters_head;
    uint64_t interpreter, next, id;
    if (remote_read(remote, head_at, &interpreter, sizeof(interpreter)) != REMOTE_READ)
        return false;
    for (size_t i = 0; interpreter && i < INTERPRETERS_TRIED; i++, interpreter = next) {
        const struct piece pieces[] = { { interpreter + l->interpreter_id, sizeof(id), &id },
                                        { interpreter + l->interpreter_next, sizeof(next), &next } };
        if (interpreter % 8 != 0 || remote_read_pieces(remote, pieces, countof(pieces), NULL) != REMOTE_READ ||
            id > INT32_MAX || (next == 0) != (id == 0) || !confirm_threads(confirmation, l, remote, interpreter))
            return false;
    }
    return true;
}

enum runtime_state runtime_confirm(const struct runtime *runtime, struct remote *remote)
{
    struct confirmation confirmation = { 0 };
    if (!remote->kind)
        procfs_map_threads(remote->pid, procfs_same_pids(remote->pid), &confirmation.tasks);
    const bool fits = confirm_interpreters(&confirmation, runtime, remote);
    intern_pairs_free(&confirmation.tasks);
    if (!fits)
        return RUNTIME_NONE;
    if (confirmation.threads == 0)
        return RUNTIME_STARTING;
    return confirmation.known > 0 || remote->kind ? RUNTIME_READY : RUNTIME_NONE;
}
