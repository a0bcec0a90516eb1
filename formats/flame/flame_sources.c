/* SPDX-License-Identifier: MIT */
#include "formats/flame/flame_sources.h"

#include "formats/base/alloc.h"
#include "formats/flame/short_text.h"

#include <stdlib.h>

/* What the search for texts works with. Files are numbered by their paths. */
struct flame_sources_search {
    const struct entries *entries;
    struct embedding embedding;
    struct intern files;
    bool *done; /* by file */
};

static uint32_t file_number(struct flame_sources_search *search, struct text path)
{
    bool added;
    return intern_number(&search->files, path.bytes, path.size, &added);
}

/* Adds all lines that the recording names, also those of functions that the page does not have. */
static void add_lines(struct flame_sources_search *search)
{
    const struct tables *tables = search->entries->tables;
    uint32_t *file_of = alloc_zeroed(tables->functions_count + 1, sizeof(*file_of)); /* by function; 0: none */
    for (uint32_t i = 1; i < tables->functions_count; i++) {
        const struct text path = tables_python_file(tables, i);
        if (!tables->functions[i].number || path.size == 0)
            continue;
        file_of[i] = file_number(search, path);
        embedding_add_function(&search->embedding, file_of[i], tables, i);
    }
    for (size_t i = 1; i < tables->frames_count; i++) {
        const struct frame *frame = &tables->frames[i];
        if (frame->number && file_of[frame->function])
            embedding_add_line(&search->embedding, file_of[frame->function], frame->line);
    }
    free(file_of);
}

/* Whether a file of this kind is wanted: one of Python. <string> is no file unless the user says which one, and no file
 * has so long a path that the page has it cut. */
static bool flame_code_is_wanted(const struct shown_code *code, const struct flame_style *style)
{
    const enum flame_sources wanted = style->sources;
    const bool is_file = text_begins(code->path, TEXT("/")) || source_is_mapped(style->path_maps, code->path);
    return is_file && code->path.size <= SHORT_TEXT_MOST &&
           (wanted == FLAME_SOURCES_ALL ? code->kind != CODE_NATIVE : code->kind == CODE_PROGRAM);
}

static void emit_source(struct json_emitter *json, struct flame_sources_search *search, const struct shown_code *code,
                        const struct flame_style *style, struct intern *strings)
{
    const uint32_t file = file_number(search, code->path);
    const enum embedded_share share = code->kind == CODE_PROGRAM ? EMBEDDED_PROGRAM : EMBEDDED_OTHERS;
    bool added;
    struct bytes text = { 0 };
    if (search->done[file])
        return;
    search->done[file] = true;
    const enum source_outcome outcome = embedding_read(&search->embedding, file, code->path, share,
                                                       search->entries->tables, style->path_maps, &text);
    emit_open(json, NULL, '{');
    emit_integer(json, "path", intern_number(strings, code->path.bytes, code->path.size, &added) - 1);
    if (outcome == SOURCE_READ)
        emit_text(json, "text", bytes_text(&text));
    else
        emit_text(json, "reason", text_of(embedding_reason(outcome)));
    emit_close(json, '}');
    bytes_free(&text);
}

void flame_sources_emit(struct json_emitter *json, const struct entries *entries, const bool *codes,
                        struct intern *strings, const struct flame_style *style, struct embedded_files *files)
{
    struct flame_sources_search search = { .entries = entries };
    emit_open(json, "sources", '[');
    if (style->sources != FLAME_SOURCES_NONE) {
        add_lines(&search);
        search.done = alloc_zeroed((size_t)search.files.count + 1, sizeof(*search.done));
        for (size_t i = 1; i < entries->codes_count; i++)
            if (codes[i] && flame_code_is_wanted(&entries->codes[i], style))
                emit_source(json, &search, &entries->codes[i], style, strings);
    }
    emit_close(json, ']');
    *files = search.embedding.files;
    free(search.done);
    intern_free(&search.files);
    embedding_free(&search.embedding);
}
