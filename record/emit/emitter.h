/* SPDX-License-Identifier: MIT */
/* The events of a recording that is being made, on their way to a sink: numbers processes, threads and tasks, emits
 * definitions when a sample needs them (definitions.h), and counts what it emits. All processes of a recording share
 * one emitter. */
#ifndef PYREEL_RECORD_EMIT_EMITTER_H
#define PYREEL_RECORD_EMIT_EMITTER_H

#include "record/emit/definitions.h"

/* `= {0}`, and call emitter_open(). */
struct emitter {
    struct definitions definitions; /* has the sink */
    uint64_t stands_ns;             /* how long the next samples stand for; 0: an interval */
    uint32_t last_process, last_thread, last_task;
    uint64_t ticks, samples, failed;
    uint64_t failures[FAILURE_KINDS];
};

/* The sink must live as long. */
void emitter_open(struct emitter *emitter, struct sink to);
void emitter_close(struct emitter *emitter);

/* Emits an event that only waits in the open block of a stream, and can't fail: not a sample, tick or failed sample. */
void emitter_note(struct emitter *emitter, struct event event);

/* Makes the event a sample of this moment, with all else 0, and returns the sample. A sample is made in its event: to
 * copy an event takes longer than all else that is done for a thread which has not moved. */
static inline struct sample *emitter_begin_sample(struct event *event, uint32_t thread, uint64_t time_ns)
{
    event->kind = EVENT_SAMPLE;
    event->sample = (struct sample){ .thread = thread, .time_ns = time_ns };
    return &event->sample;
}

/* Each of these is false when the sink refused. The frames of a sample are indexes of the definitions. */
bool emitter_sample(struct emitter *emitter, struct event *event, struct fault *why);
bool emitter_failed(struct emitter *emitter, uint32_t thread, enum failure cause, uint64_t time_ns, struct fault *why);
/* A tick has ended. */
bool emitter_tick(struct emitter *emitter, uint64_t time_ns, struct fault *why);

#endif
