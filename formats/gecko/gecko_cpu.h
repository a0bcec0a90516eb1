/* SPDX-License-Identifier: MIT */
/* The CPU times of samples, in a column of their own. At the end they become cells of threadCPUDelta, each within the
 * time since the sample before (columns/cells.h), or the weights of a tree of CPU time, which are the times as they
 * are. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_CPU_H
#define PYREEL_FORMATS_GECKO_GECKO_CPU_H

#include "formats/gecko/gecko_internal.h"

/* CPU time that was placed behind the thread's last sample: it goes to the last sample with this stack. */
struct gecko_late {
    uint32_t stack; /* code (gecko_leaves.h) */
    uint64_t units;
    uint64_t sample; /* number of that sample, from 0; found at the end */
};

/* Writes the columns of one line, thread after thread. `= {0}` is ready for the first line. */
struct gecko_cpu_writer {
    struct spool_reader samples, placed;
    uint32_t *late; /* by code: index + 1 of the thread's late placement with this stack; 0: none */
    size_t late_room;
    uint64_t time; /* time of the latest sample of the line */
    bool begun;    /* the line has a sample */
};

/* Takes the CPU time of a sample, behind the sample. */
void gecko_cpu_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run);

/* Takes CPU time that is known only behind the thread's last sample (run->count is 0). */
void gecko_cpu_take_late(struct gecko *gecko, const struct run *run);

/* Begins a line. */
void gecko_cpu_begin_line(struct gecko_cpu_writer *writer);

/* Writes the cells of threadCPUDelta for the samples of a thread: nanoseconds, null where the CPU time is unknown. Only
 * when gecko_knows_cpu(). */
void gecko_cpu_emit_cells(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer);

/* Writes the CPU time of a thread's samples, in milliseconds, as weights. */
void gecko_cpu_emit_weights(struct gecko *gecko, uint32_t thread, struct gecko_cpu_writer *writer);

/* The CPU time that was placed on the samples of a thread: its own, and those of the tasks that its loop ran. */
uint64_t gecko_cpu_of(const struct gecko *gecko, uint32_t thread);

/* Frees the writer's memory. */
void gecko_cpu_writer_free(struct gecko_cpu_writer *writer);

/* Frees what the thread has of CPU times. */
void gecko_cpu_drop(struct gecko_thread *thread);

#endif
