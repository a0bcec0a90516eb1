/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_sources.h"

#include "formats/base/alloc.h"
#include "formats/gecko/gecko_internal.h"

#include <stdlib.h>
#include <string.h>

/* The most bytes of texts, once for the program and once for packages. */
#define EMBEDDED_MOST ((size_t)16 << 20)

/* A line of a source that the recording names. */
struct gecko_line_of {
    uint32_t source, line;
    bool definition; /* a function with a name begins in the line */
};

static int by_source(const void *left, const void *right)
{
    const struct gecko_line_of *a = left, *b = right;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->definition != b->definition)
        return a->definition ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

/* Adds a line of a function. */
static void add_line(struct gecko *gecko, uint32_t function, uint32_t line, bool definition)
{
    struct gecko_embedding *embedding = &gecko->embedding;
    const struct gecko_source *source = gecko_sources_of(gecko, function);
    if (source && line)
        embedding->lines[embedding->lines_count++] = (struct gecko_line_of){
            .source = (uint32_t)(source - gecko->sources.rows), .line = line, .definition = definition
        };
}

/* Whether a name is that of a function or a class: f, C.f, but not <module> or f.<locals>.<lambda>. */
static bool is_named(struct text name)
{
    return name.size > 0 && name.bytes[name.size - 1] != '>';
}

void gecko_embedding_start(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    const struct gecko_rows *functions = &gecko->rows.functions, *frames = &gecko->rows.frames;
    struct gecko_embedding *embedding = &gecko->embedding;
    if (!gecko->style.embed_sources)
        return;
    embedding->lines = alloc_zeroed(functions->count + frames->count + 1, sizeof(*embedding->lines));
    for (size_t row = 0; row < functions->count; row++) {
        const struct function *function = &tables->functions[functions->number[row]];
        add_line(gecko, functions->number[row], function->first_line, is_named(tables_string(tables, function->name)));
    }
    for (size_t row = 0; row < frames->count; row++) {
        const struct frame *frame = &tables->frames[frames->number[row]];
        add_line(gecko, frame->function, frame->line, false);
    }
    qsort(embedding->lines, embedding->lines_count, sizeof(*embedding->lines), by_source);
}

/* Takes the lines of the next source. `definitions` has room for all lines. */
static void take_facts(struct gecko *gecko, size_t source, struct source_facts *facts, uint32_t *definitions)
{
    struct gecko_embedding *embedding = &gecko->embedding;
    const struct tables *tables = gecko->tables;
    *facts = (struct source_facts){ .definitions = definitions };
    if (tables->recording.start_unix_ns)
        facts->end_unix_ns = tables->recording.start_unix_ns + tables_end_ns(tables);
    for (; embedding->next < embedding->lines_count && embedding->lines[embedding->next].source == source;
         embedding->next++) {
        const struct gecko_line_of *line = &embedding->lines[embedding->next];
        if (line->definition)
            definitions[facts->definitions_count++] = line->line;
        if (line->line > facts->last_line)
            facts->last_line = line->line;
    }
}

/* Reads a file by its path on this machine. */
static enum source_outcome read_text(struct gecko *gecko, struct text file, const struct source_facts *facts,
                                     struct bytes *text)
{
    struct bytes path = { 0 };
    source_put_path(&path, &gecko->style.path_maps, file);
    put_bytes(&path, "", 1);
    const bool whole = path.at[0] == '/' && strlen((const char *)path.at) + 1 == path.size;
    const enum source_outcome outcome = whole ? source_text_read((const char *)path.at, facts, text) : SOURCE_FOREIGN;
    bytes_free(&path);
    return outcome;
}

/* Whether a source is a file of the program or of a package. <string> is no file. */
static bool is_wanted(const struct gecko_source *source, struct text file)
{
    const bool own = source->category == CATEGORY_PROGRAM || source->category == CATEGORY_PACKAGE;
    return own && text_begins(file, TEXT("/"));
}

/* Notes what became of a file. */
static void note(struct gecko_embedded *done, enum source_outcome outcome, struct text file)
{
    if (done->files[outcome]++ == 0)
        done->first[outcome] = file;
}

void gecko_embedding_emit(struct gecko *gecko, size_t index)
{
    struct gecko_embedding *embedding = &gecko->embedding;
    const struct gecko_source *source = &gecko->sources.rows[index];
    const struct text file = tables_string(gecko->tables, source->file);
    size_t *used = source->category == CATEGORY_PROGRAM ? &embedding->program_bytes : &embedding->package_bytes;
    struct bytes text = { 0 };
    if (gecko->style.embed_sources) {
        struct source_facts facts;
        uint32_t *definitions = alloc_zeroed(embedding->lines_count + 1, sizeof(*definitions));
        take_facts(gecko, index, &facts, definitions);
        if (is_wanted(source, file)) {
            enum source_outcome outcome = read_text(gecko, file, &facts, &text);
            if (outcome == SOURCE_READ && text.size > EMBEDDED_MOST - *used)
                outcome = SOURCE_LARGE;
            note(&embedding->done, outcome, file);
            if (outcome != SOURCE_READ)
                bytes_free(&text);
        }
        free(definitions);
    }
    *used += text.size;
    if (text.at)
        emit_text(&gecko->json, NULL, (struct text){ (const char *)text.at, text.size });
    else
        emit_literal(&gecko->json, NULL, "null");
    bytes_free(&text);
}

void gecko_embedding_free(struct gecko_embedding *embedding)
{
    free(embedding->lines);
}
