/* SPDX-License-Identifier: MIT */
#include "record/sampler_emit.h"

static bool give(struct sampler *sampler, struct event *event, struct fault *why)
{
    const struct sink sink = lazy_definitions_sink(&sampler->definitions);
    return sink_take(&sink, event, why);
}

bool sampler_emit(struct sampler *sampler, struct event event, struct fault *why)
{
    return give(sampler, &event, why);
}

void sampler_emit_note(struct sampler *sampler, struct event event)
{
    struct fault unused = { 0 };
    give(sampler, &event, &unused);
}

bool sampler_emit_sample(struct sampler *sampler, struct event *event, struct fault *why)
{
    sampler->samples++;
    event->sample.stands_ns = sampler->stands_ns;
    return give(sampler, event, why);
}

bool sampler_emit_tick(struct sampler *sampler, uint64_t time_ns, struct fault *why)
{
    struct event event; /* only what is told of a tick is set: there are thousands a second */
    event.kind = EVENT_TICK;
    event.tick_ns = time_ns;
    event.more_ticks = 0;
    sampler->ticks++;
    return give(sampler, &event, why);
}

bool sampler_emit_failed(struct sampler *sampler, uint32_t thread, enum failure cause, uint64_t time_ns,
                         struct fault *why)
{
    sampler->failed++;
    sampler->figures.failures[cause]++;
    return sampler_emit(sampler, (struct event){ .kind = EVENT_FAILED, .failed = { thread, cause, time_ns } }, why);
}
