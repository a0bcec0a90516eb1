/* SPDX-License-Identifier: MIT */
/* Part of the sampler: tells events to its sink. Definitions wait until a sample needs them. */
#ifndef PYREEL_RECORD_SAMPLER_EMIT_H
#define PYREEL_RECORD_SAMPLER_EMIT_H

#include "record/sampler.h"

bool sampler_emit(struct sampler *sampler, struct event event, struct fault *why);
/* What is told by a note only waits in the open block, and can't fail. */
void sampler_emit_note(struct sampler *sampler, struct event event);

/* Emits an event, and counts it. A sample is made in its event, by sampler_emit_begin_sample(): to copy it takes longer
 * than all else that is done for a thread which has not moved. */
bool sampler_emit_sample(struct sampler *sampler, struct event *event, struct fault *why);
bool sampler_emit_failed(struct sampler *sampler, uint32_t thread, enum failure cause, uint64_t time_ns,
                         struct fault *why);

/* Makes the event one sample of this moment, with all else 0. Gives the sample. */
static inline struct sample *sampler_emit_begin_sample(struct event *event, uint32_t thread, uint64_t time_ns)
{
    event->kind = EVENT_SAMPLE;
    event->sample = (struct sample){ .thread = thread, .time_ns = time_ns };
    return &event->sample;
}

/* A tick has ended. */
bool sampler_emit_tick(struct sampler *sampler, uint64_t time_ns, struct fault *why);

#endif
