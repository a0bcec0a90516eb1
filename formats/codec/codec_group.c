/* SPDX-License-Identifier: MIT */
#include "formats/codec/codec_group.h"

#include "formats/base/alloc.h"
#include "formats/codec/codec_columns.h"

/* A walk over the records of a payload (schemas/stream.md, "Records"). Each number goes into its column. Each record
 * takes at least a byte of the payload, so a walk ends. */
struct codec_group_walk {
    bool bad;
    struct cursor payload; /* the rest of it; in a note, the rest of the note */
    struct grouping *grouping;
    size_t most;                                  /* limit of a column in bytes; a larger column is an error */
    uint64_t last[GROUP_NOTES][GROUP_FIELDS];     /* fields of the last note of each kind */
    uint64_t last_of[GROUP_NOTES][GROUP_THREADS]; /* fields coded as DIFFERENCE_OF */
};

void codec_group_free(struct grouping *grouping)
{
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        bytes_free(&grouping->columns[i]);
    call_mtf_free(&grouping->call_mtf);
}

/* Takes a number from the payload. Bad if the number is coded in more bytes than necessary: ungrouping would give fewer
 * bytes. */
static uint64_t walk_take(struct codec_group_walk *w)
{
    /* Most numbers take one byte. */
    if (w->payload.at < w->payload.end && *w->payload.at < 0x80)
        return *w->payload.at++;
    const unsigned char *before = w->payload.at;
    const uint64_t value = take_number(&w->payload);
    w->bad |= w->payload.bad || (size_t)(w->payload.at - before) != number_size(value);
    return value;
}

static void walk_put(struct codec_group_walk *w, enum column column, uint64_t value)
{
    struct bytes *const to = &w->grouping->columns[column];
    if (value < 0x80 && to->size < to->room)
        to->at[to->size++] = (unsigned char)value;
    else
        put_number(to, value);
    w->bad |= to->size > w->most;
}

/* Moves a number to a column unchanged. */
static uint64_t walk_move(struct codec_group_walk *w, enum column column)
{
    const uint64_t value = walk_take(w);
    walk_put(w, column, value);
    return value;
}

/* Moves a number, at most `most`, to a column as `most` - number. */
static uint64_t move_lack(struct codec_group_walk *w, enum column column, uint64_t most)
{
    const uint64_t value = walk_take(w);
    if (value > most) {
        w->bad = true;
        return most;
    }
    walk_put(w, column, most - value);
    return value;
}

/* Moves a frame to its column, coded relative to its caller. Returns the frame. A 0, which begins a repetition, stays
 * 0. */
static uint64_t move_frame(struct codec_group_walk *w)
{
    const uint64_t frame = walk_take(w);
    w->bad |= frame > UINT32_MAX;
    walk_put(w, COLUMN_FRAME, frame && !w->bad ? call_mtf_encode(&w->grouping->call_mtf, (uint32_t)frame) : 0);
    return frame;
}

static void move_frames(struct codec_group_walk *w)
{
    const uint64_t count = walk_move(w, COLUMN_COUNT);
    for (uint64_t i = 0; i < count && !w->bad;) {
        if (move_frame(w) != 0) {
            i++;
            continue;
        }
        const uint64_t distance = walk_move(w, COLUMN_DISTANCE);
        const uint64_t length = move_lack(w, COLUMN_LEFT, count - i);
        w->bad |= !call_mtf_repeat(&w->grouping->call_mtf, distance, length);
        i += length;
    }
}

static void move_stack(struct codec_group_walk *w, uint64_t tag)
{
    struct call_mtf *const call_mtf = &w->grouping->call_mtf;
    if ((tag & 7) == RECORD_SUFFIX)
        call_mtf_keep(call_mtf, tag >> 3, walk_move(w, COLUMN_KEEP));
    else
        call_mtf_pop(call_mtf, tag >> 3, walk_move(w, COLUMN_POP));
    move_frames(w);
}

/* Moves the fields of a note that have columns. */
static void move_fields(struct codec_group_walk *w, uint64_t note)
{
    const struct note_columns *const columns = &note_columns[note];
    uint64_t first = 0;
    for (unsigned i = 0; i < columns->fields && !w->bad; i++) {
        const bool of = columns->field[i].coding == DIFFERENCE_OF;
        uint64_t *const last = of ? &w->last_of[note][first % GROUP_THREADS] : &w->last[note][i];
        const uint64_t value = walk_take(w);
        walk_put(w, columns->field[i].column,
                 columns->field[i].coding == AS_IT_IS ? value : signed_to_number((int64_t)(value - *last)));
        *last = value;
        if (i == 0)
            first = value;
    }
}

/* Moves a note behind its tag: its size, the fields that have columns, and the bytes behind them. */
static void move_note(struct codec_group_walk *w, uint64_t note)
{
    const unsigned char *const end = w->payload.end;
    const uint64_t size = walk_take(w);
    w->bad |= size > cursor_left(&w->payload);
    if (w->bad)
        return;
    w->payload.end = w->payload.at + size;
    if (note < GROUP_NOTES)
        move_fields(w, note);
    const uint64_t behind = cursor_left(&w->payload);
    walk_put(w, COLUMN_BEHIND, behind);
    const struct cursor part = take_part(&w->payload, behind);
    put_bytes(&w->grouping->columns[COLUMN_BYTES], part.at, cursor_left(&part));
    w->payload.end = end;
}

/* The kind of a record goes to the column SHAPE; the argument goes to the column of its kind, but the argument of a
 * note stays a part of the shape. */
static void move_record(struct codec_group_walk *w)
{
    const uint64_t tag = walk_take(w);
    const unsigned kind = tag & 7;
    w->bad |= kind == 0;
    if (w->bad)
        return;
    walk_put(w, COLUMN_SHAPE, kind == RECORD_NOTE ? tag : kind);
    if (kind == RECORD_NOTE) {
        move_note(w, tag >> 3);
        return;
    }
    walk_put(w, argument_columns[kind], tag >> 3);
    if (kind == RECORD_SUFFIX || kind == RECORD_POP_PUSH)
        move_stack(w, tag);
    else if (kind == RECORD_FAILED)
        walk_move(w, COLUMN_CAUSE);
}

bool codec_group_payload(struct grouping *grouping, const struct bytes *payload, struct bytes *to)
{
    struct codec_group_walk w = { .payload = cursor_of(payload->at, payload->size),
                                  .grouping = grouping,
                                  .most = GROUP_MOST(payload->size) };
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        grouping->columns[i].size = 0;
    call_mtf_begin(&grouping->call_mtf);
    const uint64_t base = walk_take(&w);
    while (!w.bad && cursor_left(&w.payload) > 0)
        move_record(&w);
    if (w.bad)
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
