/* SPDX-License-Identifier: MIT */
#include "record/native/names/debug_file.h"

#include "record/elf/elf.h"
#include "record/native/names/sections.h"
#include "record/process/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER     "/usr/lib/debug"
#define PATH_ROOM  4400
#define NOTE_LIMIT 4096 /* bytes of a section with a build id, or with a link */

/* The module that looks for its symbols. */
struct stripped {
    const char *path, *build_id;
    char link[256]; /* the name that .gnu_debuglink has; empty: none */
};

/* ---- what a file says of itself ---- */

/* The section has one note: a head, "GNU", the id. */
static bool has_build_id(const struct sections *sections, const char *wanted)
{
    Elf64_Nhdr head;
    size_t size;
    char digits[ELF_BUILD_ID_TEXT] = "";
    unsigned char *note = sections_read(sections, ".note.gnu.build-id", NOTE_LIMIT, &size);
    if (note && size > sizeof(head)) {
        memcpy(&head, note, sizeof(head));
        const size_t at = sizeof(head) + elf_note_padded(head.n_namesz);
        if (head.n_namesz < NOTE_LIMIT && at < size && head.n_descsz <= size - at && head.n_descsz <= ELF_BUILD_ID_MAX)
            elf_build_id_text(note + at, head.n_descsz, digits);
    }
    free(note);
    return digits[0] && strcmp(digits, wanted) == 0;
}

static void read_link_name(struct stripped *stripped, int file)
{
    struct sections sections;
    size_t size;
    unsigned char *link = sections_open(&sections, file) ? sections_read(&sections, ".gnu_debuglink", NOTE_LIMIT, &size)
                                                         : NULL;
    /* The name of a file, without a folder. */
    if (link && !strchr((char *)link, '/'))
        snprintf(stripped->link, sizeof(stripped->link), "%s", (char *)link);
    free(link);
    sections_free(&sections);
}

/* ---- where the files are ---- */

/* Opens a file if it has the build id. */
static int open_if_same(const char *path, const char *build_id)
{
    struct sections sections;
    const int file = procfs_open_regular(path);
    if (file < 0)
        return -1;
    const bool same = sections_open(&sections, file) && has_build_id(&sections, build_id);
    sections_free(&sections);
    if (same)
        return file;
    close(file);
    return -1;
}

/* Looks below one root folder. */
static int debug_file_below(const char *root, const struct stripped *stripped)
{
    char path[PATH_ROOM];
    const char *slash = strrchr(stripped->path, '/');
    const int folder = slash ? (int)(slash - stripped->path) : 0;
    snprintf(path, sizeof(path), "%s" FOLDER "/.build-id/%.2s/%s.debug", root, stripped->build_id,
             stripped->build_id + 2);
    int file = open_if_same(path, stripped->build_id);
    const struct {
        const char *before, *between;
    } places[] = { { "", "/" }, { "", "/.debug/" }, { FOLDER, "/" } };
    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && file < 0 && stripped->link[0]; i++) {
        snprintf(path, sizeof(path), "%s%s%.*s%s%s", root, places[i].before, folder, stripped->path, places[i].between,
                 stripped->link);
        file = open_if_same(path, stripped->build_id);
    }
    return file;
}

int debug_file_open(pid_t pid, const char *path, int file, const char *build_id)
{
    struct stripped stripped = { .path = path, .build_id = build_id };
    char root[64];
    if (strlen(build_id) < 4 || path[0] != '/')
        return -1;
    read_link_name(&stripped, file);
    snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
    const int found = debug_file_below(root, &stripped);
    return found >= 0 ? found : debug_file_below("/proc/self/root", &stripped);
}
