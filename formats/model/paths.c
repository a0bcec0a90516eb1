/* SPDX-License-Identifier: MIT */
#include "formats/model/paths.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static struct text paths_behind(struct text text, size_t size)
{
    return (struct text){ text.bytes + size, text.size - size };
}

static size_t count_digits(struct text text)
{
    size_t count = 0;
    while (count < text.size && text.bytes[count] >= '0' && text.bytes[count] <= '9')
        count++;
    return count;
}

/* Adds a folder. Skips the root folder, which contains every file, and a relative folder, which cannot be compared with
 * a path. */
static void add_folder(struct paths *paths, struct text folder)
{
    while (folder.size > 0 && folder.bytes[folder.size - 1] == '/')
        folder.size--;
    if (folder.size == 0 || folder.bytes[0] != '/')
        return;
    for (size_t i = 0; i < paths->count; i++)
        if (text_equal(paths->folders[i], folder))
            return;
    paths->folders = alloc_grow(paths->folders, &paths->room, paths->count + 1, sizeof(*paths->folders));
    paths->folders[paths->count++] = folder;
}

static void add_folder_of(struct paths *paths, struct text file)
{
    while (file.size > 0 && file.bytes[file.size - 1] != '/')
        file.size--;
    add_folder(paths, file);
}

void paths_find(struct paths *paths, const struct tables *tables)
{
    for (size_t i = paths->processes ? paths->processes : 1; i < tables->processes_count; i++)
        add_folder(paths, tables->processes[i].process.folder);
    paths->processes = tables->processes_count;
    size_t i = paths->stacks ? paths->stacks : 1;
    for (paths->stacks = tables->stacks_count; i < tables->stacks_count; i++) {
        if (tables->stacks[i].caller)
            continue;
        const uint32_t function = tables->frames[tables->stacks[i].frame].function;
        if (text_equal(tables_function_name(tables, function), TEXT("<module>")))
            add_folder_of(paths, tables_function_file(tables, function));
    }
}

/* The length of the packages folder's name, with the slash behind it, at the start of `path`; 0 when `path` starts with
 * another name. */
static size_t packages_name(struct text path)
{
    const struct text name = TEXT("site-packages/");
    return text_begins(path, name) || text_begins(path, TEXT("dist-packages/")) ? name.size : 0;
}

/* The length of the standard library's name at the start of `path`: lib/python3.N/. Some systems write lib64, and
 * free-threaded builds python3.Nt. 0 when `path` starts with another name. */
static size_t library_name(struct text path)
{
    const struct text lib = TEXT("lib"), python = TEXT("/python3.");
    if (!text_begins(path, lib))
        return 0;
    struct text rest = paths_behind(path, lib.size);
    rest = paths_behind(rest, count_digits(rest));
    if (!text_begins(rest, python))
        return 0;
    rest = paths_behind(rest, python.size);
    const size_t digits = count_digits(rest);
    rest = paths_behind(rest, digits);
    if (text_begins(rest, TEXT("t")))
        rest = paths_behind(rest, 1);
    return digits && text_begins(rest, TEXT("/")) ? path.size - rest.size + 1 : 0;
}

/* The part of `file` behind the last folder that `name` recognises; empty when there is none. */
static struct text behind_last(struct text file, size_t (*name)(struct text path))
{
    for (size_t i = file.size; i-- > 0;) {
        const struct text path = paths_behind(file, i);
        const size_t size = i == 0 || file.bytes[i - 1] == '/' ? name(path) : 0;
        if (size)
            return paths_behind(path, size);
    }
    return (struct text){ 0 };
}

enum origin paths_origin(struct text file, struct text *rest)
{
    *rest = behind_last(file, packages_name);
    if (rest->size > 0)
        return ORIGIN_PACKAGE;
    *rest = behind_last(file, library_name);
    if (rest->size > 0 || text_begins(file, TEXT("<frozen ")))
        return ORIGIN_LIBRARY;
    return file.size ? ORIGIN_PROGRAM : ORIGIN_UNKNOWN;
}

static struct text below(struct text file, struct text folder)
{
    const bool inside = file.size > folder.size && text_begins(file, folder) && file.bytes[folder.size] == '/';
    return inside ? paths_behind(file, folder.size + 1) : (struct text){ 0 };
}

