/* SPDX-License-Identifier: MIT */
#include "convert/filters/sanitize.h"

#include "formats/base/alloc.h"
#include "formats/model/paths.h"
#include "formats/model/program_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void replace(struct text *text, struct text by)
{
    text_free(*text);
    *text = by;
}

static void sanitize_forget(struct text *text)
{
    replace(text, (struct text){ 0 });
}

/* ---- files ---- */

/* The part of a path behind its last `parts` slashes. */
static struct text sanitize_last_parts(struct text path, size_t parts)
{
    size_t at = path.size;
    while (at > 0 && (path.bytes[at - 1] != '/' || --parts > 0))
        at--;
    return (struct text){ path.bytes + at, path.size - at };
}

static size_t count_parts(struct text path)
{
    size_t count = 0;
    for (size_t i = 0; i < path.size; i++)
        count += path.bytes[i] == '/';
    return count;
}

/* Whether a folder is no project: /srv, /home, /home/ann. The paths below would tell the user's other folders. */
static bool is_general(struct text folder)
{
    const bool home = text_begins(folder, TEXT("/home/")) || text_begins(folder, TEXT("/Users/"));
    return count_parts(folder) < (home ? 3 : 2);
}

/* The part of `file` below the deepest project that has it; empty: none has it. */
static struct text below_project(const struct paths *paths, struct text file)
{
    struct text rest = { 0 };
    for (size_t i = 0; i < paths->count; i++) {
        const struct text folder = paths->folders[i];
        const bool has = file.size > folder.size + 1 && text_begins(file, folder) && file.bytes[folder.size] == '/';
        const size_t size = has ? file.size - folder.size - 1 : 0;
        if (has && !is_general(folder) && (rest.size == 0 || size < rest.size))
            rest = (struct text){ file.bytes + folder.size + 1, size };
    }
    return rest;
}

/* A path relative to the folder of packages or of Python's own modules, with the names that tell them apart. */
static struct text below_python(struct text file)
{
    struct text rest;
    const enum origin origin = paths_origin(file, &rest);
    if (rest.size == 0)
        return rest;
    return sanitize_last_parts(file, count_parts(rest) + (origin == ORIGIN_PACKAGE ? 2 : 3));
}

static bool climbs(struct text path)
{
    return memmem(path.bytes, path.size, "../", 3) != NULL;
}

/* The public part of a file's name. It points into `file`. */
static struct text public_part(const struct paths *paths, struct text file)
{
    struct text part = below_python(file);
    if (part.size == 0)
        part = below_project(paths, file);
    if (part.size == 0 && file.size > 0 && file.bytes[0] != '/')
        part = file; /* app.py, <string> */
    if (part.size == 0 || climbs(part))
        part = sanitize_last_parts(file, 1);
    if (text_begins(part, TEXT("<")) && count_parts(part) > 0) { /* <template /home/ann/page.html> */
        part = sanitize_last_parts(part, 1);
        part.size -= part.size > 0 && part.bytes[part.size - 1] == '>';
    }
    return part;
}

/* The names of files are strings that functions name as their file. A string that begins with a slash is taken for one,
 * too, whoever uses it. */
static bool *find_files(const struct tables *tables)
{
    bool *files = alloc_zeroed(tables->strings_count + 1, sizeof(*files));
    for (size_t i = 1; i < tables->functions_count; i++)
        files[tables->functions[i].file] = true;
    for (size_t i = 1; i < tables->strings_count; i++)
        files[i] |= text_begins(tables->strings[i], TEXT("/"));
    return files;
}

/* The name that a file gets: the public one, or the part of its path that names no folder of a user. */
static struct text public_name(const struct paths *paths, const struct source_folders *repositories, struct text file)
{
    struct bytes name = { 0 };
    const bool named = source_put_repository_name(&name, repositories, file);
    const struct text result = text_copy(named ? (struct text){ (const char *)name.at, name.size }
                                               : public_part(paths, file));
    bytes_free(&name);
    return result;
}

static void shorten_files(struct tables *tables, const struct source_folders *repositories)
{
    struct paths paths = { 0 };
    paths_find(&paths, tables);
    bool *files = find_files(tables);
    struct text *parts = alloc_zeroed(tables->strings_count + 1, sizeof(*parts));
    /* The folders point into the strings, so the strings are replaced when all parts are known. */
    for (size_t i = 1; i < tables->strings_count; i++)
        if (files[i])
            parts[i] = public_name(&paths, repositories, tables->strings[i]);
    for (size_t i = 1; i < tables->strings_count; i++)
        if (files[i])
            replace(&tables->strings[i], parts[i]);
    free(parts);
    free(files);
    paths_free(&paths);
}

/* ---- processes and threads ---- */

struct text sanitize_recording_name(struct intern *recordings, struct text name, char *room)
{
    bool added;
    const uint32_t number = intern_number(recordings, name.bytes, name.size, &added);
    const int size = snprintf(room, SANITIZE_NAME_ROOM, "recording %" PRIu32, number);
    return (struct text){ room, (size_t)size };
}

static void clean_process(struct process_row *row, struct intern *recordings)
{
    struct process *process = &row->process;
    const struct text command = process->command.size ? process->command : process->executable;
    replace(&process->command, program_name_bare(command));
    replace(&process->executable, text_copy(sanitize_last_parts(process->executable, 1)));
    sanitize_forget(&process->folder);
    sanitize_forget(&process->attributes);
    if (row->process.recording.size == 0)
        return;
    char room[SANITIZE_NAME_ROOM];
    replace(&row->process.recording, text_copy(sanitize_recording_name(recordings, row->process.recording, room)));
}

static void clean_processes(struct tables *tables, struct intern *recordings)
{
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.number)
            clean_process(&tables->processes[i], recordings);
}

/* A name that is a path keeps its last part. */
static void clean_name(struct text *name)
{
    if (text_begins(*name, TEXT("/")))
        replace(name, text_copy(sanitize_last_parts(*name, 1)));
}

static void clean_names(struct tables *tables)
{
    for (size_t i = 1; i < tables->threads_count; i++)
        clean_name(&tables->threads[i].thread.name);
    for (size_t i = 1; i < tables->tasks_count; i++)
        clean_name(&tables->tasks[i].task.name);
}

void sanitize_description(struct tables *tables, struct intern *recordings)
{
    clean_processes(tables, recordings);
    sanitize_forget(&tables->recording.host);
    sanitize_forget(&tables->recording.kernel);
    sanitize_forget(&tables->recording.command);
}

void sanitize_tables(struct tables *tables, const struct source_folders *repositories, struct intern *recordings)
{
    shorten_files(tables, repositories); /* first: it needs the working folders */
    clean_names(tables);
    sanitize_description(tables, recordings);
}
