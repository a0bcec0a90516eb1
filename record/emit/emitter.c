/* SPDX-License-Identifier: MIT */
#include "record/emit/emitter.h"

void emitter_open(struct emitter *emitter, struct sink to)
{
    *emitter = (struct emitter){ .definitions.to = to };
}

void emitter_close(struct emitter *emitter)
{
    definitions_free(&emitter->definitions);
}

void emitter_restart(struct emitter *emitter)
{
    definitions_restart(&emitter->definitions);
    emitter->last_process = emitter->last_thread = emitter->last_task = 0;
}

void emitter_serial(struct emitter *emitter, enum serial_kind kind, uint32_t number, uint32_t *serial)
{
    if (!emitter->in_parts)
        return;
    if (*serial == 0)
        *serial = ++emitter->last_serials[kind];
    emitter_note(emitter, (struct event){ .kind = EVENT_SERIAL, .serial = { kind, number, *serial } });
}

void emitter_note(struct emitter *emitter, struct event event)
{
    struct fault unused = { 0 };
    sink_take(&emitter->definitions.to, &event, &unused);
}

bool emitter_sample(struct emitter *emitter, struct event *event, struct fault *why)
{
    emitter->samples++;
    event->sample.stands_ns = emitter->stands_ns;
    if (emitter->stands_ns)
        emitter->rates_hz += 1e9 / (double)emitter->stands_ns;
    else
        emitter->usual++;
    return definitions_emit_sample(&emitter->definitions, event, why);
}

bool emitter_failed(struct emitter *emitter, uint32_t thread, enum failure cause, uint64_t time_ns, struct fault *why)
{
    struct event event = { .kind = EVENT_FAILED, .failed = { thread, cause, time_ns, emitter->tick_process } };
    emitter->failed++;
    emitter->failures[cause]++;
    return sink_take(&emitter->definitions.to, &event, why);
}

bool emitter_tick(struct emitter *emitter, uint64_t time_ns, struct fault *why)
{
    struct event event; /* only the fields of a tick are set, because clearing all would take longer */
    event.kind = EVENT_TICK;
    event.tick_ns = time_ns;
    event.more_ticks = 0;
    event.tick_process = emitter->tick_process;
    emitter->ticks++;
    return sink_take(&emitter->definitions.to, &event, why);
}
