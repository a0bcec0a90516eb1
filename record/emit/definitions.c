/* SPDX-License-Identifier: MIT */
#include "record/emit/definitions.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define MORE_FUNCTIONS TEXT("<more functions>")

/* ---- the limit ---- */

/* What a definition takes of the memory besides its row and its bytes: a row and an index in a table of numbers, the
 * head of an allocation, and the room into which arrays grow. */
#define OVERHEAD 64

/* ---- indexes ---- */

static uint32_t add_string(struct definitions *d, struct text text)
{
    bool added;
    const uint32_t index = intern_number(&d->strings.ids, text.bytes, text.size, &added);
    if (!added)
        return index;
    d->bytes += sizeof(*d->strings.rows) + text.size + OVERHEAD;
    d->strings.rows = alloc_grow(d->strings.rows, &d->strings.room, (size_t)index + 1, sizeof(*d->strings.rows));
    d->strings.rows[index] = (struct defined_string){ .text = d->strings.ids.texts[index] };
    return index;
}

uint32_t definitions_string(struct definitions *d, struct text text)
{
    return definitions_full(d) ? intern_find(&d->strings.ids, text.bytes, text.size) : add_string(d, text);
}

static uint32_t add_function(struct definitions *d, struct text name, uint32_t file, uint32_t first_line)
{
    const uint32_t key[] = { add_string(d, name), file, first_line };
    bool added;
    const uint32_t index = intern_number(&d->functions.ids, key, sizeof(key), &added);
    if (!added)
        return index;
    d->bytes += sizeof(*d->functions.rows) + sizeof(key) + OVERHEAD;
    d->functions.rows = alloc_grow(d->functions.rows, &d->functions.room, (size_t)index + 1,
                                   sizeof(*d->functions.rows));
    d->functions.rows[index] = (struct defined_function){ .name = key[0], .file = file, .first_line = first_line };
    return index;
}

/* The function beyond the limit: a known one, or the one that stands for all others. */
static uint32_t find_function(struct definitions *d, struct text name, uint32_t file, uint32_t first_line)
{
    const uint32_t key[] = { definitions_string(d, name), file, first_line };
    const uint32_t known = key[0] ? intern_find(&d->functions.ids, key, sizeof(key)) : 0;
    d->left_out += known == 0;
    return known ? known : add_function(d, MORE_FUNCTIONS, 0, 0);
}

uint32_t definitions_function(struct definitions *d, struct text name, uint32_t file, uint32_t first_line)
{
    return definitions_full(d) ? find_function(d, name, file, first_line) : add_function(d, name, file, first_line);
}

static void note_line(struct definitions *d, uint32_t frame, uint32_t function, uint32_t line)
{
    bool added;
    d->lines = alloc_grow(d->lines, &d->lines_room, (size_t)frame + 1, sizeof(*d->lines));
    d->lines[frame] = intern_pairs_number(&d->line_ids, function, line, &added);
}

/* What makes a frame a frame of its own. */
struct frame_key {
    uint32_t words[7];
};

static struct frame_key key_of(const struct frame *frame)
{
    return (struct frame_key){ { frame->function, frame->line, frame->end_line, (uint32_t)frame->column,
                                 (uint32_t)frame->end_column, frame->instruction, frame->base } };
}

static uint32_t add_frame(struct definitions *d, const struct frame *frame)
{
    const struct frame_key key = key_of(frame);
    bool added;
    const uint32_t index = intern_number(&d->frames.ids, &key, sizeof(key), &added);
    if (!added)
        return index;
    d->bytes += sizeof(*d->frames.rows) + sizeof(key) + sizeof(struct pair_slot) + OVERHEAD;
    d->frames.rows = alloc_grow(d->frames.rows, &d->frames.room, (size_t)index + 1, sizeof(*d->frames.rows));
    d->frames.rows[index] = (struct defined_frame){ .frame = *frame };
    note_line(d, index, frame->function, frame->line);
    return index;
}

