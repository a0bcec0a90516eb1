/* SPDX-License-Identifier: MIT */
#include "convert/filters/alike.h"

#include "formats/base/alloc.h"
#include "formats/model/program_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Whether many functions of a module may have this name: f.<locals>.<lambda>. There is one <module>. */
static bool is_anonymous(struct text name)
{
    const char *dot = name.size ? memrchr(name.bytes, '.', name.size) : NULL;
    const size_t before = dot ? (size_t)(dot - name.bytes) + 1 : 0;
    const struct text last = { name.bytes + before, name.size - before };
    return text_begins(last, TEXT("<")) && !text_equal(last, TEXT("<module>"));
}

/* Whether a name ends in a hash of eight digits, as wheels have it: libgomp-a34b3233. */
static bool ends_in_hash(struct text name)
{
    const size_t digits = 8;
    if (name.size <= digits + 1 || name.bytes[name.size - digits - 1] != '-')
        return false;
    for (size_t i = name.size - digits; i < name.size; i++)
        if (!isxdigit((unsigned char)name.bytes[i]))
            return false;
    return true;
}

/* Appends the name of a library without what differs from build to build: libz.so.1.2.13 and libz.so.1 are libz,
 * python3.12 and libpython3.13.so.1.0 are python, _core.cpython-312-x86_64-linux-gnu.so and _core.abi3.so are _core,
 * libgomp-a34b3233.so.1.0.0 is libgomp. */
static void put_library(struct bytes *to, struct text file)
{
    const size_t lib = sizeof("lib") - 1, python = sizeof("python") - 1;
    if (text_begins(file, TEXT("libpython")))
        file = (struct text){ file.bytes + lib, file.size - lib };
    size_t size = 0;
    while (size < file.size && file.bytes[size] != '.')
        size++;
    if (text_begins(file, TEXT("python")) && file.size > python && isdigit((unsigned char)file.bytes[python]))
        size = python;
    if (ends_in_hash((struct text){ file.bytes, size }))
        size -= sizeof("-a34b3233") - 1;
    put_bytes(to, "", 1); /* no module of Python */
    put_bytes(to, file.bytes, size);
}

/* ---- main scripts ---- */

/* Finds the script of the side that is being read. A command line is known before any function is, and for each thread;
 * a process may write another title over it later. */
static struct alike_script *alike_script_of_side(struct alike *alike, const struct tables *from)
{
    struct alike_script *script = &alike->scripts[alike->recording > alike->before];
    for (size_t i = 1; i < from->processes_count && !script->name.size; i++) {
        const struct text name = program_name_script(from->processes[i].process.command);
        if (name.size) {
            text_free(script->name);
            script->name = text_copy(name);
        }
    }
    return script;
}

static struct text without_dots(struct text path)
{
    while (text_begins(path, TEXT("./")) || text_begins(path, TEXT("../"))) {
        const size_t size = path.bytes[1] == '/' ? 2 : 3;
        path = (struct text){ path.bytes + size, path.size - size };
    }
    return path;
}

/* Whether a file is the script that a command line names, in whatever folder it was called. */
static bool is_main_script(struct text file, struct text name)
{
    const struct text end = without_dots(name);
    return end.size && text_ends(file, end) &&
           (file.size == end.size || end.bytes[0] == '/' || file.bytes[file.size - end.size - 1] == '/');
}

static bool names_differ(const struct alike *alike)
{
    return alike->scripts[0].name.size && alike->scripts[1].name.size &&
           !text_equal(paths_last_part(alike->scripts[0].name), paths_last_part(alike->scripts[1].name));
}

/* Whether a file is a main script whose other side has another name, as far as one can know. */
static bool is_renamed_script(struct alike *alike, const struct tables *from, struct text file)
{
    const struct alike_script *script = alike_script_of_side(alike, from);
    return is_main_script(file, script->name) && (script == alike->scripts || names_differ(alike));
}

/* Appends the module of a file; for the main script of after the module of that of before. */
static void put_module(struct bytes *to, struct alike *alike, const struct tables *from, struct text file)
{
    struct alike_script *script = alike_script_of_side(alike, from);
    const bool is_main = is_main_script(file, script->name), after = script == &alike->scripts[1];
    if (is_main && !script->path.size)
        script->path = text_copy(file);
    if (is_main && after && names_differ(alike) && alike->script_module.size) {
        put_bytes(to, alike->script_module.at, alike->script_module.size);
        return;
    }
    const size_t at = to->size;
    paths_put_module(to, &alike->paths, file);
    if (!is_main || after)
        return;
    alike->script_module.size = 0;
    put_bytes(&alike->script_module, to->at + at, to->size - at);
}

bool alike_scripts(const struct alike *alike, struct text paths[2])
{
    for (size_t i = 0; i < countof(alike->scripts); i++)
        paths[i] = alike->scripts[i].path;
    return names_differ(alike) && paths[0].size && paths[1].size && alike->script_module.size;
}

/* ---- functions ---- */

/* The row of functions that are like this one; NULL: functions of this name are never alike. */
static struct alike_row *alike_row_of(struct alike *alike, const struct tables *from, const struct function *function,
                                      bool *added)
{
    const struct text name = tables_string(from, function->name), file = tables_string(from, function->file);
    const struct text module = paths_last_part(tables_string(from, function->module));
    struct bytes key = { 0 };
    const bool nameless = is_anonymous(name);
    if (name.size == 0 || (file.size == 0 && module.size == 0) || paths_is_nameless(from, function) ||
        (nameless && (module.size || !is_renamed_script(alike, from, file))))
        return NULL;
    paths_find(&alike->paths, from);
    put_bytes(&key, name.bytes, name.size);
    put_bytes(&key, "", 1);
    if (nameless)
        put_number(&key, function->first_line);
    if (module.size)
        put_library(&key, module);
    else
        put_module(&key, alike, from, file);
    const uint32_t number = intern_number(&alike->keys, key.at, key.size, added);
    bytes_free(&key);
    alike->rows = alloc_grow(alike->rows, &alike->room, (size_t)number + 1, sizeof(*alike->rows));
    return &alike->rows[number];
}

void alike_next(struct alike *alike)
{
    alike->recording++;
    paths_free(&alike->paths);
    alike->paths = (struct paths){ 0 };
}

void alike_note(struct alike *alike, const struct tables *from, const struct function *function, uint32_t number)
{
    bool added;
    struct alike_row *row = alike_row_of(alike, from, function, &added);
    if (!row)
        return;
    if (row->function == 0)
        *row = (struct alike_row){ .function = number, .first = alike->recording };
    else if (row->function != number && row->first == alike->recording)
        row->several = true;
}

uint32_t alike_find(struct alike *alike, const struct tables *from, const struct function *function)
{
    bool added;
    struct alike_row *row = alike_row_of(alike, from, function, &added);
    if (!row || row->function == 0 || row->several || row->first == alike->recording)
        return 0;
    if (row->recording == alike->recording && row->line != function->first_line)
        return 0;
    row->recording = alike->recording;
    row->line = function->first_line;
    return row->function;
}

void alike_free(struct alike *alike)
{
    intern_free(&alike->keys);
    free(alike->rows);
    paths_free(&alike->paths);
    bytes_free(&alike->script_module);
    for (size_t i = 0; i < countof(alike->scripts); i++) {
        text_free(alike->scripts[i].name);
        text_free(alike->scripts[i].path);
    }
    *alike = (struct alike){ 0 };
}
