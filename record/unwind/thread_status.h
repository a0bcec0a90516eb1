/* SPDX-License-Identifier: MIT */
/* What the threads of a process do, at each look: who holds the interpreter's lock, who waits for it, who has a
 * processor, who handles an exception; and which of their samples a mode keeps. */
#ifndef PYREEL_RECORD_UNWIND_THREAD_STATUS_H
#define PYREEL_RECORD_UNWIND_THREAD_STATUS_H

#include "formats/model/event.h"
#include "record/process/cpu.h"
#include "record/unwind/thread_list.h"

enum mode { MODE_WALL, MODE_CPU, MODE_GIL, MODE_EXCEPTION, MODES };
extern const char *const mode_names[MODES];

/* Of a process. Set `mode` and `interval_ns`, and call thread_status_open(). */
struct statuses {
    enum mode mode;
    uint64_t interval_ns;
    pid_t pid;
    struct cpu_process process;
    bool ask_cpu; /* in this tick */
    bool ran;     /* somebody may have, since the tick before */
};

/* Of a thread. `= {0}` is one that was not looked at yet. */
struct watch {
    struct cpu cpu;
    uint64_t cpu_ns;          /* used since its last look */
    struct left_out left_out; /* since its last sample; its thread is not set */
};

void thread_status_open(struct statuses *statuses, pid_t pid);

/* A tick, in which so many threads are looked at. Whether processors are asked about: as the mode is about them, or as
 * that costs little. */
void thread_status_tick(struct statuses *statuses, size_t threads);

/* The status of a thread that was read or has not moved, in bits of enum status; what it used is then watch->cpu_ns.
 * `tid` is what we call it. */
uint32_t thread_status_of(struct statuses *statuses, struct watch *watch, const struct thread_list *thread_list,
                          struct member *member, pid_t tid, uint64_t now_ns);

/* Whether the mode keeps a sample of a thread that does this. */
bool thread_status_kept(const struct statuses *statuses, uint32_t status);

void thread_status_watch_close(struct watch *watch);

#endif
