/* SPDX-License-Identifier: MIT */
#include "convert/filters/mode_filter.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* A sample says what the mode asks for when it has all bits of `says` and none of `silent`. */
static const struct {
    const char *name;
    uint32_t says, silent;
    uint32_t keeps;       /* and is kept when it has this one */
    const char *question; /* what it says then */
} modes[] = {
    [MODE_WALL] = { .name = "wall" },
    [MODE_CPU] = { "cpu", STATUS_RECORDED, STATUS_CPU_UNKNOWN, STATUS_CPU, "whether their thread was on a processor" },
    [MODE_GIL] = { "gil", STATUS_RECORDED, 0, STATUS_GIL, "whether their thread held the interpreter's lock" },
    [MODE_EXCEPTION] = { "exception", STATUS_RECORDED, 0, STATUS_EXCEPTION, "whether their thread had an exception" },
};

enum mode mode_filter_named(struct text name)
{
    for (size_t i = MODE_WALL; i < countof(modes); i++)
        if (strlen(modes[i].name) == name.size && memcmp(modes[i].name, name.bytes, name.size) == 0)
            return (enum mode)i;
    return MODE_AS_RECORDED;
}

bool mode_filter_fits(const struct mode_filter *keep, const struct recording *recording, struct fault *why)
{
    const enum mode recorded = recording->mode.size ? mode_filter_named(recording->mode) : MODE_WALL;
    if (keep->mode == MODE_AS_RECORDED || keep->mode == recorded || recorded == MODE_WALL)
        return true;
    const char *wanted = modes[keep->mode].name;
    if (recorded == MODE_AS_RECORDED)
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

/* Tells what was left out of a thread so far. */
static bool tell(struct mode_filter *keep, uint32_t thread, const struct sink *output, struct fault *why)
{
    if (thread >= keep->room || keep->left_out[thread].ticks == 0)
        return true;
    struct event event = { .kind = EVENT_LEFT_OUT, .left_out = keep->left_out[thread] };
    keep->left_out[thread] = (struct left_out){ 0 };
    return sink_take(output, &event, why);
}

static bool tell_all(struct mode_filter *keep, const struct sink *output, struct fault *why)
{
    for (uint32_t thread = 1; thread < keep->room; thread++)
        if (!tell(keep, thread, output, why))
            return false;
    return true;
}

static void leave_out(struct mode_filter *keep, struct tables *tables, const struct sample *sample)
{
    keep->left_out = alloc_grow(keep->left_out, &keep->room, (size_t)sample->thread + 1, sizeof(*keep->left_out));
    struct left_out *left_out = &keep->left_out[sample->thread];
    const uint64_t count = 1 + sample->more;
    left_out->thread = sample->thread;
    left_out->ticks += count;
    left_out->time_ns = sample->time_ns;
    left_out->cpu_ns += sample->cpu_ns;

    struct thread_row *row = &tables->threads[sample->thread];
    row->samples -= count;
    row->wall_ns -= sample->stands_ns * count;
    row->left_out += count;
    if (sample->task)
        tables->tasks[sample->task].samples -= count;
    tables->samples -= count;
    tables->left_out += count;
    keep->dropped += count;
}

static bool keeps(struct mode_filter *keep, const struct sample *sample)
{
    const uint32_t status = sample->status;
    const bool says = (status & modes[keep->mode].says) == modes[keep->mode].says &&
                      !(status & modes[keep->mode].silent);
    keep->unknown += says ? 0 : 1 + sample->more;
    return says && (status & modes[keep->mode].keeps);
}

bool mode_filter_take(struct mode_filter *keep, struct tables *tables, struct event *event, const struct sink *output,
                      struct fault *why)
{
    if (keep->mode == MODE_AS_RECORDED || keep->mode == MODE_WALL)
        return sink_take(output, event, why);
    uint32_t thread = 0;
    if (event->kind == EVENT_SAMPLE && !keeps(keep, &event->sample)) {
        leave_out(keep, tables, &event->sample);
        return true;
    }
    if (event->kind == EVENT_SAMPLE)
        thread = event->sample.thread;
    else if (event->kind == EVENT_LEFT_OUT)
        thread = event->left_out.thread;
    else if (event->kind == EVENT_THREAD_END)
        thread = event->change.number;
    const bool told = event->kind == EVENT_END ? tell_all(keep, output, why) : tell(keep, thread, output, why);
    return told && sink_take(output, event, why);
}

bool mode_filter_finish(struct mode_filter *keep, const struct tables *tables, const struct sink *output,
                        struct fault *why)
{
    if (keep->unknown > 0 && keep->unknown == tables->samples + keep->dropped) {
        const char *name = modes[keep->mode].name;
        return fault(why, "its samples do not say %s; for --mode %s, record again with pyreel-record -m %s",
                     modes[keep->mode].question, name, name);
    }
    return tell_all(keep, output, why);
}

void mode_filter_free(struct mode_filter *keep)
{
    free(keep->left_out);
    *keep = (struct mode_filter){ 0 };
}
