/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon_tables.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/cpython/opcodes.h"
#include "formats/intern/name.h"
#include "formats/tachyon/tachyon_input.h"

#include <stdlib.h>
#include <string.h>

#define STRINGS_LIMIT (1u << 22)
#define FRAMES_LIMIT  (1u << 24)
#define FRAME_MOST    64 /* bytes of a frame, at most: six numbers and a byte */
#define LAUNCHER      "_sync_coordinator.py"
#define PYTHON_MAJOR  3

enum file_kind { A_FILE, NO_FILE, LAUNCHER_FILE };

/* The state while the tables are read. */
struct tachyon_tables_reading {
    struct tachyon_tables *tables;
    struct tachyon_input feed;
    const struct opcode_name *opcodes; /* NULL: opcodes of an unknown version of Python */
    uint32_t strings;                  /* number of strings in the file */
    const struct sink *to;
    struct fault *why;
};

static bool tachyon_tables_damaged(struct tachyon_tables_reading *t, const char *what)
{
    if (t->feed.failure.text[0])
        return fault(t->why, "%s", t->feed.failure.text);
    return fault(t->why, "its %s are damaged", what);
}

/* ---- strings ---- */

static bool give_string(struct tachyon_tables_reading *t, const char *bytes, size_t size)
{
    char room[NAME_LIMIT];
    const struct text name = name_cut((struct text){ bytes, size }, room, sizeof(room));
    struct event event = { .kind = EVENT_STRING, .string = { ++t->tables->strings, name } };
    return sink_take(t->to, &event, t->why);
}

/* The kind of a frame that has no file: the format has no kinds, so its name says it. */
static enum frame_kind frame_kind_of(struct text name)
{
    if (text_equal(name, TEXT("<GC>")))
        return KIND_GC;
    if (text_equal(name, TEXT("<native>")))
        return KIND_NATIVE;
    return text_begins(name, TEXT("<task ")) && name.bytes[name.size - 1] == '>' ? KIND_TASK : KIND_HOLE;
}

static enum file_kind file_kind_of(const char *bytes, size_t size)
{
    if (size == strlen(TACHYON_NO_FILE) && memcmp(bytes, TACHYON_NO_FILE, size) == 0)
        return NO_FILE;
    return text_ends((struct text){ bytes, size }, TEXT(LAUNCHER)) ? LAUNCHER_FILE : A_FILE;
}

static bool read_string(struct tachyon_tables_reading *t)
{
    tachyon_input_has(&t->feed, 10);
    const uint64_t size = take_number(&t->feed.from);
    if (t->feed.from.bad || size > TACHYON_PIECE_MOST || !tachyon_input_has(&t->feed, (size_t)size))
        return tachyon_tables_damaged(t, "names");
    const struct cursor part = take_part(&t->feed.from, size);
    const char *bytes = (const char *)part.at;
    t->tables->file_kinds[t->tables->strings] = (unsigned char)file_kind_of(bytes, (size_t)size);
    t->tables->frame_kinds[t->tables->strings] = (unsigned char)frame_kind_of((struct text){ bytes, (size_t)size });
    if (utf8_valid(bytes, (size_t)size))
        return give_string(t, bytes, (size_t)size);
    const struct text clean = utf8_clean((struct text){ bytes, (size_t)size });
    const bool good = give_string(t, clean.bytes, clean.size);
    text_free(clean);
    return good;
}

/* ---- frames ---- */

/* The number of the string with an opcode's name; emits the string at first use. 0: the opcode has no name. */
static uint32_t instruction(struct tachyon_tables_reading *t, uint8_t opcode)
{
    uint32_t *number = &t->tables->instructions[opcode];
    const char *name = t->opcodes && opcode != TACHYON_NO_OPCODE ? t->opcodes[opcode].name : NULL;
    if (*number || !name)
        return *number;
    if (give_string(t, name, strlen(name)))
        *number = t->tables->strings;
    return *number;
}

static bool give_function(struct tachyon_tables_reading *t, uint32_t name, uint32_t file, uint32_t *number)
{
    bool added;
    *number = intern_pairs_number(&t->tables->functions, name, file, &added);
    struct event event = { .kind = EVENT_FUNCTION, .function = { .number = *number, .name = name, .file = file } };
    if (!file)
        event.function.kind = (enum frame_kind)t->tables->frame_kinds[name - 1];
    return !added || sink_take(t->to, &event, t->why);
}

