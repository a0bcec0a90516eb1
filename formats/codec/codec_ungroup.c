/* SPDX-License-Identifier: MIT */
/* Joins the columns of a grouped payload. Each function undoes the function of the same subject in codec_group.c.
 * This code runs for each block that is read, so it does not check the room for each number: it checks the room once
 * per step, a few numbers. A step begins only before `end`, and behind `end` there is room for one step. */
#include "formats/codec/codec_ungroup.h"

#include "formats/codec/codec_columns.h"

#include <string.h>

/* Bytes of a step, at most: a tag, and a note's size and those of its fields that have columns. */
#define STEP_MOST 96

_Static_assert(CALL_MTF_REPEATS >= STREAM_FRAMES_LIMIT, "no block is refused that a reader of records would take");
_Static_assert(STEP_MOST >= (1 + GROUP_FIELDS) * NUMBER_MOST + 2 * NUMBER_MOST, "room for the longest");

struct join {
    struct call_mtf *call_mtf;
    struct cursor columns[GROUP_COLUMNS];
    const unsigned char *end; /* where a payload of the announced size ends */
    bool bad;
    uint64_t last[GROUP_NOTES][GROUP_FIELDS];
    uint64_t last_of[GROUP_NOTES][GROUP_THREADS];
};

/* Whether another step may begin at `to`. If not, the payload is longer than announced. */
static inline bool join_has_room(struct join *j, const unsigned char *to)
{
    j->bad |= to > j->end;
    return !j->bad;
}

static inline uint64_t join_take(struct join *j, enum column column)
{
    struct cursor *const from = &j->columns[column];
    if (from->at < from->end && *from->at < 0x80)
        return *from->at++;
    const uint64_t value = take_long_number(from);
    j->bad |= from->bad;
    return value;
}

/* Each function below writes at `to` and returns the address behind what it wrote. */

/* Writes a number without a branch on its length of one or two bytes. Faster where both lengths mix at random. */
static inline unsigned char *put_either(unsigned char *to, uint64_t value)
{
    if (value >= 1u << 14)
        return number_write(to, value);
    const bool two = value >= 0x80;
    to[0] = (unsigned char)(value | (unsigned)two << 7);
    to[1] = (unsigned char)(value >> 7);
    return to + 1 + two;
}

/* Joins a repetition: frames that are copies of the frames `distance` before them. At most `most` frames may follow;
 * *length is how many do. */
static unsigned char *join_repeat(struct join *j, unsigned char *to, uint64_t most, uint64_t *length)
{
    const uint64_t distance = join_take(j, COLUMN_DISTANCE);
    const uint64_t lack = join_take(j, COLUMN_LEFT);
    j->bad |= lack > most;
    if (j->bad)
        return to;
    *length = most - lack;
    j->bad |= !call_mtf_repeat(j->call_mtf, distance, *length);
    return number_write(number_write(number_write(to, 0), distance), *length);
}

/* Joins frames. Most numbers of a recording are frames, so the loop keeps its state in local variables. */
static unsigned char *join_frames(struct join *j, unsigned char *to, uint64_t count)
{
    struct call_mtf *const call_mtf = j->call_mtf;
    struct cursor from = j->columns[COLUMN_FRAME];
    uint32_t caller = call_mtf_top(call_mtf->stack);
    while (count > 0 && to <= j->end) {
        const uint64_t code = take_either_number(&from);
        if (code == 0) {
            uint64_t length = 0;
            to = join_repeat(j, to, count, &length);
            if (j->bad)
                break;
            count -= length;
            caller = call_mtf_top(call_mtf->stack);
            continue;
        }
        const uint32_t frame = call_mtf_decode(call_mtf, caller, code);
        if (frame == 0) {
            j->bad = true;
            break;
        }
        caller = call_mtf_push(call_mtf->stack, frame);
        to = put_either(to, frame);
        count--;
    }
    j->bad |= from.bad;
    j->columns[COLUMN_FRAME] = from;
    return to;
}

static unsigned char *join_stack(struct join *j, unsigned char *to, uint64_t tag)
{
    uint64_t kept_or_popped;
    if ((tag & 7) == RECORD_SUFFIX) {
        kept_or_popped = join_take(j, COLUMN_KEEP);
        call_mtf_keep(j->call_mtf, tag >> 3, kept_or_popped);
    } else {
        kept_or_popped = join_take(j, COLUMN_POP);
        call_mtf_pop(j->call_mtf, tag >> 3, kept_or_popped);
    }
    const uint64_t count = join_take(j, COLUMN_COUNT);
    return join_frames(j, number_write(number_write(to, kept_or_popped), count), count);
}

