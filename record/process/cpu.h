/* SPDX-License-Identifier: MIT */
/* Finds which threads of a process have a processor, and how much CPU time they used. The steps, cheapest first:
 *   1. The process's CPU clock. If it has not moved, no thread ran.
 *   2. A thread's "note", the file /proc/PID/task/TID/schedstat: time on a processor, time spent waiting for a
 *      processor, number of times that the thread got one. If the thread slept and its note is the same, the thread
 *      still sleeps, or was woken and waits for a processor.
 *   3. If the note has changed or the thread ran or was ready at the last look: whether it has a processor now. The
 *      file /proc/PID/task/TID/sched has the number of times that the thread lost its processor. The difference of the
 *      two counts is by one larger while the thread has a processor. The kernel forgets to count that a thread got a
 *      processor again when the thread had lost the last one in the moment at which it began to wait. So the difference
 *      falls for good now and then, and the lowest one so far is that of a thread without a processor:
 *
 *          got - lost    1 0 1 0 1 | 0 -1 0 -1 0
 *          processor     + - + - + | + -  + -  +
 *
 *      Behind such a fall, the first looks may say "without" until one sees the lower value, or sees that the thread
 *      used CPU time though neither count changed. A thread from which a post took the processor (stand.h) ran up to
 *      that moment: exec_start, when the kernel counted its CPU time last, is exactly the moment at which the post
 *      itself began. A tick of the kernel's clock within the post moves the latter: one look of a hundred. The same
 *      holds for posts that wake at the same moment on other processors, and for the recorder's thread that waits for
 *      the post: this thread wakes before the look is over, and takes the processor of whoever runs beside the post.
 *      A thread that lost no processor against its will since a look found it on none is not compared with them.
 *   4. If it has none: whether it is ready to run, from the file `syscall`.
 * Steps 3 and 4 cost ten times as much as the note. A post, for which the program waits, leaves out step 4, which
 * cpu_look_late() does, and step 3 for a thread that holds the interpreter's lock on its processor and had no need to
 * wait for a processor lately: such a thread runs. A kernel without the file `sched` does not say which of the threads
 * that are ready have a processor: then all of them count as running.
 * While a thread runs, its note may be some milliseconds behind: the kernel brings the note up to date when the thread
 * leaves its processor (also for a post of the recorder), and at each tick of the kernel's clock.
 *
 * A recorder that stops the threads (--blocking) looks before each stop: a thread that is stopped in its sleep wakes up
 * to stop, and seems to run. The stop takes CPU time from that thread, which is left out. */
#ifndef PYREEL_RECORD_PROCESS_CPU_H
#define PYREEL_RECORD_PROCESS_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The state for one thread. `= {0}` is a thread that is not watched. */
struct cpu {
    bool watched;
    int note, sched, state; /* open files; -1: the file does not exist */
    bool state_is_stat;
    uint64_t ran_ns;               /* time on a processor, by the last note */
    uint64_t runs;                 /* how often the thread got a processor, by the last note */
    uint64_t seen_runs, seen_lost; /* the two counts when `sched` was read last */
    uint32_t same;                 /* how often they were the same before */
    bool free_known;               /* a look found that no post had taken the thread's processor, ... */
    uint64_t free_forced;          /* ... when the thread had lost one so often against its will */
    int64_t resting; /* the lowest difference of the two counts so far, or 0: that of a thread without a processor */
    uint64_t reported_ns; /* CPU time that cpu_look() and cpu_report_now() have reported */
    uint64_t between_ns;  /* time on a processor at the last cpu_report_now(); 0: there was none */
    uint64_t waited_ns;   /* time that the thread waited for a processor, by the last note */
    uint32_t crowded;     /* not 0: the thread had to wait for a processor before one of its last runs */
    bool running, ready;  /* at the last look */
    bool late;            /* `ready` is not known yet */
    bool stops;           /* set by the caller: the thread is stopped after each look */
    uint64_t stop_ns;     /* CPU time of the last stop in the thread's sleep */
    uint64_t stops_ns;    /* CPU time of all stops in the thread's sleep, which is in ran_ns */
};

