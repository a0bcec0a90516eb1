/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* ---- leaves ---- */

static const struct frame *leaf_of(const struct gecko *gecko, uint32_t stack)
{
    return &gecko->tables->frames[gecko->tables->stacks[stack].frame];
}

bool gecko_opcodes_has_frame(const struct gecko *gecko, uint32_t stack)
{
    return gecko->style.opcodes == GECKO_OPCODES_FRAMES && stack && leaf_of(gecko, stack)->instruction;
}

/* The instruction that a specialised one stands for, or the instruction itself. */
static uint32_t base_of(const struct frame *frame)
{
    return frame->base ? frame->base : frame->instruction;
}

/* Adds a label. The base is the subcategory, so the viewer can group instructions by the one that they specialise. */
static size_t gecko_opcodes_add_label(struct gecko *gecko, uint32_t instruction, uint32_t base)
{
    struct bytes name = { 0 };
    const struct text text = tables_string(gecko->tables, instruction);
    put_bytes(&name, "[", 1);
    put_bytes(&name, text.bytes, text.size);
    put_bytes(&name, "]", 1);
    const size_t string = gecko_tables_string(gecko, (struct text){ (const char *)name.at, name.size });
    bytes_free(&name);
    const struct text base_name = tables_string(gecko->tables, base);
    const struct gecko_label label = { .name = string,
                                       .category = CATEGORY_INSTRUCTION,
                                       .subcategory = gecko_categories_subcategory(gecko, CATEGORY_INSTRUCTION,
                                                                                   base_name) };
    return gecko_leaves_add_label(gecko, label);
}

static void add_opcode(struct gecko *gecko, const struct frame *frame)
{
    struct gecko_opcodes *opcodes = &gecko->opcodes;
    bool added;
    const uint32_t base = base_of(frame);
    const uint32_t number = intern_pairs_number(&opcodes->numbers, frame->instruction, base, &added);
    if (!added)
        return;
    opcodes->rows = alloc_grow(opcodes->rows, &opcodes->rows_room, number, sizeof(*opcodes->rows));
    opcodes->rows[number - 1] = (struct gecko_opcode){ .instruction = frame->instruction,
                                                       .base = base,
                                                       .label = gecko_opcodes_add_label(gecko, frame->instruction,
                                                                                        base) };
}

/* Makes the instruction of each frame a subcategory of its function's category. */
static void divide_categories(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    struct gecko_opcodes *opcodes = &gecko->opcodes;
    opcodes->subcategories = alloc_zeroed(tables->frames_count, sizeof(*opcodes->subcategories));
    for (size_t row = 0; row < gecko->rows.frames.count; row++) {
        const uint32_t i = gecko->rows.frames.number[row];
        const struct frame *frame = &tables->frames[i];
        if (!frame->instruction)
            continue;
        const enum gecko_category category = gecko_categories_of(gecko, frame->function);
        const struct text name = tables_string(tables, frame->instruction);
        opcodes->subcategories[i] = (uint8_t)gecko_categories_subcategory(gecko, category, name);
    }
}

void gecko_opcodes_settle(struct gecko *gecko)
{
    const struct gecko_leaves *leaves = &gecko->leaves;
    if (gecko->style.opcodes == GECKO_OPCODES_SUBCATEGORIES)
        divide_categories(gecko);
    for (size_t stack = 0; stack < leaves->kinds_room; stack++)
        if (leaves->kinds[stack] & 1u << LEAF_INSTRUCTION)
            add_opcode(gecko, leaf_of(gecko, (uint32_t)stack));
}

uint32_t gecko_opcodes_subcategory(const struct gecko *gecko, uint32_t frame)
{
    const uint8_t *subcategories = gecko->opcodes.subcategories;
    return subcategories ? subcategories[frame] : 0;
}

size_t gecko_opcodes_label(const struct gecko *gecko, uint32_t stack)
{
    const struct frame *frame = leaf_of(gecko, stack);
    const uint32_t number = intern_pairs_find(&gecko->opcodes.numbers, frame->instruction, base_of(frame));
    return gecko->opcodes.rows[number - 1].label;
}

void gecko_opcodes_free(struct gecko_opcodes *opcodes)
{
    intern_pairs_free(&opcodes->numbers);
    free(opcodes->rows);
    free(opcodes->subcategories);
}

/* ---- markers ---- */

static uint32_t leaf_frame(const struct gecko *gecko, uint32_t code)
{
    const uint32_t stack = gecko_leaves_stack(code);
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

static void gecko_opcodes_begin(struct gecko_marker_reader *reader)
{
    const struct gecko_thread *thread = reader->thread;
    reader->over = !reader->gecko->style.opcodes || thread->shared || thread->samples.count == 0;
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
static bool gecko_opcodes_next(struct gecko_marker_reader *reader, struct gecko_marker *marker)
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

static struct text gecko_opcodes_name(const struct gecko_marker *marker)
{
    (void)marker;
    return TEXT("Opcode");
}

static void gecko_opcodes_emit_data(struct gecko *gecko, const struct gecko_marker *marker)
{
    const struct frame *frame = &gecko->tables->frames[marker->subject];
    gecko_markers_emit_type(gecko, "Opcode", frame->base && frame->base != frame->instruction ? "teal" : "ink");
    emit_integer(&gecko->json, "opcode", frame->instruction);
    emit_integer(&gecko->json, "base", frame->base ? frame->base : frame->instruction);
    gecko_markers_emit_beginning(gecko, marker);
}

static void gecko_opcodes_add_schemas(const struct gecko *gecko, json_t *schemas)
{
    if (!gecko->style.opcodes || !tables_have_instructions(gecko->tables))
        return;
    json_t *fields = json_array();
    gecko_markers_add_field(fields, "opcode", "Instruction", "unique-string");
    gecko_markers_add_field(fields, "base", "Specialised from", "unique-string");
    gecko_markers_add_beginning_field(fields);
    json_array_append_new(
        schemas,
        gecko_markers_schema("Opcode", "Two samples or more found the thread at this instruction.", "opcode", fields));
}

const struct gecko_marker_kind gecko_opcode_markers = { gecko_opcodes_begin, gecko_opcodes_next, gecko_opcodes_name,
                                                        gecko_opcodes_emit_data, gecko_opcodes_add_schemas };
