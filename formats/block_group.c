/* SPDX-License-Identifier: MIT */
#include "formats/block_group.h"

#include "formats/alloc.h"
#include "formats/stream.h"

#include <string.h>

/* In the order of the file: what compresses alike is close together. */
enum column {
    COLUMN_SHAPE,
    COLUMN_JITTER,
    COLUMN_REPEAT,
    COLUMN_THREAD,
    COLUMN_KEEP,
    COLUMN_POP,
    COLUMN_COUNT,
    COLUMN_FRAME,
    COLUMN_DISTANCE,
    COLUMN_LEFT,
    COLUMN_CAUSE,
    COLUMN_STATUS_THREAD,
    COLUMN_STATUS_BITS,
    COLUMN_STATUS_CPU,
    COLUMN_MISSED,
    COLUMN_BEHIND,
    COLUMN_NOTE,
    COLUMN_FRAME_FUNCTION,
    COLUMN_FRAME_LINE,
    COLUMN_FRAME_END_LINE,
    COLUMN_FRAME_COLUMN,
    COLUMN_FRAME_END_COLUMN,
    COLUMN_BYTES,
    COLUMNS,
};

_Static_assert((int)COLUMNS == GROUP_COLUMNS, "room for each");

/* How a field of a note stands in its column. */
enum told {
    AS_IT_IS,
    DIFFERENCE,    /* to the same field of the last note of this kind */
    DIFFERENCE_OF, /* to that of the last one whose first field had the same low bits */
};