static unsigned char *join_fields(struct join *j, unsigned char *to, uint64_t note)
{
    const struct note_columns *const columns = &note_columns[note];
    uint64_t first = 0;
    for (unsigned i = 0; i < columns->fields; i++) {
        uint64_t value = join_take(j, columns->field[i].column);
        if (columns->field[i].coding != AS_IT_IS) {
            const bool of = columns->field[i].coding == DIFFERENCE_OF;
            uint64_t *const last = of ? &j->last_of[note][first % GROUP_THREADS] : &j->last[note][i];
            value = *last += (uint64_t)number_to_signed(value);
        }
        if (i == 0)
            first = value;
        to = number_write(to, value);
    }
    return to;
}

static unsigned char *join_bytes(struct join *j, unsigned char *to, uint64_t size)
{
    const struct cursor part = take_part(&j->columns[COLUMN_BYTES], size);
    if (part.bad || !join_has_room(j, to) || size > (size_t)(j->end - to)) {
        j->bad = true;
        return to;
    }
    memcpy(to, part.at, size);
    return to + size;
}

/* Joins a note. The size comes before the fields and mostly takes one byte, so one byte is reserved; a longer size
 * moves the fields. */
static unsigned char *join_note(struct join *j, unsigned char *to, uint64_t note)
{
    unsigned char *const fields = to + 1;
    unsigned char *end = note < GROUP_NOTES ? join_fields(j, fields, note) : fields;
    const uint64_t behind = join_take(j, COLUMN_BEHIND);
    if (behind > 0)
        end = join_bytes(j, end, behind);
    const size_t size = (size_t)(end - fields), longer = number_size(size) - 1;
    if (longer > 0)
        memmove(fields + longer, fields, size);
    number_write(to, size);
    return end + longer;
}

static unsigned char *join_record(struct join *j, unsigned char *to)
{
    uint64_t tag = join_take(j, COLUMN_SHAPE);
    const unsigned kind = tag & 7;
    if (kind == RECORD_NOTE)
        return join_note(j, number_write(to, tag), tag >> 3);
    if (kind == 0 || tag > 7) {
        j->bad = true;
        return to;
    }
    const uint64_t argument = join_take(j, argument_columns[kind]);
    j->bad |= argument > UINT64_MAX >> 3;
    tag |= argument << 3;
    to = number_write(to, tag);
    if (kind == RECORD_SUFFIX || kind == RECORD_POP_PUSH)
        return join_stack(j, to, tag);
    return kind == RECORD_FAILED ? number_write(to, join_take(j, COLUMN_CAUSE)) : to;
}

/* Finds the columns. Returns false when their sizes do not add up to the whole payload. */
static bool find_columns(struct join *j, struct cursor from)
{
    uint64_t sizes[GROUP_COLUMNS];
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        sizes[i] = take_number(&from);
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        j->columns[i] = take_part(&from, sizes[i]);
    return !from.bad && cursor_left(&from) == 0;
}

static bool all_taken(const struct join *j)
{
    for (size_t i = 0; i < GROUP_COLUMNS; i++)
        if (j->columns[i].bad || cursor_left(&j->columns[i]) > 0)
            return false;
    return true;
}

bool codec_ungroup_payload(struct grouping *grouping, const void *grouped, size_t grouped_size, size_t size,
                           struct bytes *to)
{
    struct join j = { .call_mtf = &grouping->call_mtf };
    struct cursor from = cursor_of(grouped, grouped_size);
    const uint64_t base = take_number(&from);
    if (!find_columns(&j, from) || size / NUMBER_MOST > grouped_size)
        return false;
    call_mtf_begin(j.call_mtf);
    unsigned char *at = bytes_reserve(to, size + STEP_MOST);
    j.end = at + size;
    at = number_write(at, base);
    while (cursor_left(&j.columns[COLUMN_SHAPE]) > 0 && join_has_room(&j, at))
        at = join_record(&j, at);
    to->size += size;
    return !j.bad && at == j.end && all_taken(&j);
}
