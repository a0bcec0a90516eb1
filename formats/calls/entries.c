/* SPDX-License-Identifier: MIT */
#include "formats/calls/entries.h"

#include "formats/base/alloc.h"
#include "formats/base/output.h"
#include "formats/frames/task_frame.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

static void entries_put(struct bytes *to, struct text text)
{
    put_bytes(to, text.bytes, text.size);
}

static void put_line(struct bytes *to, uint32_t line)
{
    to->size += output_put_digits(bytes_reserve(to, DIGITS_MOST), line);
}

static struct text key_text(const struct entries *entries)
{
    return (struct text){ (const char *)entries->key.at, entries->key.size };
}

/* ---- codes ---- */

/* The number of the code that has the name, the file and the line of `code`; without a file, the kind. */
static uint32_t code_number(struct entries *entries, const struct shown_code *code)
{
    struct bytes *key = &entries->key;
    bool added;
    key->size = 0;
    put_text(key, code->name);
    put_text(key, code->file);
    put_number(key, code->line);
    put_number(key, code->file.size ? 0 : code->kind);
    const uint32_t number = intern_number(&entries->codes_by_key, (const char *)key->at, key->size, &added);
    if (!added)
        return number;
    entries->codes = alloc_grow(entries->codes, &entries->codes_room, (size_t)number + 1, sizeof(*entries->codes));
    entries->codes[number] = *code;
    entries->codes_count = (size_t)number + 1;
    return number;
}

static struct text module_name(struct entries *entries, struct text path)
{
    entries->key.size = 0;
    paths_put_module(&entries->key, &entries->paths, path);
    return intern_text(&entries->names, key_text(entries));
}

static struct text or_unknown(struct text name)
{
    return name.size ? name : TEXT("<unknown>");
}

/* The path of a function whose file or module is shown. */
static struct text path_of_whole(const struct entries *entries, uint32_t function)
{
    const struct text path = tables_python_file(entries->tables, function), *one = entries->style.one;
    return one && text_equal(path, one[1]) ? one[0] : path;
}

/* The file of a function of Python, as shown. */
static struct text shown_file(struct entries *entries, uint32_t function)
{
    const struct text path = path_of_whole(entries, function);
    return intern_text(&entries->names, entries->style.full_paths ? path : paths_shorten(&entries->paths, path));
}

/* The code of a function of the tables. What has no place, such as <GC>, is its own file and module. */
static uint32_t code_of_function(struct entries *entries, uint32_t function)
{
    const struct tables *tables = entries->tables;
    const struct function *row = &tables->functions[function];
    const struct text name = tables_function_name(tables, function), path = tables_function_file(tables, function);
    const struct text found = paths_place(&entries->paths, tables, function, entries->style.full_paths, &entries->key);
    const struct text place = intern_text(&entries->names, found), module = tables_string(tables, row->module);
    struct shown_code code = { .path = path, .kind = code_kind_of(tables, function) };
    if (place.size == 0) {
        const bool merged = row->kind == KIND_TASK && !entries->style.ids;
        code.name = or_unknown(merged ? task_frame_merged(name) : name);
        return code_number(entries, &code);
    }
    switch (entries->style.kind) {
    case ENTRY_FUNCTION:
    case ENTRY_LINE:
        code.name = or_unknown(name);
        code.file = place;
        code.line = row->first_line;
        break;
    case ENTRY_FILE:
        code.name = row->module ? place : shown_file(entries, function);
        break;
    case ENTRY_MODULE:
        code.name = row->module ? paths_last_part(module)
                                : or_unknown(module_name(entries, path_of_whole(entries, function)));
        break;
    }
    return code_number(entries, &code);
}

/* ---- entries ---- */

/* Puts the text of a frame: work (app.py:12), <GC>, app.py. */
static void put_shown(struct bytes *to, const struct shown_code *code, uint32_t line)
{
    entries_put(to, code->name);
    if (code->file.size == 0)
        return;
    entries_put(to, TEXT(" ("));
    entries_put(to, code->file);
    if (line) {
        entries_put(to, TEXT(":"));
        put_line(to, line);
    }
    entries_put(to, TEXT(")"));
}

/* The entry of a line of a code. What the filter looks at ends with the first 0; behind it the key tells apart what
 * looks the same. */
static uint32_t entry_number(struct entries *entries, uint32_t code, uint32_t line)
{
    struct bytes *key = &entries->key;
    bool added;
    key->size = 0;
    put_shown(key, &entries->codes[code], line);
    put_bytes(key, "", 1);
    put_number(key, code);
    const uint32_t number = intern_number(&entries->texts, (const char *)key->at, key->size, &added);
    if (!added)
        return number;
    entries->rows = alloc_grow(entries->rows, &entries->room, (size_t)number + 1, sizeof(*entries->rows));
    entries->rows[number] = (struct entry){ code, line };
    entries->count = (size_t)number + 1;
    return number;
}

static uint32_t label_entry(struct entries *entries, struct text name, enum code_kind kind)
{
    const struct shown_code code = { .name = name, .kind = kind };
    return entry_number(entries, code_number(entries, &code), 0);
}

