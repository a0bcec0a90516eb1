/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* ---- leaves ---- */

/* The index of the frame's instruction in opcodes->rows; adds it if absent. */
static uint32_t opcode_of(struct gecko_opcodes *opcodes, const struct frame *frame)
{
    bool added;
    const uint32_t base = frame->base ? frame->base : frame->instruction;
    const uint32_t number = intern_pairs_number(&opcodes->numbers, frame->instruction, base, &added);
    if (added) {
        opcodes->rows = alloc_grow(opcodes->rows, &opcodes->rows_room, number, sizeof(*opcodes->rows));
        opcodes->rows[number - 1] = (struct gecko_opcode){ .instruction = frame->instruction, .base = base };
    }
    return number - 1;
}

void gecko_opcodes_take(struct gecko *gecko, uint32_t stack)
{
    struct gecko_opcodes *opcodes = &gecko->opcodes;
    if (!opcodes->shown || !stack)
        return;
    const struct frame *frame = &gecko->tables->frames[gecko->tables->stacks[stack].frame];
    if (!frame->instruction)
        return;
    opcodes->leaf_of = alloc_grow(opcodes->leaf_of, &opcodes->leaf_of_room, (size_t)stack + 1,
                                  sizeof(*opcodes->leaf_of));
    if (opcodes->leaf_of[stack])
        return;
    opcodes->leaves = alloc_grow(opcodes->leaves, &opcodes->leaves_room, opcodes->leaves_count + 1,
                                 sizeof(*opcodes->leaves));
    opcodes->leaves[opcodes->leaves_count] = (struct gecko_leaf){ stack, opcode_of(opcodes, frame) };
    opcodes->leaf_of[stack] = (uint32_t)++opcodes->leaves_count;
}

uint32_t gecko_opcodes_leaf(const struct gecko *gecko, uint32_t stack)
{
    const struct gecko_opcodes *opcodes = &gecko->opcodes;
    const uint32_t leaf = stack < opcodes->leaf_of_room ? opcodes->leaf_of[stack] : 0;
    return leaf ? (uint32_t)gecko->tables->stacks_count + leaf - 1 : stack;
}

static size_t quoted_name(struct gecko *gecko, uint32_t instruction)
{
    struct bytes name = { 0 };
    const struct text text = tables_string(gecko->tables, instruction);
    put_bytes(&name, "[", 1);
    put_bytes(&name, text.bytes, text.size);
    put_bytes(&name, "]", 1);
    const size_t string = gecko_tables_string(gecko, (struct text){ (const char *)name.at, name.size });
    bytes_free(&name);
    return string;
}

/* The index of the base among the subcategories; 0, "Other", when there are too many. No Python version has so many
 * opcodes. */
static uint32_t subcategory_of(struct gecko_opcodes *opcodes, uint32_t base)
{
    for (uint32_t i = 0; i < opcodes->bases_count; i++)
        if (opcodes->bases[i] == base)
            return i + 1;
    if (opcodes->bases_count == GECKO_BASES)
        return 0;
    opcodes->bases[opcodes->bases_count++] = base;
    return opcodes->bases_count;
}

void gecko_opcodes_settle(struct gecko *gecko)
{
    struct gecko_opcodes *opcodes = &gecko->opcodes;
    for (size_t i = 0; i < opcodes->numbers.count; i++) {
        opcodes->rows[i].name = quoted_name(gecko, opcodes->rows[i].instruction);
        opcodes->rows[i].subcategory = subcategory_of(opcodes, opcodes->rows[i].base);
    }
}

void gecko_opcodes_free(struct gecko_opcodes *opcodes)
{
    intern_pairs_free(&opcodes->numbers);
    free(opcodes->rows);
    free(opcodes->leaf_of);
    free(opcodes->leaves);
}

/* ---- markers ---- */

static uint32_t leaf_frame(const struct gecko *gecko, uint32_t stack)
{
    return stack ? gecko->tables->stacks[stack].frame : 0;
}

/* The duration of the sample that was just read. Call it once per sample. */
static uint64_t take_width(struct gecko_marker_reader *reader)
{
    const uint64_t before = reader->change.time;
    if (reader->usual > 0)
        reader->usual--;
    else
        spool_next(&reader->changes, &reader->change);
    return gecko_status_width_units(reader->gecko, reader->change.time - before);
}

static void begin(struct gecko_marker_reader *reader)
{
    const struct gecko_thread *thread = reader->thread;
    reader->over = !reader->gecko->opcodes.shown || thread->shared || thread->samples.count == 0;
    if (reader->over)
        return;
    spool_rewind(&reader->changes, &reader->gecko->spool, &thread->weights);
    reader->change = (struct spool_sample){ 0 };
    reader->usual = thread->weights.count ? thread->weights_from : UINT64_MAX;
    reader->width = take_width(reader);
}

/* Reads samples while the thread stands at the same frame without a gap, and extends the marker. Returns the number of
 * samples. */
static uint64_t stay(struct gecko_marker_reader *reader, struct gecko_marker *marker)
{
    uint64_t count = 0, last, width;
    do {
        last = reader->sample.time;
        width = reader->width;
        marker->end = last + width;
        count++;
        reader->over = !spool_next(&reader->samples, &reader->sample);
        reader->width = take_width(reader);
        width = reader->width > width ? reader->width : width;
    } while (!reader->over && leaf_frame(reader->gecko, reader->sample.stack) == marker->subject &&
             reader->sample.time - last <= 2 * width);
    if (!reader->over && reader->sample.time < marker->end)
        marker->end = reader->sample.time;
    return count;
}

/* Gives the next marker. An instruction with only one sample gets no marker: the sample's stack shows it, and there
 * would be nearly as many markers as samples. */
static bool next(struct gecko_marker_reader *reader, struct gecko_marker *marker)
{
    const struct gecko *gecko = reader->gecko;
    while (!reader->over) {
        *marker = (struct gecko_marker){ .start = reader->sample.time,
                                         .stack = reader->sample.stack,
                                         .subject = leaf_frame(gecko, reader->sample.stack) };
        if (stay(reader, marker) > 1 && marker->subject && gecko->tables->frames[marker->subject].instruction)
            return true;
    }
    return false;
}

static struct text name(const struct gecko_marker *marker)
{
    (void)marker;
    return TEXT("Opcode");
}

static void emit_data(struct gecko *gecko, const struct gecko_marker *marker)
{
    const struct frame *frame = &gecko->tables->frames[marker->subject];
    gecko_markers_emit_type(gecko, "Opcode", frame->base && frame->base != frame->instruction ? "teal" : "ink");
    emit_integer(&gecko->json, "opcode", frame->instruction);
    emit_integer(&gecko->json, "base", frame->base ? frame->base : frame->instruction);
    gecko_markers_emit_beginning(gecko, marker);
}

static void add_schemas(const struct gecko *gecko, json_t *schemas)
{
    if (gecko->opcodes.numbers.count == 0)
        return;
    json_t *fields = json_array();
    gecko_markers_add_field(fields, "opcode", "Instruction", "unique-string");
    gecko_markers_add_field(fields, "base", "Specialised from", "unique-string");
    gecko_markers_add_beginning_field(fields);
    json_array_append_new(schemas,
                          gecko_markers_schema("Opcode", "Two samples or more found the thread at this instruction.",
                                               false, "opcode", fields));
}

const struct gecko_marker_kind gecko_opcode_markers = { begin, next, name, emit_data, add_schemas };
