/* SPDX-License-Identifier: MIT */
#include "convert/sharing/disclosed.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/model/paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE_MOST ((size_t)60) /* bytes of an example */

/* Names of one kind. */
struct names {
    uint64_t count;
    bool at_most;
    struct text example;
};

static void disclosed_names_add(struct names *names, struct text name)
{
    if (name.size == 0)
        return;
    if (names->count++ == 0)
        names->example = name;
}

/* Prints a text of a recording, which is not trusted, on one line. */
static void print_example(FILE *to, struct text example)
{
    size_t size = example.size < EXAMPLE_MOST ? example.size : EXAMPLE_MOST;
    while (size < example.size && size > 0 && ((unsigned char)example.bytes[size] & 0xC0) == 0x80)
        size--; /* no half of a character */
    utf8_print(to, (struct text){ example.bytes, size });
    fputs(size < example.size ? "...\n" : "\n", to);
}

static void print_names(FILE *to, const struct names *names, const char *one, const char *many)
{
    char what[64];
    if (names->count == 0)
        return;
    snprintf(what, sizeof(what), "%s%" PRIu64 " %s", names->at_most ? "up to " : "", names->count,
             names->count == 1 ? one : many);
    fprintf(to, "    %-24s %s", what, names->count == 1 ? "" : "such as ");
    print_example(to, names->example);
}

static struct names command_lines(const struct tables *tables)
{
    struct names names = { 0 };
    for (size_t i = 1; i < tables->processes_count; i++)
        disclosed_names_add(&names, tables->processes[i].process.command);
    disclosed_names_add(&names, tables->recording.command);
    return names;
}

static struct names executables(const struct tables *tables)
{
    struct names names = { 0 };
    for (size_t i = 1; i < tables->processes_count; i++)
        disclosed_names_add(&names, tables->processes[i].process.executable);
    return names;
}

/* The files of functions: all, or those whose text a profile may have. The example is a file of the program, if there
 * is one. */
static struct names files(const struct tables *tables, bool with_text)
{
    struct names names = { 0 };
    struct text rest;
    bool *seen = alloc_zeroed(tables->strings_count + 1, sizeof(*seen));
    for (size_t i = 1; i < tables->functions_count; i++) {
        const uint32_t file = tables->functions[i].file;
        const struct text name = tables_string(tables, file);
        if (seen[file])
            continue;
        seen[file] = true;
        if (with_text && (tables->functions[i].module || !text_begins(name, TEXT("/")) || paths_origin(name, &rest) == ORIGIN_LIBRARY))
            continue;
        disclosed_names_add(&names, name);
        if (paths_origin(names.example, &rest) != ORIGIN_PROGRAM && paths_origin(name, &rest) == ORIGIN_PROGRAM)
            names.example = name;
    }
    free(seen);
    return names;
}

/* The programs and libraries that have native code. */
static struct names libraries(const struct tables *tables)
{
    struct names names = { 0 };
    bool *seen = alloc_zeroed(tables->strings_count + 1, sizeof(*seen));
    for (size_t i = 1; i < tables->functions_count; i++) {
        const uint32_t module = tables->functions[i].module;
        if (!seen[module])
            disclosed_names_add(&names, paths_last_part(tables_string(tables, module)));
        seen[module] = true;
    }
    free(seen);
    return names;
}

/* Threads, without entries that stand for tasks. The example is no main thread, whose name says little. */
static struct names threads(const struct tables *tables)
{
    struct names names = { 0 };
    for (size_t i = 1; i < tables->threads_count; i++) {
        const struct thread *thread = &tables->threads[i].thread;
        if (!thread->number || thread->task)
            continue;
        disclosed_names_add(&names, tables_thread_name(tables, (uint32_t)i));
        if (!thread->main && names.count > 1 && text_equal(names.example, TEXT("MainThread")))
            names.example = tables_thread_name(tables, (uint32_t)i);
    }
    return names;
}

struct disclosed_sources disclosed_texts_of(const struct tables *tables)
{
    const struct names names = files(tables, true);
    return (struct disclosed_sources){ .count = names.count, .at_most = true, .example = names.example };
}

static struct names tasks(const struct tables *tables)
{
    struct names names = { 0 };
    for (size_t i = 1; i < tables->tasks_count; i++)
        disclosed_names_add(&names, tables->tasks[i].task.name);
    return names;
}

void disclosed_print(FILE *to, const struct tables *tables, struct disclosed_sources sources)
{
    const struct names commands = command_lines(tables), programs = executables(tables), paths = files(tables, false),
                       modules = libraries(tables), lines = threads(tables), works = tasks(tables),
                       texts = { sources.count, sources.at_most, sources.example };
    struct names hosts = { 0 };
    disclosed_names_add(&hosts, tables->recording.host);
    print_names(to, &hosts, "host", "hosts");
    print_names(to, &commands, "command line", "command lines");
    print_names(to, &programs, "executable", "executables");
    print_names(to, &paths, "file name", "file names");
    print_names(to, &modules, "library", "libraries");
    print_names(to, &lines, "thread name", "thread names");
    print_names(to, &works, "task name", "task names");
    print_names(to, &texts, "text of a file", "texts of files");
}
