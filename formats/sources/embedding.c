/* SPDX-License-Identifier: MIT */
#include "formats/sources/embedding.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A line that the recording names. */
struct embedding_line {
    uint32_t file, line;
    bool definition; /* a function with a name begins in the line */
};

/* Definitions first. */
static int by_file(const void *left, const void *right)
{
    const struct embedding_line *a = left, *b = right;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->definition != b->definition)
        return a->definition ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static void embedding_add(struct embedding *embedding, struct embedding_line line)
{
    if (line.line == 0)
        return;
    embedding->lines = alloc_grow(embedding->lines, &embedding->room, embedding->count + 1, sizeof(*embedding->lines));
    embedding->lines[embedding->count++] = line;
}

void embedding_add_line(struct embedding *embedding, uint32_t file, uint32_t line)
{
    embedding_add(embedding, (struct embedding_line){ .file = file, .line = line });
}

/* Whether a name is that of a function or a class: f, C.f, but not <module> or f.<locals>.<lambda>. */
static bool name_is_of_definition(struct text name)
{
    return name.size > 0 && name.bytes[name.size - 1] != '>';
}

void embedding_add_function(struct embedding *embedding, uint32_t file, const struct tables *tables, uint32_t function)
{
    embedding_add(embedding, (struct embedding_line){
                                 .file = file,
                                 .line = tables->functions[function].first_line,
                                 .definition = name_is_of_definition(tables_function_name(tables, function)) });
}

/* The index of the first line of a file. */
static size_t first_line_of(const struct embedding *embedding, uint32_t file)
{
    size_t low = 0, high = embedding->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (embedding->lines[middle].file < file)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sort(struct embedding *embedding)
{
    if (!embedding->sorted && embedding->count > 0)
        qsort(embedding->lines, embedding->count, sizeof(*embedding->lines), by_file);
    embedding->sorted = true;
}

/* The facts of a file. The caller frees *definitions. */
static struct source_facts facts_of(struct embedding *embedding, uint32_t file, const struct tables *tables,
                                    uint32_t **definitions)
{
    struct source_facts facts = { 0 };
    if (tables->recording.start_unix_ns)
        facts.end_unix_ns = tables->recording.start_unix_ns + tables_end_ns(tables);
    sort(embedding);
    const size_t first = first_line_of(embedding, file);
    size_t end = first;
    while (end < embedding->count && embedding->lines[end].file == file)
        end++;
    *definitions = alloc_zeroed(end - first + 1, sizeof(**definitions));
    for (size_t i = first; i < end; i++) {
        const struct embedding_line *line = &embedding->lines[i];
        if (line->definition)
            (*definitions)[facts.definitions_count++] = line->line;
        if (line->line > facts.last_line)
            facts.last_line = line->line;
    }
    facts.definitions = *definitions;
    return facts;
}

/* Reads a file by its path on this machine. The user may have written the text of made-up code, such as that of exec(),
 * into a file after the recording. */
static enum source_outcome source_read_text(const struct source_folders *maps, struct text file,
                                            const struct source_facts *recorded, struct bytes *text)
{
    struct bytes path = { 0 };
    struct source_facts facts = *recorded;
    const bool mapped = source_is_mapped(maps, file);
    if (mapped)
        facts.end_unix_ns = 0;
    source_put_path(&path, maps, file);
    put_bytes(&path, "", 1);
    const bool whole = (mapped || path.at[0] == '/') && strlen((const char *)path.at) + 1 == path.size;
    const enum source_outcome outcome = whole ? source_text_read((const char *)path.at, &facts, text) : SOURCE_FOREIGN;
    bytes_free(&path);
    return outcome;
}

enum source_outcome embedding_read(struct embedding *embedding, uint32_t file, struct text path,
                                   enum embedded_share share, const struct tables *tables,
                                   const struct source_folders *maps, struct bytes *text)
{
    uint32_t *definitions;
    const struct source_facts facts = facts_of(embedding, file, tables, &definitions);
    const size_t before = text->size;
    enum source_outcome outcome = source_read_text(maps, path, &facts, text);
    if (outcome == SOURCE_READ && text->size - before > EMBEDDED_MOST - embedding->used[share]) {
        outcome = SOURCE_LARGE;
        text->size = before;
    }
    free(definitions);
    if (embedding->files.count[outcome]++ == 0)
        embedding->files.first[outcome] = path;
    embedding->used[share] += text->size - before;
    return outcome;
}

const char *embedding_reason(enum source_outcome outcome)
{
    static const char *const reasons[SOURCE_OUTCOMES] = {
        [SOURCE_ABSENT] = "not found: --path-map FROM=TO says where they are",
        [SOURCE_FOREIGN] = "no regular file of Python source in UTF-8, or in the encoding that the file names",
        [SOURCE_LARGE] = "too large for the profile",
        [SOURCE_CHANGED] = "not what was recorded: changed since then",
    };
    return reasons[outcome];
}

void embedding_warn(FILE *to, const char *program, const struct embedded_files *files)
{
    for (size_t i = 0; i < SOURCE_OUTCOMES; i++) {
        const char *reason = embedding_reason((enum source_outcome)i);
        if (!reason || files->count[i] == 0)
            continue;
        fprintf(to, "%s: warning: %zu source file%s left out (%s): ", program, files->count[i],
                files->count[i] > 1 ? "s" : "", reason);
        utf8_print(to, files->first[i]);
        fprintf(to, "%s\n", files->count[i] > 1 ? ", ..." : "");
    }
}

void embedding_free(struct embedding *embedding)
{
    free(embedding->lines);
    *embedding = (struct embedding){ 0 };
}
