/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon_intern.h"

#include "formats/base/alloc.h"
#include "formats/cpython/opcodes.h"
#include "formats/tachyon/tachyon_write.h"

#include <stdlib.h>
#include <string.h>

#define NAMED_SYNTHETIC(synthetic) (UINT32_MAX - (uint32_t)(synthetic))

static const struct text synthetics[TACHYON_SYNTHETICS] = {
    [TACHYON_LEFT_OUT] = { TACHYON_LEFT_OUT_NAME, sizeof(TACHYON_LEFT_OUT_NAME) - 1 },
    [TACHYON_NO_FRAMES] = { NO_PYTHON_FRAMES, sizeof(NO_PYTHON_FRAMES) - 1 },
};

/* The index of a frame; a frame that is named for the first time gets the next index. */
static uint32_t index_of(struct tachyon_intern *names, uint32_t *index, uint32_t named)
{
    if (*index == 0) {
        names->named = alloc_grow(names->named, &names->named_room, (size_t)names->frames_count + 1,
                                  sizeof(*names->named));
        names->named[names->frames_count++] = named;
        *index = names->frames_count;
    }
    return *index - 1;
}

uint32_t tachyon_intern_frame(struct tachyon_intern *names, uint32_t frame)
{
    names->indexes = alloc_grow(names->indexes, &names->indexes_room, (size_t)frame + 1, sizeof(*names->indexes));
    return index_of(names, &names->indexes[frame], frame);
}

uint32_t tachyon_intern_synthetic(struct tachyon_intern *names, enum tachyon_synthetic synthetic)
{
    return index_of(names, &names->synthetics[synthetic], NAMED_SYNTHETIC(synthetic));
}

static uint32_t string_index(struct tachyon_intern *names, struct text text)
{
    bool added;
    const uint32_t number = intern_number(&names->texts, text.size ? text.bytes : "", text.size, &added);
    if (added) {
        put_text(&names->strings, text);
        names->strings_count = number;
    }
    return number - 1;
}

static uint8_t opcode_named(struct text name)
{
    const struct opcode_name *opcodes = opcodes_names_of(TACHYON_REPLAY_MINOR);
    for (unsigned i = 0; i < TACHYON_NO_OPCODE; i++)
        if (opcodes[i].name && strlen(opcodes[i].name) == name.size &&
            memcmp(opcodes[i].name, name.bytes, name.size) == 0)
            return (uint8_t)i;
    return TACHYON_NO_OPCODE;
}

/* The opcode of an instruction. `known` caches results, by string, as opcode + 1. */
static uint8_t tachyon_intern_opcode_of(struct tachyon_intern *names, const struct tables *tables, uint32_t instruction,
                                        uint16_t *known)
{
    if (instruction == 0)
        return TACHYON_NO_OPCODE;
    if (known[instruction] == 0)
        known[instruction] = (uint16_t)(opcode_named(tables_string(tables, instruction)) + 1);
    const uint8_t opcode = (uint8_t)(known[instruction] - 1);
    names->opcodes |= opcode != TACHYON_NO_OPCODE;
    return opcode;
}

/* Writes the position of a frame. Without a line the whole position is unknown. */
static void put_position(struct bytes *to, const struct frame *frame)
{
    const bool has_line = frame->line > 0 && frame->line <= INT32_MAX;
    const bool has_column = has_line && frame->column >= 0;
    const bool has_end_line = has_line && frame->end_line > frame->line && frame->end_line <= INT32_MAX;
    put_signed(to, has_line ? (int64_t)frame->line : TACHYON_NO_POSITION);
    put_signed(to, has_end_line ? (int64_t)frame->end_line - frame->line : 0);
    put_signed(to, has_column ? frame->column : TACHYON_NO_POSITION);
    put_signed(to, has_column && frame->end_column >= 0 ? (int64_t)frame->end_column - frame->column : 0);
}

static void tachyon_intern_put_frame(struct tachyon_intern *names, const struct tables *tables, uint32_t number,
                                     uint16_t *known)
{
    static const struct frame nowhere = { .column = -1, .end_column = -1 };
    const bool is_synthetic = number > NAMED_SYNTHETIC(TACHYON_SYNTHETICS);
    const struct frame *frame = is_synthetic ? &nowhere : &tables->frames[number];
    const struct text name = is_synthetic ? synthetics[UINT32_MAX - number]
                                          : tables_function_name(tables, frame->function);
    const bool is_python = !is_synthetic && tables_kind(tables, number) == KIND_PYTHON;
    const struct text file = is_python ? tables_function_file(tables, frame->function) : TEXT(TACHYON_NO_FILE);
    const uint8_t opcode = tachyon_intern_opcode_of(names, tables, frame->instruction, known);
    put_number(&names->frames, string_index(names, file));
    put_number(&names->frames, string_index(names, name));
    put_position(&names->frames, frame);
    put_bytes(&names->frames, &opcode, 1);
}

void tachyon_intern_finish(struct tachyon_intern *names, const struct tables *tables)
{
    uint16_t *known = alloc_zeroed(tables->strings_count + 1, sizeof(*known));
    for (uint32_t i = 0; i < names->frames_count; i++)
        tachyon_intern_put_frame(names, tables, names->named[i], known);
    free(known);
}

void tachyon_intern_version(const struct tachyon_intern *names, const struct tables *tables, uint8_t python[3])
{
    const uint32_t version = tables_first_process(tables)->python_version;
    const uint8_t recorded[] = { (uint8_t)(version >> 24), (uint8_t)(version >> 16), (uint8_t)(version >> 8) };
    static const uint8_t replay[] = { TACHYON_REPLAY_MAJOR, TACHYON_REPLAY_MINOR, 0 };
    const bool other = recorded[0] != TACHYON_REPLAY_MAJOR || recorded[1] != TACHYON_REPLAY_MINOR;
    memcpy(python, names->opcodes && other ? replay : recorded, 3);
}

void tachyon_intern_free(struct tachyon_intern *names)
{
    free(names->indexes);
    free(names->named);
    intern_free(&names->texts);
    bytes_free(&names->strings);
    bytes_free(&names->frames);
    *names = (struct tachyon_intern){ 0 };
}
