/* SPDX-License-Identifier: MIT */
#include "record/emit/definitions.h"

#include "formats/base/alloc.h"
#include "formats/model/known.h"

#include <stdlib.h>

#define MORE_FUNCTIONS TEXT("<more functions>")

/* ---- the limit ---- */

/* What a definition takes of the memory besides its row and its bytes: a row and an index in a table of numbers, the
 * head of an allocation, and the room into which arrays grow. */
#define OVERHEAD 64

/* ---- indexes ---- */

static uint32_t definitions_add_string(struct definitions *d, struct text text)
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
    return definitions_full(d) ? intern_find(&d->strings.ids, text.bytes, text.size) : definitions_add_string(d, text);
}

/* The index of the function whose strings are indexes. */
static uint32_t definitions_add_function(struct definitions *d, const struct function *function)
{
    bool added;
    const uint32_t index = known_function(&d->functions.ids, function, &added);
    if (!added)
        return index;
    d->bytes += sizeof(*d->functions.rows) + sizeof(*function) + OVERHEAD;
    d->functions.rows = alloc_grow(d->functions.rows, &d->functions.room, (size_t)index + 1,
                                   sizeof(*d->functions.rows));
    d->functions.rows[index] = (struct defined_function){ .function = *function };
    return index;
}

static uint32_t add_synthetic(struct definitions *d, enum frame_kind kind, struct text name)
{
    return definitions_add_function(d, &(struct function){ .name = definitions_add_string(d, name), .kind = kind });
}

uint32_t definitions_function(struct definitions *d, struct text name, const struct function *function)
{
    const bool full = definitions_full(d);
    struct function whole = *function;
    whole.name = definitions_string(d, name);
    if (!full)
        return definitions_add_function(d, &whole);
    const uint32_t known = whole.name ? known_function_find(&d->functions.ids, &whole) : 0;
    d->left_out += known == 0;
    return known ? known : add_synthetic(d, KIND_HOLE, MORE_FUNCTIONS);
}

static void note_line(struct definitions *d, uint32_t frame, uint32_t function, uint32_t line)
{
    bool added;
    d->lines = alloc_grow(d->lines, &d->lines_room, (size_t)frame + 1, sizeof(*d->lines));
    d->lines[frame] = intern_pairs_number(&d->line_ids, function, line, &added);
}

static uint32_t definitions_add_frame(struct definitions *d, const struct frame *frame)
{
    bool added;
    const uint32_t index = known_frame(&d->frames.ids, frame, &added);
    if (!added)
        return index;
    d->bytes += sizeof(*d->frames.rows) + sizeof(*frame) + sizeof(struct pair_slot) + OVERHEAD;
    d->frames.rows = alloc_grow(d->frames.rows, &d->frames.room, (size_t)index + 1, sizeof(*d->frames.rows));
    d->frames.rows[index] = (struct defined_frame){ .frame = *frame };
    note_line(d, index, frame->function, frame->line);
    return index;
}

static uint32_t add_frame_without_line(struct definitions *d, uint32_t function)
{
    return definitions_add_frame(d, &(struct frame){ .function = function, .column = -1, .end_column = -1 });
}

uint32_t definitions_frame(struct definitions *d, const struct frame *frame)
{
    if (!definitions_full(d))
        return definitions_add_frame(d, frame);
    const uint32_t known = known_frame_find(&d->frames.ids, frame);
    d->left_out += known == 0;
    return known ? known : add_frame_without_line(d, frame->function);
}

void definitions_module(struct definitions *d, const struct module *module)
{
    bool added;
    const uint32_t row = module->path ? intern_pairs_number(&d->modules.ids, module->path, 0, &added) : 0;
    if (row == 0)
        return;
    d->modules.rows = alloc_grow(d->modules.rows, &d->modules.room, row, sizeof(*d->modules.rows));
    struct defined_module *known = &d->modules.rows[row - 1];
    if (!added && known_same_module(&known->module, module))
        return;
    text_free(known->module.build_id);
    *known = (struct defined_module){ .module = *module };
    known->module.build_id = text_copy(module->build_id);
}

