/* SPDX-License-Identifier: MIT */
/* Part of the sampler: tells events to its sink. Definitions wait until a sample needs them. */
#ifndef PYREEL_RECORD_SAMPLER_TELL_H
#define PYREEL_RECORD_SAMPLER_TELL_H

#include "record/sampler.h"

bool sampler_tell(struct sampler *sampler, struct event event, struct fault *why);
/* What is told by a note only waits in the open block, and can't fail. */
void sampler_note(struct sampler *sampler, struct event event);

/* These two count what they tell. */
bool sampler_tell_sample(struct sampler *sampler, const struct sample *sample, struct fault *why);
bool sampler_tell_failed(struct sampler *sampler, uint32_t thread, enum failure cause, uint64_t time_ns,
                         struct fault *why);

/* A tick has ended. */
bool sampler_tell_tick(struct sampler *sampler, uint64_t time_ns, struct fault *why);

#endif