static uint32_t opcode_entry(struct entries *entries, const struct frame *frame)
{
    struct bytes *key = &entries->key;
    if (!entries->style.opcodes || !frame->instruction)
        return 0;
    key->size = 0;
    entries_put(key, TEXT("["));
    entries_put(key, tables_string(entries->tables, frame->instruction));
    entries_put(key, TEXT("]"));
    return label_entry(entries, intern_text(&entries->names, key_text(entries)), CODE_OTHER);
}

static uint32_t code_of_frame(struct entries *entries, const struct frame *frame)
{
    entries->by_function = alloc_grow(entries->by_function, &entries->by_function_room, (size_t)frame->function + 1,
                                      sizeof(*entries->by_function));
    if (!entries->by_function[frame->function])
        entries->by_function[frame->function] = code_of_function(entries, frame->function);
    return entries->by_function[frame->function];
}

void entries_grow(struct entries *entries)
{
    const struct tables *tables = entries->tables;
    const bool lines = entries->style.kind == ENTRY_LINE;
    entries->labels = alloc_grow(entries->labels, &entries->labels_room, tables->frames_count + 1,
                                 sizeof(*entries->labels));
    entries->opcodes = alloc_grow(entries->opcodes, &entries->opcodes_room, tables->frames_count + 1,
                                  sizeof(*entries->opcodes));
    if (!entries->labels[0])
        entries->labels[0] = label_entry(entries, TEXT(NO_PYTHON_FRAMES), CODE_OTHER);
    for (; entries->frames_count < tables->frames_count; entries->frames_count++) {
        const struct frame *frame = &tables->frames[entries->frames_count];
        if (!frame->number)
            continue;
        const uint32_t code = code_of_frame(entries, frame);
        entries->labels[entries->frames_count] = entry_number(entries, code, lines ? frame->line : 0);
        entries->opcodes[entries->frames_count] = opcode_entry(entries, frame);
    }
}

/* The filter adds the texts of folded frames: <stdlib>. */
static void add_folds(struct entries *entries)
{
    for (uint32_t number = (uint32_t)entries->count; number <= entries->texts.count; number++) {
        const struct text name = entries->texts.texts[number];
        struct shown_code code = { .name = name, .kind = frame_filter_kind_of(name) };
        entries->rows = alloc_grow(entries->rows, &entries->room, (size_t)number + 1, sizeof(*entries->rows));
        entries->rows[number] = (struct entry){ code_number(entries, &code), 0 };
        entries->count = (size_t)number + 1;
    }
}

static void entries_filter_frames(struct entries *entries)
{
    if (entries->style.filter)
        entries->left_out = frame_filter_apply(entries->style.filter, entries->tables, &entries->texts,
                                               entries->labels);
    add_folds(entries);
}

void entries_find(struct entries *entries, const struct tables *tables, const struct entries_style *style)
{
    *entries = (struct entries){ .tables = tables, .style = *style };
    paths_find(&entries->paths, tables);
    entries_grow(entries);
    entries_filter_frames(entries);
    entries->hidden = label_entry(entries, TEXT(HIDDEN_FRAMES), CODE_OTHER);
    if (style->max_depth)
        entries->truncated = label_entry(entries, TEXT("<truncated>"), CODE_OTHER);
    if (!style->waits)
        return;
    entries->waits[WAITS_IDLE] = label_entry(entries, TEXT(IDLE_FRAME), CODE_IDLE);
    entries->waits[WAITS_FOR_NATIVE] = label_entry(entries, TEXT(NATIVE_FRAME), CODE_WAITING);
    entries->waits[WAITS_FOR_LOCK] = label_entry(entries, TEXT(WAITING_FRAME), CODE_WAITING);
}

/* The instruction of a stack's leaf. A leaf that is dropped or folded shows none. */
static uint32_t entries_opcode_of(const struct entries *entries, uint32_t stack)
{
    const uint32_t frame = stack ? entries->tables->stacks[stack].frame : 0;
    const uint32_t label = entries->labels[frame];
    return label != OUTLINE_DROPPED && !(label & OUTLINE_FOLDS) ? entries->opcodes[frame] : 0;
}

uint32_t entries_place(const struct entries *entries, struct outline *outline, uint32_t root, uint32_t stack,
                       enum waiting wait)
{
    const uint32_t waits = entries->waits[wait], opcode = waits ? 0 : entries_opcode_of(entries, stack);
    uint32_t node = outline_node(outline, entries->tables, entries->labels, root, stack);
    if (node == root)
        node = outline_child(outline, root, entries->hidden);
    if (waits || opcode)
        node = outline_child(outline, node, waits ? waits : opcode);
    return entries->truncated ? outline_shorten(outline, root, node, entries->style.max_depth, entries->truncated)
                              : node;
}

void entries_free(struct entries *entries)
{
    free(entries->codes);
    free(entries->rows);
    free(entries->labels);
    free(entries->opcodes);
    free(entries->by_function);
    free(entries->left_out);
    intern_free(&entries->codes_by_key);
    intern_free(&entries->texts);
    intern_free(&entries->names);
    paths_free(&entries->paths);
    bytes_free(&entries->key);
    *entries = (struct entries){ 0 };
}