/* Notes whose first fields are numbers that are better told apart from the rest. */
static const struct {
    unsigned char fields;
    struct {
        unsigned char column;
        unsigned char told;
    } field[GROUP_FIELDS];
} notes[] = {
    [NOTE_STRING] = { 1, { { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_FUNCTION] = { 4,
                        { { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, AS_IT_IS } } },
    [NOTE_FRAME] = { 6,
                     { { COLUMN_NOTE, DIFFERENCE },
                       { COLUMN_FRAME_FUNCTION, DIFFERENCE },
                       { COLUMN_FRAME_LINE, DIFFERENCE },
                       { COLUMN_FRAME_END_LINE, AS_IT_IS },
                       { COLUMN_FRAME_COLUMN, AS_IT_IS },
                       { COLUMN_FRAME_END_COLUMN, AS_IT_IS } } },
    [NOTE_THREAD] = { 6,
                      { { COLUMN_NOTE, DIFFERENCE },
                        { COLUMN_NOTE, AS_IT_IS },
                        { COLUMN_NOTE, DIFFERENCE },
                        { COLUMN_NOTE, AS_IT_IS },
                        { COLUMN_NOTE, AS_IT_IS },
                        { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_THREAD_END] = { 2, { { COLUMN_NOTE, DIFFERENCE }, { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_MISSED] = { 1, { { COLUMN_MISSED, AS_IT_IS } } },
    [NOTE_STATUS] = { 3,
                      { { COLUMN_STATUS_THREAD, AS_IT_IS },
                        { COLUMN_STATUS_BITS, AS_IT_IS },
                        { COLUMN_STATUS_CPU, DIFFERENCE_OF } } },
    [NOTE_LEFT_OUT] = { 4,
                        { { COLUMN_NOTE, AS_IT_IS },
                          { COLUMN_NOTE, AS_IT_IS },
                          { COLUMN_NOTE, DIFFERENCE },
                          { COLUMN_NOTE, DIFFERENCE_OF } } },
    [NOTE_TASK] = { 3, { { COLUMN_NOTE, DIFFERENCE }, { COLUMN_NOTE, AS_IT_IS }, { COLUMN_NOTE, DIFFERENCE } } },
    [NOTE_RUNS] = { 2, { { COLUMN_NOTE, AS_IT_IS }, { COLUMN_NOTE, AS_IT_IS } } },
};

/* A walk through the records of a payload. It is the same one for both ways: a number is taken from the payload and put
 * into its column, or the other way round. It ends, since each number takes a byte at least from where it comes. */
struct walk {
    struct grouping *grouping;
    bool joining;                         /* columns become a payload */
    struct cursor payload;                /* what is split ... */
    struct cursor columns[GROUP_COLUMNS]; /* ... or joined, ... */
    struct bytes *joined;                 /* ... and where to */
    size_t most;                          /* bytes of the payload, or of a column: more are of no use */
    bool bad;
    uint64_t last[countof(notes)][GROUP_FIELDS];
    uint64_t last_of[countof(notes)][GROUP_THREADS];
};

void grouping_free(struct grouping *grouping)
{
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        bytes_free(&grouping->columns[i]);
    bytes_free(&grouping->note);
    callees_free(&grouping->callees);
}

static size_t number_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

/* Most numbers are a byte. */
static bool byte_waits(const struct cursor *from)
{
    return from->at < from->end && *from->at < 0x80;
}

/* A number of the payload. One that takes more bytes than it needs would come back with fewer. */
static uint64_t take_from_payload(struct walk *w)
{
    if (byte_waits(&w->payload))
        return *w->payload.at++;
    const unsigned char *before = w->payload.at;
    const uint64_t value = take_number(&w->payload);
    if (w->payload.bad || (size_t)(w->payload.at - before) != number_size(value))
        w->bad = true;
    return value;
}

static uint64_t take_from_column(struct walk *w, enum column column)
{
    if (byte_waits(&w->columns[column]))
        return *w->columns[column].at++;
    const uint64_t value = take_number(&w->columns[column]);
    w->bad |= w->columns[column].bad;
    return value;
}

static void put(struct walk *w, enum column column, uint64_t value)
{
    struct bytes *const to = w->joining ? w->joined : &w->grouping->columns[column];
    if (value < 0x80 && to->size < to->room)
        to->at[to->size++] = (unsigned char)value;
    else
        put_number(to, value);
    w->bad |= to->size > w->most;
}

/* Moves a number as it is. */
static uint64_t move(struct walk *w, enum column column)
{
    const uint64_t value = w->joining ? take_from_column(w, column) : take_from_payload(w);
    put(w, column, value);
    return value;
}

/* Moves a number that stands in its column as the difference to `last`, small ones of either sign as small numbers. */
static uint64_t move_difference(struct walk *w, enum column column, uint64_t last)
{
    if (w->joining) {
        const uint64_t value = last + (uint64_t)number_to_signed(take_from_column(w, column));
        put(w, column, value);
        return value;
    }
    const uint64_t value = take_from_payload(w);
    put(w, column, signed_to_number((int64_t)(value - last)));
    return value;
}

/* Moves a number that is at most `most`, and stands in its column as what it lacks to that. */
static uint64_t move_lack(struct walk *w, enum column column, uint64_t most)
{
    const uint64_t found = w->joining ? take_from_column(w, column) : take_from_payload(w);
    if (found > most) {
        w->bad = true;
        return most;
    }
    put(w, column, most - found);
    return w->joining ? most - found : found;
}

/* Moves a frame, which stands in its column as what it is to its caller, or the 0 in place of one, and returns it. */
static uint64_t move_frame(struct walk *w)
{
    struct callees *const callees = &w->grouping->callees;
    const uint64_t found = w->joining ? take_from_column(w, COLUMN_FRAME) : take_from_payload(w);
    uint64_t put_there = 0;
    if (found && w->joining)
        put_there = callees_take(callees, found);
    else if (found && found <= UINT32_MAX)
        put_there = callees_tell(callees, (uint32_t)found);
    w->bad |= found && !put_there;
    put(w, COLUMN_FRAME, put_there);
    return w->joining ? put_there : found;
}

static void move_frames(struct walk *w)
{
    const uint64_t count = move(w, COLUMN_COUNT);
    for (uint64_t i = 0; i < count && !w->bad;) {
        if (move_frame(w) != 0) {
            i++;
            continue;
        }
        const uint64_t distance = move(w, COLUMN_DISTANCE);
        const uint64_t length = move_lack(w, COLUMN_LEFT, count - i);
        callees_repeat(&w->grouping->callees, distance, length);
        i += length;
    }
}

static void move_stack(struct walk *w, uint64_t tag)
{
    struct callees *const callees = &w->grouping->callees;
    if ((tag & 7) == RECORD_SUFFIX)
        callees_keep(callees, tag >> 3, move(w, COLUMN_KEEP));
    else
        callees_pop(callees, tag >> 3, move(w, COLUMN_POP));
    move_frames(w);
}

static void move_bytes(struct walk *w, uint64_t size)
{
    const struct cursor part = take_part(w->joining ? &w->columns[COLUMN_BYTES] : &w->payload, size);
    w->bad |= part.bad;
    put_bytes(w->joining ? w->joined : &w->grouping->columns[COLUMN_BYTES], part.at, cursor_left(&part));
}

static void move_fields(struct walk *w, uint64_t note)
{
    uint64_t first = 0;
    for (unsigned i = 0; i < notes[note].fields && !w->bad; i++) {
        const enum column column = notes[note].field[i].column;
        uint64_t *last = &w->last[note][i];
        if (notes[note].field[i].told == DIFFERENCE_OF)
            last = &w->last_of[note][first % GROUP_THREADS];
        *last = notes[note].field[i].told == AS_IT_IS ? move(w, column) : move_difference(w, column, *last);
        if (i == 0)
            first = *last;
    }
}

/* The size of a note stands before its fields in the payload, what is left behind those in the column. */
static void split_note(struct walk *w, uint64_t note)
{
    const unsigned char *const end = w->payload.end;
    const uint64_t size = take_from_payload(w);
    if (w->bad || size > cursor_left(&w->payload)) {
        w->bad = true;
        return;
    }
    w->payload.end = w->payload.at + size;
    if (note < countof(notes))
        move_fields(w, note);
    const uint64_t behind = cursor_left(&w->payload);
    put(w, COLUMN_BEHIND, behind);
    move_bytes(w, behind);
    w->payload.end = end;
}

static void join_note(struct walk *w, uint64_t note)
{
    struct bytes *const payload = w->joined;
    struct bytes *const fields = &w->grouping->note;
    fields->size = 0;
    w->joined = fields;
    if (note < countof(notes))
        move_fields(w, note);
    move_bytes(w, take_from_column(w, COLUMN_BEHIND));
    w->joined = payload;
    put_number(payload, fields->size);
    put_bytes(payload, fields->at, fields->size);
}

/* Moves a record's tag: its argument has a column for each kind, and a note's kind is a part of its shape. Returns the
 * whole tag. */
static uint64_t move_tag(struct walk *w)
{
    static const unsigned char arguments[] = {
        [RECORD_TICK] = COLUMN_JITTER,     [RECORD_REPEAT] = COLUMN_REPEAT, [RECORD_SUFFIX] = COLUMN_THREAD,
        [RECORD_POP_PUSH] = COLUMN_THREAD, [RECORD_ABSENT] = COLUMN_THREAD, [RECORD_FAILED] = COLUMN_THREAD,
    };
    uint64_t tag = w->joining ? take_from_column(w, COLUMN_SHAPE) : take_from_payload(w);
    const unsigned kind = tag & 7;
    if (kind == RECORD_NOTE) {
        put(w, COLUMN_SHAPE, tag);
    } else if (kind == 0 || (w->joining && tag > 7)) {
        w->bad = true;
    } else if (w->joining) {
        const uint64_t argument = take_from_column(w, arguments[kind]);
        w->bad |= argument > UINT64_MAX >> 3;
        tag |= argument << 3;
        put(w, COLUMN_SHAPE, tag);
    } else {
        put(w, COLUMN_SHAPE, kind);
        put(w, arguments[kind], tag >> 3);
    }
    return tag;
}

static void move_record(struct walk *w)
{
    const uint64_t tag = move_tag(w);
    if (w->bad)
        return;
    switch (tag & 7) {
    case RECORD_SUFFIX:
    case RECORD_POP_PUSH:
        move_stack(w, tag);
        break;
    case RECORD_FAILED:
        move(w, COLUMN_CAUSE);
        break;
    case RECORD_NOTE:
        (w->joining ? join_note : split_note)(w, tag >> 3);
        break;
    default:
        break;
    }
}

bool group_payload(struct grouping *grouping, const struct bytes *payload, struct bytes *to)
{
    struct walk w = { .grouping = grouping,
                      .payload = cursor_of(payload->at, payload->size),
                      .most = GROUP_MOST(payload->size) };
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        grouping->columns[i].size = 0;
    callees_begin(&grouping->callees);
    const uint64_t base = take_from_payload(&w);
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

bool ungroup_payload(struct grouping *grouping, const void *grouped, size_t grouped_size, size_t size, struct bytes *to)
{
    const size_t before = to->size;
    struct walk w = { .grouping = grouping, .joining = true, .joined = to, .most = before + size };
    struct cursor from = cursor_of(grouped, grouped_size);
    callees_begin(&grouping->callees);
    put_number(to, take_number(&from));
    uint64_t sizes[GROUP_COLUMNS];
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        sizes[i] = take_number(&from);
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        w.columns[i] = take_part(&from, sizes[i]);
    w.bad = from.bad;
    while (!w.bad && cursor_left(&w.columns[COLUMN_SHAPE]) > 0)
        move_record(&w);
    size_t left = cursor_left(&from);
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        left += cursor_left(&w.columns[i]);
    return !w.bad && left == 0 && to->size - before == size;
}