struct text paths_place(const struct paths *paths, const struct tables *tables, uint32_t function, bool full,
                        struct bytes *room)
{
    const struct text file = tables_function_file(tables, function);
    const struct text module = tables_string(tables, tables->functions[function].module);
    if (!module.size)
        return full ? file : paths_shorten(paths, file);
    const struct text shown = full ? module : paths_last_part(module);
    const struct text source = full ? file : paths_last_part(file);
    if (!source.size)
        return shown;
    room->size = 0;
    put_bytes(room, shown.bytes, shown.size);
    put_bytes(room, full ? " " : "/", 1);
    put_bytes(room, source.bytes, source.size);
    return bytes_text(room);
}

struct text paths_last_part(struct text path)
{
    const char *slash = path.size ? memrchr(path.bytes, '/', path.size) : NULL;
    return slash ? paths_behind(path, (size_t)(slash + 1 - path.bytes)) : path;
}

bool paths_is_nameless(const struct tables *tables, const struct function *function)
{
    const struct text name = tables_string(tables, function->name);
    const struct text module = paths_last_part(tables_string(tables, function->module));
    return module.size && name.size > module.size && text_begins(name, module) && name.bytes[module.size] == '+';
}

struct text paths_shorten(const struct paths *paths, struct text file)
{
    struct text rest;
    paths_origin(file, &rest);
    for (size_t i = 0; i < paths->count && rest.size == 0; i++)
        rest = below(file, paths->folders[i]);
    return rest.size ? rest : file;
}

/* ---- modules ---- */

/* The last `count` parts of a path. */
static struct text paths_last_parts(struct text path, size_t count)
{
    size_t at = path.size;
    while (at > 0 && (path.bytes[at - 1] != '/' || --count > 0))
        at--;
    return paths_behind(path, at);
}

/* Whether a part of a path can be the name of a package. */
static bool is_identifier(struct text part)
{
    for (size_t i = 0; i < part.size; i++) {
        const unsigned char c = (unsigned char)part.bytes[i];
        const bool digit = c >= '0' && c <= '9';
        if (!(digit && i > 0) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' && c < 0x80)
            return false;
    }
    return part.size > 0;
}

/* The part of a path behind its last folder that cannot be a package. */
static struct text behind_other_folders(struct text path)
{
    size_t part = 0, kept = 0;
    for (size_t i = 0; i < path.size; i++) {
        if (path.bytes[i] != '/')
            continue;
        if (!is_identifier((struct text){ path.bytes + part, i - part }))
            kept = i + 1;
        part = i + 1;
    }
    return paths_behind(path, kept);
}

static struct text below_deepest(const struct paths *paths, struct text file)
{
    struct text rest = { 0 };
    for (size_t i = 0; i < paths->count; i++) {
        const struct text other = below(file, paths->folders[i]);
        if (other.size && (!rest.size || other.size < rest.size))
            rest = other;
    }
    return rest;
}

/* The path of a module, relative to the folder in which Python finds the module. */
static struct text module_path(const struct paths *paths, struct text file)
{
    struct text path;
    paths_origin(file, &path);
    if (path.size == 0)
        path = below_deepest(paths, file);
    if (path.size == 0)
        path = text_begins(file, TEXT("/")) ? paths_last_parts(file, 1) : file;
    if (text_equal(path, TEXT("__init__.py"))) /* the module is the folder itself */
        path = paths_last_parts(file, 2);
    return behind_other_folders(path);
}

static struct text without_end(struct text text, struct text end)
{
    return (struct text){ text.bytes, text_ends(text, end) ? text.size - end.size : text.size };
}

void paths_put_module(struct bytes *to, const struct paths *paths, struct text file)
{
    const struct text frozen = TEXT("<frozen ");
    if (text_begins(file, frozen)) {
        const struct text module = without_end(paths_behind(file, frozen.size), TEXT(">"));
        put_bytes(to, module.bytes, module.size);
        return;
    }
    if (text_begins(file, TEXT("<"))) {
        put_bytes(to, file.bytes, file.size);
        return;
    }
    const size_t before = to->size;
    const struct text path = without_end(module_path(paths, file), TEXT(".py"));
    const struct text module = without_end(path, TEXT("/__init__"));
    put_bytes(to, module.bytes, module.size);
    for (size_t i = before; i < to->size; i++)
        if (to->at[i] == '/')
            to->at[i] = '.';
}

void paths_free(struct paths *paths)
{
    free(paths->folders);
    *paths = (struct paths){ 0 };
}