/* A line or a column of an event: -1 and impossible values become `unknown`. */
static int64_t value_or(int64_t value, int64_t least, int64_t unknown)
{
    return value >= least && value <= INT32_MAX ? value : unknown;
}

static void set_position(struct frame *frame, int64_t line, int64_t end_line_step, int64_t column,
                         int64_t end_column_step)
{
    line = value_or(line, 1, 0);
    column = value_or(column, 0, -1);
    frame->line = (uint32_t)line;
    frame->end_line = line ? (uint32_t)value_or(line + end_line_step, line, line) : 0;
    frame->column = (int32_t)column;
    frame->end_column = column < 0 ? -1 : (int32_t)value_or(column + end_column_step, 0, -1);
}

static bool read_frame(struct tachyon_tables_reading *t)
{
    tachyon_input_has(&t->feed, FRAME_MOST);
    struct cursor *from = &t->feed.from;
    const uint32_t file = take_number32(from);
    const uint32_t name = take_number32(from);
    const int32_t line = (int32_t)take_signed(from);
    const int32_t end_line_step = (int32_t)take_signed(from);
    const int32_t column = (int32_t)take_signed(from);
    const int32_t end_column_step = (int32_t)take_signed(from);
    const struct cursor opcode = take_part(from, 1);
    if (from->bad || file >= t->strings || name >= t->strings)
        return tachyon_tables_damaged(t, "frames");

    const enum file_kind kind = t->tables->file_kinds[file];
    struct event event = { .kind = EVENT_FRAME, .frame = { .number = ++t->tables->frames } };
    struct frame *frame = &event.frame;
    set_position(frame, line, end_line_step, column, end_column_step);
    frame->instruction = instruction(t, *opcode.at);
    frame->base = frame->instruction ? instruction(t, t->opcodes[*opcode.at].base) : 0;
    t->tables->hidden[frame->number] = kind == LAUNCHER_FILE;
    return give_function(t, name + 1, kind == NO_FILE ? 0 : file + 1, &frame->function) &&
           sink_take(t->to, &event, t->why);
}

/* ---- both ---- */

static bool read_strings(struct tachyon_tables_reading *t)
{
    for (uint32_t i = 0; i < t->strings; i++)
        if (!read_string(t))
            return false;
    return true;
}

static bool read_frames(struct tachyon_tables_reading *t, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!read_frame(t))
            return false;
    return true;
}

/* Reads the bytes between the frames and the footer. */
static bool read_statistics(struct tachyon_tables_reading *t, struct tachyon_statistics *statistics, bool big)
{
    tachyon_input_has(&t->feed, TACHYON_PIECE_MOST);
    const size_t size = cursor_left(&t->feed.from);
    return tachyon_header_take_statistics(statistics, t->feed.from.at, size, big) ||
           tachyon_tables_damaged(t, "tables");
}

bool tachyon_tables_read(struct tachyon_tables *tables, int fd, const struct tachyon_header *header, uint64_t size,
                         struct tachyon_statistics *statistics, const struct sink *to, struct fault *why)
{
    /* Each string and each frame takes at least a byte. */
    if (header->strings > STRINGS_LIMIT || header->strings > header->frames_at - header->strings_at ||
        header->frames > FRAMES_LIMIT || header->frames > size - header->frames_at)
        return fault(why, "it is damaged: its footer states more names or frames than fit in the file");
    tables->file_kinds = alloc_zeroed(header->strings + 1, 1);
    tables->frame_kinds = alloc_zeroed(header->strings + 1, 1);
    tables->hidden = alloc_zeroed(header->frames + 1, sizeof(*tables->hidden));
    struct tachyon_tables_reading reading = { .tables = tables, .strings = header->strings, .to = to, .why = why };
    if (header->python[0] == PYTHON_MAJOR)
        reading.opcodes = opcodes_names_of(header->python[1]);

    tachyon_input_open(&reading.feed, fd, header->strings_at, header->frames_at, false);
    bool good = read_strings(&reading);
    tachyon_input_close(&reading.feed);
    tachyon_input_open(&reading.feed, fd, header->frames_at, size - TACHYON_FOOTER, false);
    good = good && read_frames(&reading, header->frames) && read_statistics(&reading, statistics, header->big);
    tachyon_input_close(&reading.feed);
    return good;
}

void tachyon_tables_free(struct tachyon_tables *tables)
{
    free(tables->file_kinds);
    free(tables->frame_kinds);
    free(tables->hidden);
    intern_pairs_free(&tables->functions);
    *tables = (struct tachyon_tables){ 0 };
}
