/* SPDX-License-Identifier: MIT */
/* Part of sampler.c: tells of asyncio tasks. */
#ifndef PYREEL_RECORD_SAMPLER_TASKS_H
#define PYREEL_RECORD_SAMPLER_TASKS_H

#include "record/sampler.h"

/* The stack of a thread with the task that it runs, as this tick's sample. False when that could not be found out. */
bool sampler_tasks_running_stack(struct sampler *sampler, struct told *told, uint32_t place, struct sample *sample);

/* The samples of all tasks, and the ends of those that are no more. */
bool sampler_tasks_emit(struct sampler *sampler, uint64_t time_ns, struct fault *why);

/* All tasks have ended for the sink. */
void sampler_tasks_end(struct sampler *sampler, uint64_t time_ns);

/* From sampler.c: what we call the thread that the process calls `native_id`. */
pid_t sampler_host_thread(struct sampler *sampler, uint32_t native_id);

#endif
