/* SPDX-License-Identifier: MIT */
#include "record/process/cpu.h"

#include "record/process/clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOP_RUNS      2      /* a thread that sleeps gets a processor to stop, and to sleep on */
#define STOP_MOST_NS   100000 /* CPU time of a stop at most: 10 to 40 us were seen */
#define TEXT_ROOM      512    /* bytes that hold the parts of the kernel's files that are used */
#define CROWDED_NS     150000 /* a longer wait for a processor is not that for a post */
#define CROWDED_RUNS   32     /* after this many notes without such a wait, a thread is not crowded any more */
#define SCHED_ROOM     4096   /* the same of `sched` */
#define SAME_LOOK_NS   50000  /* a look asks its threads in about that time */
#define WOKE_LATELY_NS 400000 /* posts that woke for this look did so within that time */
#define TAKERS         256    /* posts of which it is known when they took their processors */
#define SAME_RUN       2      /* so often the same counts: what was used since the last note belongs to them */

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

uint64_t cpu_of_process(pid_t pid)
{
    struct cpu_process process;
    cpu_process_open(&process, pid);
    process.used_ns = 0;
    cpu_process_ran(&process);
    return process.used_ns;
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

/* Reads the three numbers of a note. */
static bool read_counts(const struct cpu *cpu, struct cpu_mark *mark, uint64_t *waited_ns)
{
    char text[TEXT_ROOM], *end;
    if (!cpu_read_text(cpu->note, text))
        return false;
    mark->ran_ns = strtoull(text, &end, 10);
    *waited_ns = strtoull(end, &end, 10);
    mark->runs = strtoull(end, NULL, 10);
    return true;
}

/* Reads the note. *changed: the thread ran since the last note. */
static bool cpu_read_note(struct cpu *cpu, bool *changed)
{
    struct cpu_mark mark;
    uint64_t waited_ns;
    if (!read_counts(cpu, &mark, &waited_ns))
        return false;
    *changed = mark.ran_ns != cpu->ran_ns;
    if (waited_ns - cpu->waited_ns > CROWDED_NS)
        cpu->crowded = CROWDED_RUNS;
    else if (*changed && cpu->crowded > 0)
        cpu->crowded--;
    cpu->waited_ns = waited_ns;
    cpu->ran_ns = mark.ran_ns;
    cpu->runs = mark.runs;
    return true;
}

/* The number behind a name in the text of `sched`; NULL: there is none. */
static const char *sched_number(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 : NULL;
}

/* The file `sched` of a thread holds many counts; these three are used. */
struct sched {
    uint64_t lost;     /* how often the thread lost its processor, ... */
    uint64_t forced;   /* ... and how often against its will */
    uint64_t start_ns; /* when the kernel counted its CPU time last, by the clock of that processor */
};

static bool read_sched(int file, struct sched *sched)
{
    char text[SCHED_ROOM], *end;
    const ssize_t size = pread(file, text, sizeof(text) - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    /* The text begins with the name of the thread, which may be anything. */
    const char *from = strstr(text, "#threads: ");
    const char *start = from ? sched_number(from, "exec_start") : NULL;
    const char *switches = from ? sched_number(from, "nr_switches") : NULL;
    const char *forced = switches ? sched_number(switches, "nr_involuntary_switches") : NULL;
    if (!start || !forced)
        return false;
    sched->start_ns = strtoull(start, &end, 10) * 1000000; /* milliseconds with six decimals */
    sched->start_ns += *end == '.' ? strtoull(end + 1, NULL, 10) : 0;
    sched->lost = strtoull(switches, NULL, 10);
    sched->forced = strtoull(forced, NULL, 10);
    return true;
}

/* A post, which may wake with others. Each takes the processor of some thread. */
static struct taker {
    _Atomic bool used;
    _Atomic int sched;                 /* its file `sched`; -1: not open */
    _Atomic uint64_t last_ns, next_ns; /* when it was to wake last, and is to wake next (monotonic) */
} takers[TAKERS];

static _Thread_local struct taker *own_taker;

/* The file of the thread that opens what is watched. It wakes while a post looks, maybe on the processor of a thread.
 */
static _Atomic int opener_sched = -1;

static int open_own_sched(void)
{
    return open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
}

static void taker_begin(void)
{
    for (size_t i = 0; i < TAKERS && !own_taker; i++)
        if (!atomic_exchange(&takers[i].used, true)) {
            own_taker = &takers[i];
            atomic_store(&own_taker->sched, open_own_sched());
        }
}

void cpu_wakes_at(uint64_t moment_ns)
{
    if (!own_taker)
        taker_begin();
    if (!own_taker)
        return;
    atomic_store(&own_taker->last_ns, atomic_load(&own_taker->next_ns));
    atomic_store(&own_taker->next_ns, moment_ns);
}

/* When the thread of a file `sched` took the processor that it has; 0: not known. */
static uint64_t start_of(int file)
{
    struct sched sched;
    return file >= 0 && read_sched(file, &sched) ? sched.start_ns : 0;
}

/* When threads of the recorder took the processors that they have. */
struct takes {
    uint64_t begun_ns; /* when the files were first read for this look (monotonic) */
    uint64_t own_ns;   /* of the calling post: most threads of a look lost their processor to it */
    bool others_read;
    uint64_t others_ns[TAKERS + 1];
    size_t others_count;
};

/* Whether a post wakes now, or woke for the present look. */
static bool taker_woke(const struct taker *taker, uint64_t now_ns)
{
    const uint64_t next_ns = atomic_load(&taker->next_ns);
    return next_ns > 0 && (now_ns >= next_ns || now_ns - atomic_load(&taker->last_ns) < WOKE_LATELY_NS);
}

static void takes_read_others(struct takes *takes)
{
    takes->others_read = true;
    takes->others_ns[takes->others_count++] = start_of(atomic_load(&opener_sched));
    for (struct taker *taker = takers; taker < takers + TAKERS; taker++) {
        const int file = atomic_load(&taker->sched);
        if (taker == own_taker || !taker_woke(taker, takes->begun_ns))
            continue;
        const uint64_t start_ns = start_of(file);
        if (atomic_load(&taker->sched) == file) /* else it may be another file by now */
            takes->others_ns[takes->others_count++] = start_ns;
    }
}

/* Whether a thread of the recorder took a processor at this moment, and still has it. The threads of a look are asked
 * within SAME_LOOK_NS: the files are read once for all of them. */
static bool recorder_took_over(uint64_t when_ns)
{
    static _Thread_local struct takes takes;
    const uint64_t now_ns = clock_now_ns();
    if (now_ns - takes.begun_ns > SAME_LOOK_NS) { /* others_ns stays as it is: it is long, and has a count */
        takes.begun_ns = now_ns;
        takes.own_ns = own_taker ? start_of(own_taker->sched) : 0;
        takes.others_read = false;
        takes.others_count = 0;
    }
    if (when_ns == 0) /* not known, or the thread of the recorder has moved to another processor */
        return false;
    if (when_ns != takes.own_ns && !takes.others_read)
        takes_read_others(&takes);
    bool took = when_ns == takes.own_ns;
    for (size_t i = 0; i < takes.others_count; i++)
        took |= when_ns == takes.others_ns[i];
    return took;
}

/* Whether a thread of the recorder took the processor from this thread. Reads no file if the thread lost no processor
 * against its will since the last answer that was no. */
static bool cpu_is_pushed_off(struct cpu *cpu, const struct sched *sched)
{
    if (cpu->free_known && sched->forced == cpu->free_forced)
        return false;
    const bool pushed = recorder_took_over(sched->start_ns);
    cpu->free_known = !pushed;
    cpu->free_forced = sched->forced;
    return pushed;
}

void cpu_end_thread(void)
{
    struct taker *taker = own_taker;
    if (!taker)
        return;
    atomic_store(&taker->last_ns, 0);
    atomic_store(&taker->next_ns, 0);
    const int sched = atomic_exchange(&taker->sched, -1);
    if (sched >= 0)
        close(sched);
    own_taker = NULL;
    atomic_store(&taker->used, false);
}

static bool read_mark(const struct cpu *cpu, struct cpu_mark *mark)
{
    uint64_t waited_ns;
    return read_counts(cpu, mark, &waited_ns);
}

/* Whether the thread got no processor since the note was read. */
static bool note_still_stands(const struct cpu *cpu)
{
    struct cpu_mark mark;
    return read_mark(cpu, &mark) && mark.runs == cpu->runs;
}

/* Whether a thread has a processor, by the two counts of the kernel (cpu.h, step 3). `grew`: the thread used CPU time
 * since the last note. A note is read before the second count, so what the thread used behind a note may be from before
 * the count behind that note: only what it used since the next note belongs to counts that were the same three times.
 */
static bool has_processor(struct cpu *cpu, uint64_t lost, bool grew)
{
    const int64_t ahead = (int64_t)(cpu->runs - lost);
    cpu->same = cpu->runs == cpu->seen_runs && lost == cpu->seen_lost ? cpu->same + 1 : 0;
    cpu->seen_runs = cpu->runs;
    cpu->seen_lost = lost;
    if (ahead < cpu->resting && !note_still_stands(cpu))
        return true; /* the thread got a processor between the two reads */
    if ((grew && cpu->same >= SAME_RUN) || ahead > cpu->resting + 1)
        cpu->resting = ahead - 1;
    else if (ahead < cpu->resting)
        cpu->resting = ahead;
    return ahead > cpu->resting;
}

/* Reads the first note, and opens `sched` if both have what is needed. */
static void open_sched(struct cpu *cpu, pid_t pid, pid_t tid)
{
    bool unused;
    struct sched sched;
    cpu_read_note(cpu, &unused);
    cpu->crowded = 0;
    cpu->sched = cpu_open_file(pid, tid, "sched");
    if (cpu->sched >= 0 && (cpu->runs == 0 || !read_sched(cpu->sched, &sched))) {
        close(cpu->sched);
        cpu->sched = -1;
    }
    if (cpu->sched >= 0)
        has_processor(cpu, sched.lost, false);
}

/* While a thread runs, its file /proc/PID/task/TID/syscall is just "running". A kernel without that file has `stat`. */
void cpu_open(struct cpu *cpu, pid_t pid, pid_t tid, uint64_t told_ns)
{
    char text[TEXT_ROOM];
    if (atomic_load(&opener_sched) < 0)
        atomic_store(&opener_sched, open_own_sched());
    *cpu = (struct cpu){ .watched = true, .running = true };
    cpu->note = cpu_open_file(pid, tid, "schedstat");
    cpu->state = cpu_open_file(pid, tid, "syscall");
    if (!cpu_read_text(cpu->state, text)) {
        if (cpu->state >= 0)
            close(cpu->state);
        cpu->state = cpu_open_file(pid, tid, "stat");
        cpu->state_is_stat = true;
    }
    open_sched(cpu, pid, tid);
    cpu->reported_ns = told_ns == CPU_NEW ? cpu->ran_ns : told_ns > cpu->ran_ns ? 0 : told_ns;
}

int cpu_open_note(pid_t pid, pid_t tid)
{
    return cpu_open_file(pid, tid, "schedstat");
}

bool cpu_of_note(int note, uint64_t *ran_ns)
{
    char text[TEXT_ROOM];
    const bool known = cpu_read_text(note, text);
    *ran_ns = known ? strtoull(text, NULL, 10) : 0;
    return known;
}

bool cpu_of_thread(pid_t pid, pid_t tid, uint64_t *ran_ns)
{
    const int note = cpu_open_note(pid, tid);
    const bool known = cpu_of_note(note, ran_ns);
    if (note >= 0)
        close(note);
    return known;
}

bool cpu_stat_runs(const char *stat)
{
    const char *name_end = strrchr(stat, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

/* Whether a thread has a processor, or is ready to run. */
static bool read_ready(const struct cpu *cpu, bool *ready)
{
    char text[TEXT_ROOM];
    if (!cpu_read_text(cpu->state, text))
        return false;
    *ready = cpu->state_is_stat ? cpu_stat_runs(text) : strncmp(text, "running", 7) == 0;
    return true;
}

/* Finds out whether a thread has a processor, or had one until the calling post took it, and if not, whether it is
 * ready to run. False when the thread is gone. */
static bool read_running(struct cpu *cpu, bool changed, enum cpu_asker asker)
{
    struct sched sched;
    cpu->ready = cpu->late = false;
    if (asker == CPU_POST_OF_HOLDER && changed && !cpu->crowded)
        return cpu->running = true;
    if (cpu->sched < 0)
        return read_ready(cpu, &cpu->running);
    if (!read_sched(cpu->sched, &sched))
        return false;
    cpu->running = has_processor(cpu, sched.lost, changed) || cpu_is_pushed_off(cpu, &sched);
    cpu->late = !cpu->running && asker != CPU_ANYBODY;
    return cpu->running || cpu->late || read_ready(cpu, &cpu->ready);
}

/* Returns the CPU time since the last report. */
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
    if (!cpu->running && !cpu->ready && cpu->runs - before->runs == STOP_RUNS)
        cpu->stop_ns = cpu_least_ns(more_ns, STOP_MOST_NS);
    cpu->stops_ns += cpu_least_ns(more_ns, cpu->stop_ns);
}

struct cpu_look cpu_look(struct cpu *cpu, bool ran, enum cpu_asker asker)
{
    struct cpu_look look = { .known = true };
    const struct cpu before = *cpu;
    bool changed;
    if (!ran && !cpu->running && !cpu->ready)
        return look;
    if (!cpu_read_note(cpu, &changed))
        return (struct cpu_look){ 0 };
    if (!changed && !cpu->running && !cpu->ready)
        return look;
    if (!read_running(cpu, changed, asker))
        return (struct cpu_look){ 0 };
    if (cpu->stops && !before.running && !before.ready)
        leave_out_stop(cpu, &before);
    look.running = cpu->running;
    look.ready = cpu->ready;
    look.used_ns = take_used(cpu, cpu->ran_ns - cpu->stops_ns);
    return look;
}

uint64_t cpu_report_now(struct cpu *cpu)
{
    struct cpu_mark mark;
    const bool was_stopped = cpu->stops && !cpu->running && !cpu->ready; /* part of its time is that of the stop */
    if (!cpu->watched || was_stopped || !read_mark(cpu, &mark))
        return 0;
    cpu->between_ns = mark.ran_ns;
    return take_used(cpu, mark.ran_ns - cpu->stops_ns);
}

uint64_t cpu_shown_ns(const struct cpu *cpu)
{
    return cpu->ran_ns > cpu->between_ns ? cpu->ran_ns : cpu->between_ns;
}

bool cpu_sleeps_on(const struct cpu *cpu, struct cpu_mark *mark)
{
    *mark = (struct cpu_mark){ 0 };
    return cpu->watched && read_mark(cpu, mark) && !cpu->running && !cpu->ready && mark->ran_ns == cpu->ran_ns &&
           mark->runs == cpu->runs;
}

void cpu_look_late(struct cpu *cpu, struct cpu_look *look)
{
    if (cpu->late)
        look->known &= read_ready(cpu, &cpu->ready);
    cpu->late = false;
    look->ready = cpu->ready;
}

void cpu_close(struct cpu *cpu)
{
    if (cpu->watched && cpu->note >= 0)
        close(cpu->note);
    if (cpu->watched && cpu->sched >= 0)
        close(cpu->sched);
    if (cpu->watched && cpu->state >= 0)
        close(cpu->state);
    *cpu = (struct cpu){ 0 };
}
