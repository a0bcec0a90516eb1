/* SPDX-License-Identifier: MIT */
/* All definitions so far, by number, and all stacks as a tree: a stack is its caller's stack and one frame. Each event
 * passes through tables_take() on its way to an output. After that the output can look up everything that the event
 * names, and a sample is a run, which has the number of its whole stack.
 *
 *     stack 3 = { caller 2, frame f:7 }       <module>:20 -> main:12 -> f:7
 *     stack 2 = { caller 1, frame main:12 }   <module>:20 -> main:12
 *     stack 1 = { caller 0, frame <module>:20 }
 *
 * The time to find a stack's number grows with the frames that changed. Memory grows with distinct stacks, not with
 * samples. Events come from a file and are not trusted: tables_take() refuses a definition that names something
 * undefined, or whose number is not the next one. Outputs may read the arrays directly; entry 0 of each is empty. */
#ifndef PYREEL_FORMATS_MODEL_TABLES_H
#define PYREEL_FORMATS_MODEL_TABLES_H

#include "formats/intern/intern.h"
#include "formats/intern/stack_index.h"
#include "formats/intern/titles.h"
#include "formats/model/counters.h"
#include "formats/model/sink.h"
#include "formats/model/wall.h"

/* The number of a stack that lacks a definition. The stack cannot be shown, and no stack that is built on it. */
#define STACK_LOST UINT32_MAX

/* The frame that outputs show for a thread without Python frames. */
#define NO_PYTHON_FRAMES "<no Python frames>"

/* What the measures of a process come to. Amounts are MEASURE_UNKNOWN as long as no measure knows them. */
struct measures {
    uint64_t count;
    struct measure latest;                        /* with the latest known amounts */
    uint64_t most_resident_bytes;                 /* the most of all measures */
    uint64_t first_cpu_ns, first_recorder_cpu_ns; /* as the first measures have them */
};

/* Sums over the ticks of one process, where each process has its own ticks; else all is 0. */
struct process_ticks {
    uint64_t ticks, missed;
    uint64_t missed_ns; /* the intervals of the missed ticks */
    uint64_t stands_ns; /* how long the process's latest sample stands for; 0: no sample yet */
    uint64_t rates_mhz; /* the sum, over all samples, of the rate at which such samples come, in thousandths of hertz */
};

struct process_row {
    struct process process; /* .command is the latest one; after tables_end_taking() that of most of the time */
    struct titles titles;   /* all of its command lines; empty: it has one */
    struct measures measures;
    struct process_ticks own;
    uint64_t end_ns; /* 0: not ended */
    enum fate fate;
    int wait_status; /* if the fate is FATE_EXITED: as in struct process_end */
};

struct task_row {
    struct task task;
    uint64_t samples; /* samples of threads that ran the task, or of the task's own entry; without lost samples */
    uint32_t thread;  /* the thread of the latest of these samples */
    uint32_t waiter;  /* the task that waited for the task last; 0: none so far */
    uint32_t waiters; /* how many tasks waited then */
};

/* A state of a thread: the time that looks with a known state stand for, and the part of that time in which the thread
 * was in the state. In nanoseconds. */
struct state_times {
    double known_ns, was_ns;
};

struct thread_row {
    struct thread thread; /* .name is the latest name */
    uint64_t end_ns;      /* 0: not ended */
    uint64_t samples;     /* without lost samples */
    uint64_t left_out;    /* ticks in which the thread was read and not sampled because of the mode */
    uint64_t cpu_ns;      /* CPU time, as far as it is known */
    uint64_t wall_ns;     /* time that the samples stand for */
    struct wall wall;     /* of the life that the thread has in this entry */
    uint32_t life;        /* the entry that has `wall`: a thread has an entry in each interpreter, and one life */
    uint32_t never_said;  /* status bits for what the thread's version of CPython never says */
    uint32_t open;        /* entries that have this life and have not ended */
    bool looked;          /* there was a look */
    bool cpu_known;       /* some looks had a CPU time */
    uint32_t *stacks;     /* number of the stack down to each depth; stacks[depth - 1] is the whole stack */
    size_t stacks_room;
    uint32_t depth;
    struct state_times states[ATTRIBUTE_STATES]; /* only in tables that sum up states */
};

