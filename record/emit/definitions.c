/* SPDX-License-Identifier: MIT */
#include "record/emit/definitions.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* ---- indexes ---- */

uint32_t definitions_string(struct definitions *d, struct text text)
{
    bool added;
    const uint32_t index = intern_number(&d->strings.ids, text.bytes, text.size, &added);
    if (!added)
        return index;
    d->strings.rows = alloc_grow(d->strings.rows, &d->strings.room, (size_t)index + 1, sizeof(*d->strings.rows));
    d->strings.rows[index] = (struct defined_string){ .text = d->strings.ids.texts[index] };
    return index;
}

uint32_t definitions_function(struct definitions *d, struct text name, uint32_t file, uint32_t first_line)
{
    const uint32_t key[] = { definitions_string(d, name), file, first_line };
    bool added;
    const uint32_t index = intern_number(&d->functions.ids, key, sizeof(key), &added);
    if (!added)
        return index;
    d->functions.rows = alloc_grow(d->functions.rows, &d->functions.room, (size_t)index + 1,
                                   sizeof(*d->functions.rows));
    d->functions.rows[index] = (struct defined_function){ .name = key[0], .file = file, .first_line = first_line };
    return index;
}

static void note_line(struct definitions *d, uint32_t frame, uint32_t function, uint32_t line)
{
    bool added;
    d->lines = alloc_grow(d->lines, &d->lines_room, (size_t)frame + 1, sizeof(*d->lines));
    d->lines[frame] = intern_pairs_number(&d->line_ids, function, line, &added);
}

uint32_t definitions_frame(struct definitions *d, const struct frame *frame)
{
    const uint32_t key[] = {
        frame->function,    frame->line, frame->end_line, (uint32_t)frame->column, (uint32_t)frame->end_column,
        frame->instruction, frame->base
    };
    bool added;
    const uint32_t index = intern_number(&d->frames.ids, key, sizeof(key), &added);
    if (!added)
        return index;
    d->frames.rows = alloc_grow(d->frames.rows, &d->frames.room, (size_t)index + 1, sizeof(*d->frames.rows));
    d->frames.rows[index] = (struct defined_frame){ .frame = *frame };
    note_line(d, index, frame->function, frame->line);
    return index;
}

uint32_t definitions_synthetic_frame(struct definitions *d, struct text name)
{
    const struct frame frame = { .function = definitions_function(d, name, 0, 0), .column = -1, .end_column = -1 };
    return definitions_frame(d, &frame);
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
