/* SPDX-License-Identifier: MIT */
#include "convert/filters/mode_filter.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The state whose samples each mode keeps. */
static const struct {
    const char *name;
    enum attribute state;
} modes[] = {
    [KEPT_WALL] = { "wall", ATTRIBUTES },
    [KEPT_CPU] = { "cpu", ATTRIBUTE_CPU },
    [KEPT_GIL] = { "gil", ATTRIBUTE_GIL },
    [KEPT_EXCEPTION] = { "exception", ATTRIBUTE_EXCEPTION },
};

enum kept_mode mode_filter_named(struct text name)
{
    for (size_t i = KEPT_WALL; i < countof(modes); i++)
        if (text_equal(text_of(modes[i].name), name))
            return (enum kept_mode)i;
    return KEPT_AS_RECORDED;
}

/* Reads 16 digits. */
static bool read_digits(const char *digits, uint64_t *number)
{
    char room[EVENT_SPAN_DIGITS + 1] = "";
    for (size_t i = 0; i < EVENT_SPAN_DIGITS; i++) {
        if (!isxdigit((unsigned char)digits[i]))
            return false;
        room[i] = digits[i];
    }
    *number = strtoull(room, NULL, 16);
    return true;
}

bool kept_span_parse(struct text id, struct kept_span *span)
{
    *span = (struct kept_span){ .by = id.size == EVENT_TRACE_DIGITS ? SPAN_OF_TRACE : SPAN_ALONE };
    struct span_ids *ids = &span->ids;
    if (span->by == SPAN_OF_TRACE)
        return read_digits(id.bytes, &ids->trace_high) && read_digits(id.bytes + EVENT_SPAN_DIGITS, &ids->trace_low) &&
               span_ids_some(*ids);
    return id.size == EVENT_SPAN_DIGITS && read_digits(id.bytes, &ids->id) && span_ids_some(*ids);
}

bool mode_filter_fits(const struct mode_filter *filter, const struct recording *recording, struct fault *why)
{
    const enum kept_mode recorded = recording->mode.size ? mode_filter_named(recording->mode) : KEPT_WALL;
    if (filter->mode == KEPT_AS_RECORDED || filter->mode == recorded || recorded == KEPT_WALL)
        return true;
    const char *wanted = modes[filter->mode].name;
    if (recorded == KEPT_AS_RECORDED)
        return fault(
            why,
            "it was recorded in a mode that this version of pyreel does not know, so --mode %s cannot be applied; use "
            "a newer pyreel",
            wanted);
    return fault(why,
                 "it was recorded in mode %s and has samples of that mode only; for --mode %s, record again with "
                 "pyreel-record -m %s",
                 modes[recorded].name, wanted, wanted);
}

/* Emits the EVENT_LEFT_OUT of a thread, if samples of the thread were left out since the last one. */
static bool mode_filter_emit(struct mode_filter *filter, uint32_t thread, const struct sink *output, struct fault *why)
{
    if (thread >= filter->room || filter->left_out[thread].ticks == 0)
        return true;
    struct event event = { .kind = EVENT_LEFT_OUT, .left_out = filter->left_out[thread] };
    filter->left_out[thread] = (struct left_out){ 0 };
    return sink_take(output, &event, why);
}

static bool emit_all(struct mode_filter *filter, const struct sink *output, struct fault *why)
{
    for (uint32_t thread = 1; thread < filter->room; thread++)
        if (!mode_filter_emit(filter, thread, output, why))
            return false;
    return true;
}

static void mode_filter_leave_out(struct mode_filter *filter, const struct run *run)
{
    filter->left_out = alloc_grow(filter->left_out, &filter->room, (size_t)run->thread + 1, sizeof(*filter->left_out));
    struct left_out *left_out = &filter->left_out[run->thread];
    left_out->thread = run->thread;
    left_out->ticks += run->count;
    left_out->time_ns = run->time_ns;
    if (!filter->span.by) /* the CPU time of other spans is none of this one */
        left_out->cpu_ns += run->cpu_ns;
}

const char *mode_filter_name(const struct mode_filter *filter)
{
    if (!filter->no_idle)
        return "--mode";
    return filter->mode > KEPT_WALL ? "--mode or --no-idle" : "--no-idle";
}

/* Whether the thread ran: a thread that holds the lock runs, whatever is known of processors. */
static bool ran(uint32_t status)
{
    return attribute_is(status, ATTRIBUTE_GIL) || attribute_is(status, ATTRIBUTE_CPU);
}

static bool keeps_span(const struct kept_span *span, struct span_ids ids)
{
    switch (span->by) {
    case SPAN_ANY:
        break;
    case SPAN_OF_TRACE:
        return ids.trace_high == span->ids.trace_high && ids.trace_low == span->ids.trace_low;
    case SPAN_ALONE:
        return ids.id == span->ids.id;
    }
    return true;
}

static bool keeps(struct mode_filter *filter, const struct run *run)
{
    filter->spans_known |= span_ids_some(run->span);
    if (!keeps_span(&filter->span, run->span)) {
        filter->others += run->count;
        return false;
    }
    const uint32_t status = run->status;
    const bool by_mode = filter->mode > KEPT_WALL;
    const enum attribute state = by_mode ? modes[filter->mode].state : ATTRIBUTES;
    const bool known = (!by_mode || attribute_known(status, state)) &&
                       (!filter->no_idle || ran(status) || attribute_known(status, ATTRIBUTE_CPU));
    filter->samples += run->count;
    filter->unknown += known ? 0 : run->count;
    return (!by_mode || attribute_is(status, state)) && (!filter->no_idle || ran(status));
}

bool mode_filter_take(struct mode_filter *filter, struct event *event, const struct sink *output, struct fault *why)
{
    if (!mode_filter_selects(filter))
        return sink_take(output, event, why);
    uint32_t thread = 0;
    if (event->kind == EVENT_RUN && !keeps(filter, &event->run)) {
        mode_filter_leave_out(filter, &event->run);
        return true;
    }
    if (event->kind == EVENT_RUN)
        thread = event->run.thread;
    else if (event->kind == EVENT_LEFT_OUT)
        thread = event->left_out.thread;
    else if (event->kind == EVENT_THREAD_END)
        thread = event->change.number;
    const bool emitted = event->kind == EVENT_END ? emit_all(filter, output, why)
                                                  : mode_filter_emit(filter, thread, output, why);
    return emitted && sink_take(output, event, why);
}

bool mode_filter_finish(struct mode_filter *filter, const struct sink *output, struct fault *why)
{
    if (filter->span.by && filter->others > 0 && !filter->spans_known)
        return fault(why,
                     "its samples do not say on which span their threads worked, so --span cannot be applied; record a "
                     "program that publishes its spans, such as one with ddtrace or pyreel.otel.SpanProcessor");
    const bool all_unknown = filter->unknown > 0 && filter->unknown == filter->samples;
    if (all_unknown && filter->mode <= KEPT_WALL)
        return fault(why, "its samples do not say whether their thread ran, so --no-idle cannot be applied");
    if (all_unknown) {
        const char *name = modes[filter->mode].name;
        return fault(why, "its samples do not say %s; for --mode %s, record again with pyreel-record -m %s",
                     attributes[modes[filter->mode].state].question, name, name);
    }
    return emit_all(filter, output, why);
}

void mode_filter_free(struct mode_filter *filter)
{
    free(filter->left_out);
    *filter = (struct mode_filter){ 0 };
}