static uint32_t add_frame_without_line(struct definitions *d, uint32_t function)
{
    return add_frame(d, &(struct frame){ .function = function, .column = -1, .end_column = -1 });
}

uint32_t definitions_frame(struct definitions *d, const struct frame *frame)
{
    if (!definitions_full(d))
        return add_frame(d, frame);
    const struct frame_key key = key_of(frame);
    const uint32_t known = intern_find(&d->frames.ids, &key, sizeof(key));
    d->left_out += known == 0;
    return known ? known : add_frame_without_line(d, frame->function);
}

uint32_t definitions_named_frame(struct definitions *d, struct text name)
{
    return add_frame_without_line(d, definitions_function(d, name, 0, 0));
}

uint32_t definitions_synthetic_frame(struct definitions *d, struct text name)
{
    return add_frame_without_line(d, add_function(d, name, 0, 0));
}

/* ---- numbers ---- */

/* Each of these functions replaces an index by the number in the recording, and emits the definition the first time. */

static bool emit_string(struct definitions *d, uint32_t *string, struct fault *why)
{
    if (*string == 0)
        return true;
    struct defined_string *row = &d->strings.rows[*string];
    *string = row->number;
    if (row->number)
        return true;
    *string = row->number = ++d->last_string;
    struct event event = { .kind = EVENT_STRING, .string = { row->number, row->text } };
    return sink_take(&d->to, &event, why);
}

static bool emit_function(struct definitions *d, uint32_t *function, struct fault *why)
{
    struct defined_function *row = &d->functions.rows[*function];
    *function = row->number;
    if (row->number)
        return true;
    struct event event = { .kind = EVENT_FUNCTION, .function = { 0, row->name, row->file, row->first_line } };
    if (!emit_string(d, &event.function.name, why) || !emit_string(d, &event.function.file, why))
        return false;
    *function = event.function.number = row->number = ++d->last_function;
    return sink_take(&d->to, &event, why);
}

static bool emit_frame(struct definitions *d, uint32_t *frame, struct fault *why)
{
    struct defined_frame *row = &d->frames.rows[*frame];
    *frame = row->number;
    if (row->number)
        return true;
    struct event event = { .kind = EVENT_FRAME, .frame = row->frame };
    if (!emit_function(d, &event.frame.function, why) || !emit_string(d, &event.frame.instruction, why) ||
        !emit_string(d, &event.frame.base, why))
        return false;
    *frame = event.frame.number = row->number = ++d->last_frame;
    return sink_take(&d->to, &event, why);
}

bool definitions_emit_sample(struct definitions *d, struct event *event, struct fault *why)
{
    struct sample *sample = &event->sample;
    d->pushed = alloc_grow(d->pushed, &d->pushed_room, sample->pushed, sizeof(*d->pushed));
    for (uint32_t i = 0; i < sample->pushed; i++) {
        d->pushed[i] = sample->frames[i];
        if (!emit_frame(d, &d->pushed[i], why))
            return false;
    }
    if (sample->pushed > 0)
        sample->frames = d->pushed;
    return sink_take(&d->to, event, why);
}

void definitions_restart(struct definitions *d)
{
    for (uint32_t i = 1; i <= d->strings.ids.count; i++)
        d->strings.rows[i].number = 0;
    for (uint32_t i = 1; i <= d->functions.ids.count; i++)
        d->functions.rows[i].number = 0;
    for (uint32_t i = 1; i <= d->frames.ids.count; i++)
        d->frames.rows[i].number = 0;
    d->last_string = d->last_function = d->last_frame = 0;
}

void definitions_free(struct definitions *d)
{
    intern_free(&d->strings.ids);
    intern_free(&d->functions.ids);
    intern_free(&d->frames.ids);
    intern_pairs_free(&d->line_ids);
    free(d->strings.rows);
    free(d->functions.rows);
    free(d->frames.rows);
    free(d->lines);
    free(d->pushed);
    *d = (struct definitions){ 0 };
}