/* Arrays by number; entry 0 is unused. */
struct tables {
    struct recording recording;
    struct text *strings;
    struct function *functions; /* .number is 0 where a definition was lost; the same holds for the arrays below */
    struct frame *frames;
    struct process_row *processes;
    struct thread_row *threads;
    struct task_row *tasks;
    struct stack *stacks;
    size_t strings_count, functions_count, frames_count, processes_count, threads_count, tasks_count,
        stacks_count; /* entry 0 counts */
    size_t strings_room, functions_room, frames_room, processes_room, threads_room, tasks_room, stacks_room;
    struct id_index stack_index;
    struct text *linker_names; /* by string: the text that the file has, where the string is now what it stands for in
                                * C++ or Rust; empty: it is as in the file */
    size_t linker_names_room;
    struct module *modules; /* of native code */
    size_t modules_count, modules_room;
    struct intern_pairs module_rows; /* (path, 0) -> row of `modules` + 1 */
    struct intern_pairs lives;       /* (process, tid) -> the entry that has the latest life */
    bool forgiving;                  /* definitions were lost, so a number may jump */
    uint32_t jumped;                 /* numbers skipped so far */
    bool has_recording;
    struct end end; /* .reason is 0 until EVENT_END */
    uint64_t samples, lost_samples, left_out, ticks, missed, failed;
    uint64_t defined;       /* samples that were taken, counted or not; without lost samples */
    uint64_t missed_ns;     /* the intervals of the missed ticks. An interval is as long as the latest sample before the
                             * tick stood for */
    uint64_t stands_ns;     /* how long the latest sample stands for; 0: no sample yet */
    uint64_t missing;       /* samples that were recorded but are absent here, for whatever reason; set by the reader */
    bool missing_estimated; /* `missing` is an estimate */
    bool cut;               /* one of the merged recordings has no end, or was left out */
    uint64_t failures[FAILURE_KINDS];
    uint64_t last_ns; /* latest time of any event */
    struct counters counters;
    bool sums_states;  /* set by the owner: the tables sum up the states of threads, which takes time */
    bool states_known; /* a sample had a status; only in tables that sum up states */
};

/* Takes an event: checks its references, adds its contents, and makes an EVENT_RUN of an EVENT_SAMPLE. Returns false
 * with the reason when the event breaks a rule. After definitions were lost, an event that refers to a lost definition
 * counts as lost, too: its row stays empty. */
bool tables_take(struct tables *tables, struct event *event, struct fault *why);

/* The two halves of tables_take(), for passes that leave samples out or change them in between. tables_define() does
 * all but the sums over samples. tables_count() adds an event that tables_define() took, EVENT_RUN or
 * EVENT_LEFT_OUT, to the sums: those of threads, tasks and processes, `samples` and `left_out`. Other events have no
 * such sums. */
bool tables_define(struct tables *tables, struct event *event, struct fault *why);
void tables_count(struct tables *tables, const struct event *event);

/* Frees the index by which tables_take() finds stacks, before an output makes large tables of its own, and settles the
 * titles of processes. No event may be taken afterwards; all rows stay. */
void tables_end_taking(struct tables *tables);

/* The text of a string; the empty text for number 0. Below: the name and the file of a function. */
struct text tables_string(const struct tables *tables, uint32_t string);

static inline struct text tables_function_name(const struct tables *tables, uint32_t function)
{
    return tables_string(tables, tables->functions[function].name);
}

static inline struct text tables_function_file(const struct tables *tables, uint32_t function)
{
    return tables_string(tables, tables->functions[function].file);
}

/* The file of a function of Python; the empty text for all others. */
static inline struct text tables_python_file(const struct tables *tables, uint32_t function)
{
    return tables->functions[function].module ? (struct text){ 0 } : tables_function_file(tables, function);
}