uint32_t definitions_named_frame(struct definitions *d, enum frame_kind kind, struct text name)
{
    return add_frame_without_line(d, definitions_function(d, name, &(struct function){ .kind = kind }));
}

uint32_t definitions_synthetic_frame(struct definitions *d, enum frame_kind kind, struct text name)
{
    return add_frame_without_line(d, add_synthetic(d, kind, name));
}

/* ---- numbers ---- */

/* Each of these functions replaces an index by the number in the recording, and emits the definition the first time. */

static bool definitions_emit_string(struct definitions *d, uint32_t *string, struct fault *why)
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

/* Emits what is known of the module with this path, whose string has the number. */
static bool definitions_emit_module(struct definitions *d, uint32_t path, uint32_t number, struct fault *why)
{
    const uint32_t index = path ? intern_pairs_find(&d->modules.ids, path, 0) : 0;
    struct defined_module *row = index ? &d->modules.rows[index - 1] : NULL;
    if (!row || row->emitted)
        return true;
    struct event event = { .kind = EVENT_MODULE, .module = row->module };
    event.module.path = number;
    row->emitted = true;
    return sink_take(&d->to, &event, why);
}

static bool definitions_emit_function(struct definitions *d, uint32_t *function, struct fault *why)
{
    struct defined_function *row = &d->functions.rows[*function];
    *function = row->number;
    if (row->number)
        return true;
    struct event event = { .kind = EVENT_FUNCTION, .function = row->function };
    if (!definitions_emit_string(d, &event.function.name, why) ||
        !definitions_emit_string(d, &event.function.file, why) ||
        !definitions_emit_string(d, &event.function.module, why) ||
        !definitions_emit_module(d, row->function.module, event.function.module, why))
        return false;
    *function = event.function.number = row->number = ++d->last_function;
    return sink_take(&d->to, &event, why);
}

bool definitions_number_frame(struct definitions *d, uint32_t frame, uint32_t *number, struct fault *why)
{
    struct defined_frame *row = &d->frames.rows[frame];
    *number = row->number;
    if (row->number)
        return true;
    struct event event = { .kind = EVENT_FRAME, .frame = row->frame };
    if (!definitions_emit_function(d, &event.frame.function, why) ||
        !definitions_emit_string(d, &event.frame.instruction, why) ||
        !definitions_emit_string(d, &event.frame.base, why))
        return false;
    *number = event.frame.number = row->number = ++d->last_frame;
    return sink_take(&d->to, &event, why);
}

bool definitions_emit_sample(struct definitions *d, struct event *event, struct fault *why)
{
    struct sample *sample = &event->sample;
    d->pushed = alloc_grow(d->pushed, &d->pushed_room, sample->pushed, sizeof(*d->pushed));
    for (uint32_t i = 0; i < sample->pushed; i++)
        if (!definitions_number_frame(d, sample->frames[i], &d->pushed[i], why))
            return false;
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
    for (uint32_t i = 0; i < d->modules.ids.count; i++)
        d->modules.rows[i].emitted = false;
    d->last_string = d->last_function = d->last_frame = 0;
}

void definitions_free(struct definitions *d)
{
    intern_free(&d->strings.ids);
    intern_free(&d->functions.ids);
    intern_free(&d->frames.ids);
    for (uint32_t i = 0; i < d->modules.ids.count; i++)
        text_free(d->modules.rows[i].module.build_id);
    intern_pairs_free(&d->modules.ids);
    free(d->modules.rows);
    intern_pairs_free(&d->line_ids);
    free(d->strings.rows);
    free(d->functions.rows);
    free(d->frames.rows);
    free(d->lines);
    free(d->pushed);
    *d = (struct definitions){ 0 };
}
