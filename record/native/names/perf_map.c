/* SPDX-License-Identifier: MIT */
#include "record/native/names/perf_map.h"

#include "formats/base/alloc.h"
#include "formats/intern/sorted.h"
#include "record/process/procfs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_SIZE  ((size_t)256 << 10) /* read at once */
#define ROWS_LIMIT  ((size_t)1 << 17)   /* what is beyond has no name */
#define NAMES_LIMIT ((size_t)16 << 20)
#define NAME_LIMIT  1024 /* bytes of a name; longer ones are cut */
#define STEPS_BACK  16   /* rows that begin before an address and do not have it, of code that was replaced */

/* ---- the file ---- */

bool perf_map_open(struct perf_map *map, pid_t pid)
{
    char path[64];
    struct stat file;
    uid_t user;
    if (map->there)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%d.map", (int)pid, (int)procfs_ns_pid(pid));
    map->file = procfs_open_regular(path);
    if (map->file < 0)
        return false;
    map->there = procfs_user(pid, &user) && fstat(map->file, &file) == 0 && file.st_uid == user;
    if (!map->there)
        close(map->file);
    return map->there;
}

void perf_map_close(struct perf_map *map)
{
    if (map->there)
        close(map->file);
    free(map->rows);
    free(map->names);
    *map = (struct perf_map){ 0 };
}

/* ---- lines ---- */

/* Takes a hexadecimal number and the blank behind it. */
static bool take_hex(struct text *line, uint64_t *number)
{
    size_t digits = 0;
    *number = 0;
    if (text_begins(*line, TEXT("0x")))
        *line = (struct text){ line->bytes + 2, line->size - 2 };
    for (; digits < line->size && digits <= 16; digits++) {
        static const char known[] = "0123456789abcdef";
        const char *digit = memchr(known, tolower((unsigned char)line->bytes[digits]), sizeof(known) - 1);
        if (!digit)
            break;
        *number = *number << 4 | (unsigned)(digit - known);
    }
    if (digits == 0 || digits > 16 || digits == line->size || line->bytes[digits] != ' ')
        return false;
    *line = (struct text){ line->bytes + digits + 1, line->size - digits - 1 };
    return true;
}

static uint32_t add_name(struct perf_map *map, struct text name)
{
    const size_t size = name.size < NAME_LIMIT ? name.size : NAME_LIMIT;
    const uint32_t at = (uint32_t)map->names_size;
    map->names = alloc_grow(map->names, &map->names_room, map->names_size + size + 1, 1);
    memcpy(map->names + at, name.bytes, size);
    map->names[at + size] = '\0';
    map->names_size += size + 1;
    return at;
}

/* Appends the function of a line; nothing for a line that is none. */
static void perf_map_take_line(struct perf_map *map, struct text line)
{
    struct perf_function function = { .line = map->lines++ };
    uint64_t size;
    if (!take_hex(&line, &function.begin) || !take_hex(&line, &size) || size == 0 ||
        size > UINT64_MAX - function.begin || line.size == 0 || memchr(line.bytes, '\0', line.size) ||
        map->count >= ROWS_LIMIT || map->names_size >= NAMES_LIMIT)
        return;
    function.end = function.begin + size;
    function.name = add_name(map, line);
    map->rows = alloc_grow(map->rows, &map->room, map->count + 1, sizeof(*map->rows));
    map->rows[map->count++] = function;
}

static int compare_functions(const void *one, const void *another)
{
    const struct perf_function *a = one, *b = another;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

size_t perf_map_take(struct perf_map *map, struct text lines)
{
    size_t at = 0;
    const char *end;
    while (at < lines.size && (end = memchr(lines.bytes + at, '\n', lines.size - at))) {
        const size_t next = (size_t)(end - lines.bytes) + 1;
        perf_map_take_line(map, (struct text){ lines.bytes + at, next - 1 - at });
        at = next;
    }
    if (map->count)
        qsort(map->rows, map->count, sizeof(*map->rows), compare_functions);
    return at;
}

bool perf_map_read(struct perf_map *map)
{
    const size_t before = map->count;
    char *piece = map->there ? alloc_zeroed(PIECE_SIZE, 1) : NULL;
    const ssize_t got = piece ? pread(map->file, piece, PIECE_SIZE, (off_t)map->read) : 0;
    if (got > 0) {
        const size_t taken = perf_map_take(map, (struct text){ piece, (size_t)got });
        map->read += taken || (size_t)got < PIECE_SIZE ? taken : PIECE_SIZE; /* no line is so long */
    }
    free(piece);
    return map->count > before;
}

/* ---- names ---- */

const struct perf_function *perf_map_find(const struct perf_map *map, uint64_t address)
{
    const struct perf_function *found = NULL;
    size_t behind = sorted_until(map->rows, map->count, sizeof(*map->rows), address);
    for (size_t back = 0; back < STEPS_BACK && behind > 0; back++) {
        const struct perf_function *row = &map->rows[--behind];
        if (address < row->end && (!found || row->line > found->line))
            found = row;
    }
    return found;
}

const char *perf_map_name(const struct perf_map *map, const struct perf_function *function)
{
    return map->names + function->name;
}
