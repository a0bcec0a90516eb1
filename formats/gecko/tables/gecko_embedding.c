/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_sources.h"

#include "formats/gecko/gecko_internal.h"

void gecko_embedding_start(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    const struct gecko_rows *functions = &gecko->rows.functions, *frames = &gecko->rows.frames;
    if (!gecko->style.embed_sources)
        return;
    for (size_t row = 0; row < functions->count; row++) {
        const struct gecko_source *source = gecko_sources_of(gecko, functions->number[row]);
        if (source)
            embedding_add_function(&gecko->embedding, (uint32_t)(source - gecko->sources.rows), tables,
                                   functions->number[row]);
    }
    for (size_t row = 0; row < frames->count; row++) {
        const struct frame *frame = &tables->frames[frames->number[row]];
        const struct gecko_source *source = gecko_sources_of(gecko, frame->function);
        if (source)
            embedding_add_line(&gecko->embedding, (uint32_t)(source - gecko->sources.rows), frame->line);
    }
}

/* Whether a source is a file of the program or of a package. <string> is no file unless the user says which one. */
static bool gecko_embedding_is_wanted(const struct gecko *gecko, const struct gecko_source *source, struct text file)
{
    const bool own = source->category == CATEGORY_PROGRAM || source->category == CATEGORY_PACKAGE;
    return own && (text_begins(file, TEXT("/")) || source_is_mapped(&gecko->style.path_maps, file));
}

void gecko_embedding_emit(struct gecko *gecko, size_t index)
{
    const struct gecko_source *source = &gecko->sources.rows[index];
    const struct text file = tables_string(gecko->tables, source->file);
    const enum embedded_share share = source->category == CATEGORY_PROGRAM ? EMBEDDED_PROGRAM : EMBEDDED_OTHERS;
    struct bytes text = { 0 };
    if (gecko->style.embed_sources && gecko_embedding_is_wanted(gecko, source, file) &&
        embedding_read(&gecko->embedding, (uint32_t)index, file, share, gecko->tables, &gecko->style.path_maps,
                       &text) == SOURCE_READ)
        emit_text(&gecko->json, NULL, (struct text){ (const char *)text.at, text.size });
    else
        emit_literal(&gecko->json, NULL, "null");
    bytes_free(&text);
}