/* The state for one process. */
struct cpu_process {
    clockid_t clock;
    bool known;       /* the process has a clock that the recorder may read */
    uint64_t used_ns; /* by all threads, at the last look */
};

/* What the kernel counted of a thread at a moment. While a thread has a processor, the kernel counts at each tick of
 * its clock only. So the mark is the same at two moments if the thread did not run between them, or if it ran all the
 * time for less than CPU_TICK_NS. */
struct cpu_mark {
    uint64_t ran_ns, runs; /* runs: 0: not known */
};

#define CPU_TICK_NS 25000000u /* the kernel's clock ticks at 100 Hz at least */

/* What a look shows of a thread. */
struct cpu_look {
    bool known;
    bool running;     /* on a processor */
    bool ready;       /* ready to run, without a processor */
    uint64_t used_ns; /* CPU time since the last look */
};

/* The CPU time of a process, which may be a zombie; 0: not known. */
uint64_t cpu_of_process(pid_t pid);
/* Begins to watch the CPU clock of a process. */
void cpu_process_open(struct cpu_process *process, pid_t pid);
/* Whether any thread may have run since the last call. */
bool cpu_process_ran(struct cpu_process *process);

#define CPU_NEW UINT64_MAX

/* Begins to watch a thread; `pid` and `tid` are the recorder's own numbers. `told_ns`: CPU time of the thread that does
 * not count, because it was told before; CPU_NEW: all that the thread has used so far. */
void cpu_open(struct cpu *cpu, pid_t pid, pid_t tid, uint64_t told_ns);
/* Who looks at a thread: anybody; a post, while posts have taken the processors of threads; a post that looks at the
 * holder of the lock, whose processor one of the posts has taken. */
enum cpu_asker { CPU_ANYBODY, CPU_POST, CPU_POST_OF_HOLDER };

/* Looks at a thread. `ran`: the result of cpu_process_ran() for this look. */
struct cpu_look cpu_look(struct cpu *cpu, bool ran, enum cpu_asker asker);
/* Completes the look of a post. */
void cpu_look_late(struct cpu *cpu, struct cpu_look *look);
/* The CPU time since the last report, between two looks. Asks for the note alone: the next look sees the same as
 * without this call, and reports what was used behind it. Of a thread that is stopped in its sleep, the next look tells
 * all. */
uint64_t cpu_report_now(struct cpu *cpu);
/* The thread's time on a processor, as far as looks or reports showed it. */
uint64_t cpu_shown_ns(const struct cpu *cpu);
/* Reads the mark of a thread. Returns whether the thread has not run since the last look, which saw it asleep. */
bool cpu_sleeps_on(const struct cpu *cpu, struct cpu_mark *mark);
/* Says that the calling thread, a post, sleeps until this moment, and then takes a processor; UINT64_MAX: it sleeps
 * until it is called. Posts that wake at the same moment know then who ran until that moment. */
void cpu_wakes_at(uint64_t moment_ns);
/* Closes what cpu_wakes_at() has opened for the calling thread. */
void cpu_end_thread(void);
/* The CPU time of a thread that is not watched. False when there is no such thread. */
bool cpu_of_thread(pid_t pid, pid_t tid, uint64_t *ran_ns);
/* The same of a thread that is asked often, by its note, which the caller closes; -1: there is none. */
int cpu_open_note(pid_t pid, pid_t tid);
bool cpu_of_note(int note, uint64_t *ran_ns);
/* Closes the thread's files. Safe on a zeroed struct. */
void cpu_close(struct cpu *cpu);

/* Whether the text of a /proc/PID/stat has the state "R", running. The name in the text may have any characters. */
bool cpu_stat_runs(const char *stat);

#endif
