/* SPDX-License-Identifier: MIT */
/* Every definition seen so far, by number, and the threads' stacks folded into a tree: a stack is its caller's stack
 * and one frame. An event passes through tables_take() on its way to an output; from then on everything it names can
 * be looked up here, and a sample carries the number of its whole stack.
 *
 *     stack 3 = { caller 2, frame f:7 }       <module>:20 -> main:12 -> f:7
 *     stack 2 = { caller 1, frame main:12 }   <module>:20 -> main:12
 *     stack 1 = { caller 0, frame <module>:20 }
 *
 * Folding costs only the frames that changed, and memory grows with distinct stacks, never with samples.
 * Events come from a file and are not trusted: a definition that names something undefined, or whose number is not the
 * next one, is refused. Outputs may use the arrays directly; entry 0 of each is empty. */
#ifndef PYREEL_FORMATS_MODEL_TABLES_H
#define PYREEL_FORMATS_MODEL_TABLES_H

#include "formats/intern/stack_index.h"
#include "formats/model/counters.h"
#include "formats/model/sink.h"

/* A stack that has lost a definition: it can't be shown, nor can any that is built on it. */
#define STACK_LOST UINT32_MAX

/* What outputs show where a thread has no Python frames. */
#define NO_PYTHON_FRAMES "<no Python frames>"

struct process_row {
    struct process process;
    uint64_t end_ns;       /* 0 while it has not ended */
    struct text recording; /* that it is from; empty when all are from one */
    uint64_t interval_ns;  /* of its samples; 0: the recording's */
};

struct task_row {
    struct task task;
    uint64_t samples; /* of threads that ran it, or of its own entry; without the lost ones */
    uint32_t thread;  /* that had the last of them */
};

struct thread_row {
    struct thread thread; /* name: its last one */
    uint64_t end_ns;      /* 0 while it has not ended */
    uint64_t samples;     /* without the lost ones */
    uint64_t left_out;    /* ticks in which it was looked at and not sampled because of the mode */
    uint64_t cpu_ns;      /* CPU time that it used, as far as it is known */
    uint64_t wall_ns;     /* time that its samples stand for */
    bool cpu_known;       /* from some samples */
    uint32_t *stacks;     /* the stack down to each depth; stacks[depth - 1] is the whole one */
    size_t stacks_room;
    uint32_t depth;
};

/* An array by number with its bookkeeping; entry 0 is unused. */
struct tables {
    struct recording recording;
    struct text *strings;
    struct function *functions; /* .number is 0 where a definition was lost; so in all of these */
    struct frame *frames;
    struct process_row *processes;
    struct thread_row *threads;
    struct task_row *tasks;
    struct stack *stacks;
    size_t strings_count, functions_count, frames_count, processes_count, threads_count, tasks_count,
        stacks_count; /* with entry 0 */
    size_t strings_room, functions_room, frames_room, processes_room, threads_room, tasks_room, stacks_room;
    struct id_index stack_index;
    bool forgiving;  /* definitions were lost: numbers may jump */
    uint32_t jumped; /* numbers passed over so far */
    bool has_recording;
    struct end end; /* .reason 0 until EVENT_END */
    uint64_t samples, lost_samples, left_out, ticks, missed, failed;
    uint64_t missed_ns; /* the intervals of the missed ticks, each as long as the latest sample before it stood for */
    uint64_t stands_ns; /* how long the latest sample stands for; 0: there was none yet */
    uint64_t missing;   /* samples that were recorded and are not here, for whatever reason: set by who has read */
    bool missing_estimated; /* nothing told how many there were */
    bool cut;               /* one of several recordings has no end, or was left out */
    uint64_t failures[FAILURE_KINDS];
    uint64_t last_ns; /* the latest time seen */
    struct counters figures;
};

/* Takes in an event, checks what it refers to and fills event->sample.stack and .stands_ns. False with the reason when
 * the event breaks a rule. When definitions were lost, one that builds on them is taken as lost itself: its row stays
 * empty. */
bool tables_take(struct tables *tables, struct event *event, struct fault *why);

/* The text of a string, of a function's name and file; an empty one for number 0. */
struct text tables_string(const struct tables *tables, uint32_t string);

static inline struct text tables_function_name(const struct tables *tables, uint32_t function)
{
    return tables_string(tables, tables->functions[function].name);
}

static inline struct text tables_function_file(const struct tables *tables, uint32_t function)
{
    return tables_string(tables, tables->functions[function].file);
}

/* A task; an empty row for number 0 and for one whose definition was lost. */
const struct task_row *tables_task(const struct tables *tables, uint32_t task);

/* What a person calls this thread: "MainThread" for a process's main thread (whose kernel name is that of the
 * program), else its name, else "Thread". */
struct text tables_thread_name(const struct tables *tables, uint32_t thread);

/* Whether some frames tell at which instruction they stand. */
bool tables_have_instructions(const struct tables *tables);
/* The interval of the recording that the thread is from, for which a sample stands unless it says otherwise; whether
 * that is not the same for all. */
uint64_t tables_interval_ns(const struct tables *tables, uint32_t thread);
bool tables_intervals_differ(const struct tables *tables);

/* When the recording ends: as told, or with the last that it has. Recordings of Tachyon tell a time without a reason.
 */
static inline uint64_t tables_end_ns(const struct tables *tables)
{
    return tables->end.time_ns > tables->last_ns ? tables->end.time_ns : tables->last_ns;
}

/* The program that was recorded: the first process; an empty one when there is none. */
const struct process *tables_first_process(const struct tables *tables);

void tables_free(struct tables *tables);

#endif