/* The text of a string as the file has it: a linker's name of C++ or Rust. tables_string() gives its readable form. */
struct text tables_linker_name(const struct tables *tables, uint32_t string);

/* Returns what is known of the module of native code with this path; NULL: nothing is known. */
const struct module *tables_module(const struct tables *tables, uint32_t path);

/* Returns the kind of a frame. Frame 0, of a stack without frames, is a hole. */
static inline enum frame_kind tables_kind(const struct tables *tables, uint32_t frame)
{
    return frame ? tables->functions[tables->frames[frame].function].kind : KIND_HOLE;
}

/* Whether a stack is that of a thread that runs no Python: its root is native, and no frame is Python. */
static inline bool tables_is_native(const struct tables *tables, uint32_t stack)
{
    enum frame_kind root = KIND_HOLE;
    for (uint32_t at = stack; at; at = tables->stacks[at].caller) {
        root = tables_kind(tables, tables->stacks[at].frame);
        if (root == KIND_PYTHON)
            return false;
    }
    return root == KIND_NATIVE;
}

/* Whether a stack stands for CPU time of which no look is known: <not sampled>. */
bool tables_not_sampled(const struct tables *tables, uint32_t stack);

/* The row of a task; an empty row for number 0 and for a task whose definition was lost. */
const struct task_row *tables_task(const struct tables *tables, uint32_t task);

/* The name of a thread for people: "MainThread" for a process's main thread (whose kernel name is the program's), else
 * the thread's name, else "Thread". */
struct text tables_thread_name(const struct tables *tables, uint32_t thread);

/* The numbers of distinct stacks and of functions. */
static inline uint64_t tables_stacks(const struct tables *tables)
{
    return tables->stacks_count ? tables->stacks_count - 1 : 0;
}

static inline uint64_t tables_functions(const struct tables *tables)
{
    return tables->functions_count ? tables->functions_count - 1 : 0;
}

/* Whether some frames have an instruction. */
bool tables_have_instructions(const struct tables *tables);
/* The interval of the thread's recording: a sample stands for this time unless it says otherwise. Below: whether merged
 * recordings have different intervals. */
uint64_t tables_interval_ns(const struct tables *tables, uint32_t thread);
bool tables_intervals_differ(const struct tables *tables);

/* The end of the recording: the time of EVENT_END, or of the latest event if that is later. A Tachyon recording has a
 * time of end without a reason. */
static inline uint64_t tables_end_ns(const struct tables *tables)
{
    return tables->end.time_ns > tables->last_ns ? tables->end.time_ns : tables->last_ns;
}

/* How long the recording lasts, or the part of the recording that was selected. */
static inline uint64_t tables_duration_ns(const struct tables *tables)
{
    const uint64_t end_ns = tables_end_ns(tables), from_ns = tables->recording.from_ns;
    return end_ns > from_ns ? end_ns - from_ns : 0;
}

/* How long the process was there while the recording lasted, or the part that was selected. */
uint64_t tables_life_ns(const struct tables *tables, uint32_t process);

/* How much CPU time a process used in the recording, by its measures; MEASURE_UNKNOWN: not known. */
uint64_t tables_measured_cpu_ns(const struct tables *tables, uint32_t process);

/* How many processes the recording has. */
size_t tables_count_processes(const struct tables *tables);

/* Returns the number of processes, without the entry OTHER_PROCESSES. */
size_t tables_count_programs(const struct tables *tables);

/* Returns the number of those that have no ancestor in the recording: 1 for a program with its children, more for a
 * machine. */
size_t tables_count_roots(const struct tables *tables);

/* Whether there is one interpreter's lock: one process, one interpreter, no free-threaded build. */
bool tables_have_one_lock(const struct tables *tables);

/* The program that was recorded: the first process; an empty process when there is none. */
const struct process *tables_first_process(const struct tables *tables);

/* Frees all rows. */
void tables_free(struct tables *tables);

#endif
