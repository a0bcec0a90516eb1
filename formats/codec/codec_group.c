/* SPDX-License-Identifier: MIT */
#include "formats/codec/codec_group.h"

#include "formats/base/alloc.h"
#include "formats/codec/codec_records.h"

/* A walk through the records of a payload. Each number goes into its column. */
struct walk {
    struct records records;
    struct grouping *grouping;
    size_t most; /* limit of a column in bytes; a larger column is an error */
};

void codec_group_free(struct grouping *grouping)
{
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        bytes_free(&grouping->columns[i]);
    call_mtf_free(&grouping->call_mtf);
}

static uint64_t take(struct walk *w)
{
    return records_take(&w->records, false);
}

static void put(struct walk *w, enum column column, uint64_t value)
{
    struct bytes *const to = &w->grouping->columns[column];
    if (value < 0x80 && to->size < to->room)
        to->at[to->size++] = (unsigned char)value;
    else
        put_number(to, value);
    w->records.bad |= to->size > w->most;
}

/* Moves a number to a column unchanged. */
static uint64_t move(struct walk *w, enum column column)
{
    const uint64_t value = take(w);
    put(w, column, value);
    return value;
}

/* Moves a number, at most `most`, to a column as `most` - number. */
static uint64_t move_lack(struct walk *w, enum column column, uint64_t most)
{
    const uint64_t value = take(w);
    if (value > most) {
        w->records.bad = true;
        return most;
    }
    put(w, column, most - value);
    return value;
}

/* Moves a frame to its column, coded relative to its caller. Returns the frame. A 0, which begins a repetition, stays
 * 0. */
static uint64_t move_frame(struct walk *w)
{
    const uint64_t frame = take(w);
    w->records.bad |= frame > UINT32_MAX;
    put(w, COLUMN_FRAME, frame && !w->records.bad ? call_mtf_encode(&w->grouping->call_mtf, (uint32_t)frame) : 0);
    return frame;
}

static void move_frames(struct walk *w)
{
    const uint64_t count = move(w, COLUMN_COUNT);
    for (uint64_t i = 0; i < count && !w->records.bad;) {
        if (move_frame(w) != 0) {
            i++;
            continue;
        }
        const uint64_t distance = move(w, COLUMN_DISTANCE);
        const uint64_t length = move_lack(w, COLUMN_LEFT, count - i);
        w->records.bad |= !call_mtf_repeat(&w->grouping->call_mtf, distance, length);
        i += length;
    }
}

static void move_stack(struct records *records, uint64_t tag)
{
    struct walk *const w = (struct walk *)records;
    struct call_mtf *const call_mtf = &w->grouping->call_mtf;
    if ((tag & 7) == RECORD_SUFFIX)
        call_mtf_keep(call_mtf, tag >> 3, move(w, COLUMN_KEEP));
    else
        call_mtf_pop(call_mtf, tag >> 3, move(w, COLUMN_POP));
    move_frames(w);
}

static uint64_t put_cause(struct records *records, uint64_t cause)
{
    put((struct walk *)records, COLUMN_CAUSE, cause);
    return cause;
}

static uint64_t put_field(struct records *records, uint64_t note, unsigned field, uint64_t coded)
{
    put((struct walk *)records, note_columns[note].field[field].column, coded);
    return coded;
}

static void move_behind(struct records *records, uint64_t note)
{
    (void)note;
    struct walk *const w = (struct walk *)records;
    const uint64_t behind = cursor_left(&records->payload);
    put(w, COLUMN_BEHIND, behind);
    const struct cursor part = take_part(&records->payload, behind);
    put_bytes(&w->grouping->columns[COLUMN_BYTES], part.at, cursor_left(&part));
}

/* Puts a record's tag. The kind goes to the column SHAPE; the argument goes to the column of its kind, but the argument
 * of a note stays a part of the shape. */
static uint64_t put_tag(struct records *records, uint64_t tag)
{
    struct walk *const w = (struct walk *)records;
    const unsigned kind = tag & 7;
    if (kind == RECORD_NOTE) {
        put(w, COLUMN_SHAPE, tag);
    } else {
        put(w, COLUMN_SHAPE, kind);
        put(w, argument_columns[kind], tag >> 3);
    }
    return tag;
}

static const struct record_codec group_codec = {
    .tag = put_tag, .stack = move_stack, .cause = put_cause, .field = put_field, .behind = move_behind
};

bool codec_group_payload(struct grouping *grouping, const struct bytes *payload, struct bytes *to)
{
    struct walk w = { .records = { .payload = cursor_of(payload->at, payload->size) },
                      .grouping = grouping,
                      .most = GROUP_MOST(payload->size) };
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        grouping->columns[i].size = 0;
    call_mtf_begin(&grouping->call_mtf);
    const uint64_t base = take(&w);
    while (!w.records.bad && cursor_left(&w.records.payload) > 0)
        records_code(&w.records, &group_codec, false);
    if (w.records.bad)
        return false;

    const size_t before = to->size;
    put_number(to, base);
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        put_number(to, grouping->columns[i].size);
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        put_bytes(to, grouping->columns[i].at, grouping->columns[i].size);
    if (to->size - before <= GROUP_MOST(payload->size))
        return true;
    to->size = before;
    return false;
}
