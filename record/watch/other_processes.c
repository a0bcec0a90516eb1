/* SPDX-License-Identifier: MIT */
#include "record/watch/other_processes.h"

#include "record/process/clock.h"
#include "record/process/meter.h"

#define LEAST_NS   5000000u /* a difference below that is no news, ... */
#define LEAST_PART 200      /* ... or below this part of the whole */

static void emit_cpu(struct sampler *sampler, uint32_t process, uint64_t cpu_ns, uint64_t time_ns)
{
    const struct measure measure = { .process = process,
                                     .time_ns = time_ns,
                                     .resident_bytes = METER_UNKNOWN,
                                     .cpu_ns = cpu_ns,
                                     .recorder_cpu_ns = meter_own_cpu_ns() };
    emitter_note(&sampler->emitter, (struct event){ .kind = EVENT_MEASURE, .measure = measure });
}

/* Emits an entry <not sampled> that has all the time. */
static void emit_entry(struct sampler *sampler, uint32_t process, uint64_t cpu_ns, uint64_t time_ns)
{
    struct emitter *emitter = &sampler->emitter;
    const struct thread thread = {
        .number = ++emitter->last_thread, .process = process, .start_ns = time_ns, .name = TEXT(NOT_SAMPLED)
    };
    struct left_out left_out = { .thread = thread.number, .time_ns = time_ns, .cpu_ns = cpu_ns };
    uint32_t serial = 0;
    struct fault unused;
    emitter_serial(emitter, SERIAL_THREAD, thread.number, &serial);
    emitter->rests++;
    emitter_note(emitter, (struct event){ .kind = EVENT_THREAD, .thread = thread });
    definitions_number_frame(&emitter->definitions, synthetic_frames_not_sampled(&sampler->synthetic), &left_out.frame,
                             &unused);
    emitter_note(emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = left_out });
    emitter_note(emitter,
                 (struct event){ .kind = EVENT_THREAD_END, .change = { .number = thread.number, .time_ns = time_ns } });
}

static uint64_t children_cpu_ns(void)
{
    struct rusage used = { 0 };
    getrusage(RUSAGE_CHILDREN, &used);
    return clock_of_usage(&used);
}

void other_processes_tell(struct sampler *sampler, uint64_t time_ns)
{
    struct emitter *emitter = &sampler->emitter;
    const uint64_t tree_cpu_ns = children_cpu_ns(), known_ns = sampler_counters(sampler).cpu_ns;
    const uint64_t cpu_ns = tree_cpu_ns > known_ns ? tree_cpu_ns - known_ns : 0;
    if (cpu_ns < LEAST_NS || cpu_ns < tree_cpu_ns / LEAST_PART || sampler->options.which != THREADS_ALL ||
        emitter->last_process == 0)
        return;
    const uint32_t number = ++emitter->last_process;
    uint32_t serial = 0;
    emitter_serial(emitter, SERIAL_PROCESS, number, &serial);
    emitter->others++;
    const struct process process = { .number = number, .start_ns = time_ns, .command = TEXT(OTHER_PROCESSES) };
    emitter_note(emitter, (struct event){ .kind = EVENT_PROCESS, .process = process });
    emit_cpu(sampler, number, 0, time_ns);
    emit_entry(sampler, number, cpu_ns, time_ns);
    emit_cpu(sampler, number, cpu_ns, time_ns);
    const struct process_end end = { .number = number, .time_ns = time_ns, .wait_status = -1 };
    emitter_note(emitter, (struct event){ .kind = EVENT_PROCESS_END, .process_end = end });
}
