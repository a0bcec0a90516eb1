/* SPDX-License-Identifier: MIT */
#include "record/unwind/thread_status.h"

#include "formats/model/attribute.h"

#define LOOK_NS  1000       /* approximate time to ask for a thread's processor */
#define SHARE    10         /* if the mode does not need the processors, asking may take 1/10 of the time, ... */
#define SAVED_NS 100000000u /* ... and of so much time before in which it took less */

const char *const mode_names[MODES] = { "wall", "cpu", "gil", "exception" };

void thread_status_open(struct statuses *statuses, pid_t pid)
{
    statuses->pid = pid;
    statuses->ran = true;
    statuses->rest_known = false;
    statuses->rest_ns = statuses->ended_ns = statuses->due_ns = 0;
    cpu_process_open(&statuses->process, pid);
}

void thread_status_tick(struct statuses *statuses)
{
    statuses->tick++;
    statuses->ask_cpu = statuses->interval_ns > 0 || statuses->mode == MODE_CPU;
    statuses->others = true;
    statuses->ran = !statuses->slept && (!statuses->ask_cpu || cpu_process_ran(&statuses->process));
}

bool thread_status_may_run(const struct watch *watch)
{
    return !watch->cpu.watched || watch->cpu.running || watch->cpu.ready;
}

bool thread_status_ask_others(struct statuses *statuses, uint64_t known_ns, size_t others, uint64_t now_ns)
{
    const uint64_t clock_ns = statuses->process.used_ns, each_ns = others * LOOK_NS * SHARE;
    const uint64_t least_ns = now_ns > SAVED_NS ? now_ns - SAVED_NS : 0;
    statuses->ran &= !statuses->process.known || clock_ns > known_ns + statuses->rest_ns;
    if (!statuses->ran)
        return false;
    /* A stop takes CPU time from a thread that sleeps. That time is known only if the thread is asked before each stop.
     */
    if (statuses->stops && statuses->mode != MODE_CPU && each_ns > statuses->interval_ns) {
        statuses->ask_cpu = false;
        return false;
    }
    if (statuses->due_ns < least_ns)
        statuses->due_ns = least_ns;
    statuses->others = statuses->mode == MODE_CPU || each_ns <= statuses->interval_ns || now_ns >= statuses->due_ns;
    if (statuses->others)
        statuses->due_ns += each_ns;
    return statuses->others;
}

void thread_status_asked_all(struct statuses *statuses, uint64_t known_ns)
{
    const uint64_t clock_ns = statuses->process.used_ns, rest_ns = clock_ns > known_ns ? clock_ns - known_ns : 0;
    /* The clock is read first, so a rest that is smaller than before is one with more of the threads' time. */
    if (statuses->process.known && (rest_ns > statuses->rest_ns || !statuses->rest_known)) {
        statuses->rest_ns = rest_ns;
        statuses->rest_known = true;
    }
}

uint64_t thread_status_tell(struct statuses *statuses, uint64_t told_ns)
{
    const uint64_t had_ns = told_ns < statuses->rest_ns ? told_ns : statuses->rest_ns;
    statuses->rest_ns -= had_ns;
    return told_ns - had_ns;
}

/* CPU time that was seen ahead since the last thread_status_of(). */
static uint64_t unused_ns_of(const struct watch *watch)
{
    return watch->asked_ahead ? watch->ahead.used_ns : 0;
}

uint64_t thread_status_take_unused_ns(struct watch *watch)
{
    const uint64_t unused_ns = unused_ns_of(watch);
    watch->ahead.used_ns = 0;
    return unused_ns;
}

void thread_status_ask_ahead(struct statuses *statuses, struct watch *watch, enum cpu_asker asker)
{
    if (!statuses->ask_cpu || !watch->cpu.watched)
        return;
    const uint64_t unused_ns = unused_ns_of(watch);
    watch->ahead = cpu_look(&watch->cpu, statuses->ran, asker);
    watch->ahead.used_ns += unused_ns;
    watch->asked_ahead = true;
    watch->asked_tick = statuses->tick;
}

static bool is_asked(const struct statuses *statuses, const struct watch *watch)
{
    return watch->asked_ahead && watch->asked_tick == statuses->tick;
}

