/* SPDX-License-Identifier: MIT */
/* A sink takes events, one after the other: the stream writer, the tables, and each output format are sinks. */
#ifndef PYREEL_FORMATS_MODEL_SINK_H
#define PYREEL_FORMATS_MODEL_SINK_H

#include "formats/base/fault.h"
#include "formats/model/event.h"

struct sink {
    /* Takes an event. False with the reason in `why` when the sink cannot go on. `self` is the sink's own state. */
    bool (*take)(void *self, struct event *event, struct fault *why);
    void *self;
};

/* Gives an event to a sink. False with the reason in `why` when the sink cannot go on. */
static inline bool sink_take(const struct sink *sink, struct event *event, struct fault *why)
{
    return sink->take(sink->self, event, why);
}

#endif
