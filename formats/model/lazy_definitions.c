/* SPDX-License-Identifier: MIT */
#include "formats/model/lazy_definitions.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

void lazy_definitions_open(struct lazy_definitions *definitions, struct sink to)
{
    *definitions = (struct lazy_definitions){ .to = to };
}

void lazy_definitions_close(struct lazy_definitions *definitions)
{
    for (size_t i = 0; i < definitions->strings_room; i++)
        text_free(definitions->strings[i].text);
    free(definitions->strings);
    free(definitions->functions);
    free(definitions->frames);
    free(definitions->pushed);
    *definitions = (struct lazy_definitions){ 0 };
}

/* ---- held ---- */

static void hold_string(struct lazy_definitions *d, const struct string *string)
{
    d->strings = alloc_grow(d->strings, &d->strings_room, (size_t)string->number + 1, sizeof(*d->strings));
    d->strings[string->number] = (struct held_string){ .text = text_copy(string->text) };
}

static void hold_function(struct lazy_definitions *d, const struct function *function)
{
    d->functions = alloc_grow(d->functions, &d->functions_room, (size_t)function->number + 1, sizeof(*d->functions));
    d->functions[function->number] = (struct held_function){ .function = *function };
}

static void hold_frame(struct lazy_definitions *d, const struct frame *frame)
{
    d->frames = alloc_grow(d->frames, &d->frames_room, (size_t)frame->number + 1, sizeof(*d->frames));
    d->frames[frame->number] = (struct held_frame){ .frame = *frame };
}

/* ---- emitted ---- */

/* Each emit_ function gets the number with which a definition came in *number, emits the definition unless that was
 * done, and replaces *number by the emitted number. */

static bool emit_string(struct lazy_definitions *d, uint32_t *number, struct fault *why)
{
    if (*number == 0)
        return true;
    struct held_string *held = &d->strings[*number];
    *number = held->emitted;
    if (held->emitted)
        return true;
    *number = held->emitted = ++d->last_string;
    struct event event = { .kind = EVENT_STRING, .string = { held->emitted, held->text } };
    const bool good = sink_take(&d->to, &event, why);
    text_free(held->text);
    held->text = (struct text){ 0 };
    return good;
}

static bool emit_function(struct lazy_definitions *d, uint32_t *number, struct fault *why)
{
    struct held_function *held = &d->functions[*number];
    *number = held->emitted;
    if (held->emitted)
        return true;
    struct event event = { .kind = EVENT_FUNCTION, .function = held->function };
    struct function *function = &event.function;
    if (!emit_string(d, &function->name, why) || !emit_string(d, &function->file, why))
        return false;
    *number = function->number = held->emitted = ++d->last_function;
    return sink_take(&d->to, &event, why);
}

static bool emit_frame(struct lazy_definitions *d, uint32_t *number, struct fault *why)
{
    struct held_frame *held = &d->frames[*number];
    *number = held->emitted;
    if (held->emitted)
        return true;
    struct event event = { .kind = EVENT_FRAME, .frame = held->frame };
    struct frame *frame = &event.frame;
    if (!emit_function(d, &frame->function, why) || !emit_string(d, &frame->instruction, why) ||
        !emit_string(d, &frame->base, why))
        return false;
    *number = frame->number = held->emitted = ++d->last_frame;
    return sink_take(&d->to, &event, why);
}

static bool emit_sample(struct lazy_definitions *d, const struct sample *sample, struct fault *why)
{
    struct event event; /* only the used fields are set: this runs in each tick */
    event.kind = EVENT_SAMPLE;
    event.sample = *sample;
    d->pushed = alloc_grow(d->pushed, &d->pushed_room, sample->pushed, sizeof(*d->pushed));
    for (uint32_t i = 0; i < sample->pushed; i++) {
        d->pushed[i] = sample->frames[i];
        if (!emit_frame(d, &d->pushed[i], why))
            return false;
    }
    event.sample.frames = d->pushed;
    return sink_take(&d->to, &event, why);
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct lazy_definitions *definitions = self;
    switch (event->kind) {
    case EVENT_STRING:
        hold_string(definitions, &event->string);
        return true;
    case EVENT_FUNCTION:
        hold_function(definitions, &event->function);
        return true;
    case EVENT_FRAME:
        hold_frame(definitions, &event->frame);
        return true;
    case EVENT_SAMPLE:
        return event->sample.pushed ? emit_sample(definitions, &event->sample, why)
                                    : sink_take(&definitions->to, event, why);
    default:
        return sink_take(&definitions->to, event, why);
    }
}

struct sink lazy_definitions_sink(struct lazy_definitions *definitions)
{
    return (struct sink){ take, definitions };
}
