/* SPDX-License-Identifier: MIT */
#include "record/process/cpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_RUNS    2      /* a thread that sleeps gets a processor to stop, and to sleep on */
#define STOP_MOST_NS 100000 /* CPU time of a stop at most: 10 to 40 us were seen */
#define TEXT_ROOM    512    /* bytes that hold the parts of the kernel's files that are used */
#define CROWDED_NS   100000 /* a longer wait for a processor is more than the time to wake up */
#define CROWDED_RUNS                                                                                                   \
    32 /* after this many runs without such a wait, the state is not read any more after an unchanged note */

void cpu_process_open(struct cpu_process *process, pid_t pid)
{
    *process = (struct cpu_process){ .used_ns = UINT64_MAX };
    process->known = clock_getcpuclockid(pid, &process->clock) == 0;
}

bool cpu_process_ran(struct cpu_process *process)
{
    struct timespec time;
    if (!process->known || clock_gettime(process->clock, &time) != 0)
        return true;
    const uint64_t used_ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    const bool ran = used_ns != process->used_ns;
    process->used_ns = used_ns;
    return ran;
}

static int cpu_open_file(pid_t pid, pid_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool cpu_read_text(int fd, char *text)
{
    const ssize_t size = fd >= 0 ? pread(fd, text, TEXT_ROOM - 1, 0) : -1;
    text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

/* Reads the note. *changed: the thread ran since the last note. */
static bool cpu_read_note(struct cpu *cpu, bool *changed)
{
    char text[TEXT_ROOM], *end;
    if (!cpu_read_text(cpu->note, text))
        return false;
    const uint64_t ran_ns = strtoull(text, &end, 10);
    const uint64_t waited_ns = strtoull(end, &end, 10);
    *changed = ran_ns != cpu->ran_ns;
    if (*changed && waited_ns - cpu->waited_ns > CROWDED_NS)
        cpu->crowded = CROWDED_RUNS;
    else if (*changed && cpu->crowded > 0)
        cpu->crowded--;
    cpu->ran_ns = ran_ns;
    cpu->waited_ns = waited_ns;
    cpu->runs = strtoull(end, NULL, 10);
    return true;
}

/* While a thread runs, its file /proc/PID/task/TID/syscall is just "running". A kernel without that file has `stat`. */
void cpu_open(struct cpu *cpu, pid_t pid, pid_t tid, bool young)
{
    char text[TEXT_ROOM];
    *cpu = (struct cpu){ .watched = true, .running = true };
    cpu->note = cpu_open_file(pid, tid, "schedstat");
    cpu->state = cpu_open_file(pid, tid, "syscall");
    if (!cpu_read_text(cpu->state, text)) {
        if (cpu->state >= 0)
            close(cpu->state);
        cpu->state = cpu_open_file(pid, tid, "stat");
        cpu->state_is_stat = true;
    }
    bool unused;
    cpu_read_note(cpu, &unused);
    cpu->crowded = 0;
    cpu->reported_ns = young ? 0 : cpu->ran_ns;
}

bool cpu_stat_runs(const char *stat)
{
    const char *name_end = strrchr(stat, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

static bool read_state(const struct cpu *cpu, bool *running)
{
    char text[TEXT_ROOM];
    if (!cpu_read_text(cpu->state, text))
        return false;
    *running = cpu->state_is_stat ? cpu_stat_runs(text) : strncmp(text, "running", 7) == 0;
    return true;
}

/* Returns the CPU time since the last report. After a guess that was too high, this is 0 until the note has caught up.
 */
static uint64_t take_used(struct cpu *cpu, uint64_t used_ns)
{
    const uint64_t more_ns = used_ns > cpu->reported_ns ? used_ns - cpu->reported_ns : 0;
    cpu->reported_ns += more_ns;
    return more_ns;
}

static uint64_t cpu_least_ns(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Leaves out the CPU time of the stop of a thread that slept at the look `before`. If the thread sleeps on, that is all
 * of its CPU time. If the thread ran since, the stop took as long as the last one. */
static void leave_out_stop(struct cpu *cpu, const struct cpu *before)
{
    const uint64_t more_ns = cpu->ran_ns - before->ran_ns;
    if (!cpu->running && cpu->runs - before->runs == STOP_RUNS)
        cpu->stop_ns = cpu_least_ns(more_ns, STOP_MOST_NS);
    cpu->stops_ns += cpu_least_ns(more_ns, cpu->stop_ns);
}

struct cpu_look cpu_look(struct cpu *cpu, bool ran, uint64_t now_ns)
{
    struct cpu_look look = { .known = true };
    const struct cpu before = *cpu;
    bool changed;
    if (!ran && !cpu->running && !cpu->crowded)
        return look;
    if (!cpu_read_note(cpu, &changed))
        return (struct cpu_look){ 0 };
    if (changed || !cpu->running)
        cpu->changed_ns = now_ns;
    if (!changed && !cpu->running && !cpu->crowded)
        return look;
    if (!read_state(cpu, &cpu->running))
        return (struct cpu_look){ 0 };
    if (cpu->stops && !before.running)
        leave_out_stop(cpu, &before);
    /* A thread that had to wait for a processor may wait again: then only its note counts. */
    const bool goes_on = before.running && cpu->running && cpu->changed_ns && !cpu->crowded;
    const uint64_t since_ns = now_ns > cpu->changed_ns ? now_ns - cpu->changed_ns : 0;
    look.running = cpu->running;
    look.used_ns = take_used(cpu, cpu->ran_ns - cpu->stops_ns + (goes_on ? since_ns : 0));
    return look;
}

void cpu_close(struct cpu *cpu)
{
    if (cpu->watched && cpu->note >= 0)
        close(cpu->note);
    if (cpu->watched && cpu->state >= 0)
        close(cpu->state);
    *cpu = (struct cpu){ 0 };
}