void thread_status_watch_open(struct statuses *statuses, struct watch *watch, pid_t tid)
{
    struct cpu *cpu = &watch->cpu;
    cpu_open(cpu, statuses->pid, tid, watch->told_ns);
    if (watch->told_ns == CPU_NEW || statuses->untold) {
        thread_status_tell(statuses, cpu->ran_ns);
        return;
    }
    const uint64_t told_ns = thread_status_tell(statuses, cpu->ran_ns - cpu->reported_ns);
    cpu->reported_ns += told_ns;
    statuses->ended_ns -= told_ns < statuses->ended_ns ? told_ns : statuses->ended_ns;
}

/* Returns what was seen ahead in this tick. If nothing was, looks now: for a thread that is new, or sleeps on. */
static struct cpu_look statuses_take_look(struct statuses *statuses, struct watch *watch, pid_t tid)
{
    if (!watch->cpu.watched)
        thread_status_watch_open(statuses, watch, tid);
    watch->cpu.stops = statuses->stops;
    const uint64_t unused_ns = unused_ns_of(watch);
    struct cpu_look look = watch->ahead;
    if (!is_asked(statuses, watch)) {
        look = cpu_look(&watch->cpu, statuses->ran, CPU_ANYBODY);
        look.used_ns += unused_ns;
    }
    cpu_look_late(&watch->cpu, &look);
    watch->asked_ahead = false;
    return look;
}

static uint32_t ask_cpu(struct statuses *statuses, struct watch *watch, struct member *member, bool waits_are_kept,
                        pid_t tid)
{
    watch->cpu_ns = 0;
    if (!statuses->ask_cpu || (!statuses->others && watch->cpu.watched && !is_asked(statuses, watch)))
        return STATUS_CPU_UNKNOWN;
    const struct cpu_look look = statuses_take_look(statuses, watch, tid);
    watch->cpu_ns = look.used_ns;
    watch->known = look.known;
    /* The thread ran without the lock, so it may wait for the lock now: read its state again. */
    if (waits_are_kept && (look.running || look.ready || look.used_ns > 0))
        member->walk.since.known = false;
    return !look.known ? STATUS_CPU_UNKNOWN : look.running ? STATUS_CPU : look.ready ? STATUS_CPU | STATUS_READY : 0;
}

/* Whether the process stands stopped. Asks the kernel only where a halt is likely: as long as there is one, and when
 * the holder of the lock has no processor. A thread that the recorder itself has just released may seem to run. */
static bool stands_stopped(const struct statuses *statuses, bool holds, uint32_t cpu, uint64_t now_ns)
{
    if (!statuses->halt || (cpu & STATUS_CPU && !statuses->stops))
        return false;
    return (statuses->halt->kind != HALT_NONE || (holds && cpu == 0)) && halt_look(statuses->halt, now_ns);
}

uint32_t thread_status_of(struct statuses *statuses, struct watch *watch, const struct thread_list *thread_list,
                          struct member *member, pid_t tid, uint64_t now_ns)
{
    const bool has_lock = member && thread_list_holds(thread_list, member);
    const bool waits_are_kept = member && thread_list->target->runtime.layout.thread_gil_wait != 0;
    const uint32_t cpu = ask_cpu(statuses, watch, member, waits_are_kept, tid);
    const bool stopped = stands_stopped(statuses, has_lock, cpu, now_ns);
    const bool holds = has_lock && !stopped;
    const uint32_t shown = member ? member->status : 0;
    const uint32_t seen = has_lock || stopped ? shown & ~(uint32_t)STATUS_GIL_WAIT : shown;
    return STATUS_RECORDED | seen | (holds ? STATUS_GIL : 0) | (stopped ? cpu & STATUS_CPU_UNKNOWN : cpu);
}

bool thread_status_kept(const struct statuses *statuses, uint32_t status)
{
    static const enum attribute needed[MODES] = {
        [MODE_CPU] = ATTRIBUTE_CPU, [MODE_GIL] = ATTRIBUTE_GIL, [MODE_EXCEPTION] = ATTRIBUTE_EXCEPTION
    };
    return statuses->mode == MODE_WALL || attribute_is(status, needed[statuses->mode]);
}

/* The next look opens the files again. */
void thread_status_pause(struct watch *watch)
{
    cpu_close(&watch->cpu);
    watch->told_ns = CPU_NEW;
    watch->asked_ahead = false;
}

void thread_status_watch_close(struct statuses *statuses, struct watch *watch)
{
    statuses->ended_ns += cpu_shown_ns(&watch->cpu);
    cpu_close(&watch->cpu);
    *watch = (struct watch){ 0 };
}
