/* SPDX-License-Identifier: MIT */
/* Emits the events of a recording that is being made: numbers processes, threads and tasks, emits definitions when a
 * sample needs them (definitions.h), and counts ticks and samples. All processes of a recording share one emitter. */
#ifndef PYREEL_RECORD_EMIT_EMITTER_H
#define PYREEL_RECORD_EMIT_EMITTER_H

#include "record/emit/definitions.h"

/* `= {0}`, and call emitter_open(). */
struct emitter {
    struct definitions definitions; /* has the sink */
    uint64_t stands_ns;             /* how long the next samples stand for; 0: the interval of the recording */
    uint32_t tick_process;          /* the process whose tick is emitted; 0: ticks are of all processes */
    uint32_t last_process, last_thread, last_task; /* highest numbers so far */
    uint32_t rests, others; /* entries that are no threads: <not sampled>; and no processes: <other processes> */
    bool in_parts;          /* set by the caller: the recording becomes several files, so processes, ... */
    uint32_t last_serials[SERIAL_KINDS]; /* ... threads and tasks have serials; the highest so far, by kind */
    uint64_t ticks, samples, failed;     /* counts; failed: samples */
    double rates_hz; /* the sum, over all samples, of the rate at which such samples come, without ... */
    uint64_t usual;  /* ... so many samples, which come at the rate of the recording */
    uint64_t failures[FAILURE_KINDS];
};

/* The sink must live as long. */
void emitter_open(struct emitter *emitter, struct sink to);
void emitter_close(struct emitter *emitter);

/* Forgets all numbers: from now on, a new stream takes what is emitted. The caller emits the processes, threads and
 * tasks anew. */
void emitter_restart(struct emitter *emitter);

/* Emits the serial of the process, thread or task that is defined next, if there are serials. *serial is the serial; 0:
 * it has none yet, and gets the next one. */
void emitter_serial(struct emitter *emitter, enum serial_kind kind, uint32_t number, uint32_t *serial);

/* How many processes, and threads and entries of tasks, were emitted in all streams. */
static inline uint32_t emitter_processes(const struct emitter *emitter)
{
    return (emitter->in_parts ? emitter->last_serials[SERIAL_PROCESS] : emitter->last_process) - emitter->others;
}

static inline uint32_t emitter_threads(const struct emitter *emitter)
{
    return (emitter->in_parts ? emitter->last_serials[SERIAL_THREAD] : emitter->last_thread) - emitter->rests;
}

/* Emits an event that is no sample, failed sample or tick. Such an event cannot fail, because the stream only puts it
 * into its open block. */
void emitter_note(struct emitter *emitter, struct event event);

/* Makes the event a sample with this thread and time, all other fields 0, and returns the sample. The caller fills in
 * the sample inside the event: a copy of an event would take longer than all other work for an unchanged thread. */
static inline struct sample *emitter_begin_sample(struct event *event, uint32_t thread, uint64_t time_ns)
{
    event->kind = EVENT_SAMPLE;
    event->sample = (struct sample){ .thread = thread, .time_ns = time_ns, .count = 1 };
    return &event->sample;
}

/* Emits a sample, whose frames are indexes of `definitions`. False with the reason when the sink refused. */
bool emitter_sample(struct emitter *emitter, struct event *event, struct fault *why);

/* Emits a failed sample. False with the reason when the sink refused. */
bool emitter_failed(struct emitter *emitter, uint32_t thread, enum failure cause, uint64_t time_ns, struct fault *why);

/* Emits the end of a tick. False with the reason when the sink refused. */
bool emitter_tick(struct emitter *emitter, uint64_t time_ns, struct fault *why);

#endif
