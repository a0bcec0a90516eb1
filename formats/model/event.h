/* SPDX-License-Identifier: MIT */
/* The events that make up a profile. A profile is a sequence of events: the recorder makes them from a living process,
 * the stream file stores them, every reader emits them and every writer takes them.
 *
 * A definition carries a number that later events use. Numbers of one kind begin at 1 and grow by one; 0 means "none".
 * Texts and arrays in an event belong to the caller and are valid until the call returns. Times are nanoseconds since
 * the start of the recording. A change of a thread or process, and missed ticks, may come before the last samples of
 * the preceding tick. schemas/stream.md has the byte layout of each event. */
#ifndef PYREEL_FORMATS_MODEL_EVENT_H
#define PYREEL_FORMATS_MODEL_EVENT_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_kind {
    EVENT_RECORDING = 1, /* always first: describes the recording */
    EVENT_PROCESS,
    EVENT_PROCESS_TITLE,      /* the process has another title, or command line */
    EVENT_PROCESS_ATTRIBUTES, /* more is known of the process: all its attributes, in the place of those before */
    EVENT_PROCESS_END,        /* has a struct process_end */
    EVENT_THREAD,
    EVENT_THREAD_NAME,
    EVENT_THREAD_END,
    EVENT_TASK,
    EVENT_TASK_WAITER, /* which task waits for a task from now on */
    EVENT_STRING,
    EVENT_FUNCTION,
    EVENT_FRAME,
    EVENT_MODULE,   /* what is known of a program or library that has native code */
    EVENT_SAMPLE,   /* a thread's stack in a tick, as files have it */
    EVENT_RUN,      /* the same, as the tables make it of a sample; in no file */
    EVENT_FAILED,   /* a thread could not be read in this tick */
    EVENT_MISSED,   /* ticks without a look */
    EVENT_LEFT_OUT, /* ticks in which a thread was read but not sampled, because of the mode */
    EVENT_TICK,     /* ends a tick: all samples of the tick came before */
    EVENT_MEASURE,  /* memory and CPU time of a process at a moment. Samples of earlier moments may follow */
    EVENT_COUNTER,  /* a counter of the recorder's work; a later value replaces an earlier one */
    EVENT_END,      /* always last; absent when the recorder was killed */
    EVENT_SERIAL,   /* precedes the definition of a process, thread or task in a part of a recording */
};

struct recording {
    uint32_t format_version; /* of the format of the file; readers always set it, writers of the stream ignore it */
    struct text pyreel_version;
    struct text host;
    struct text kernel;
    struct text machine; /* architecture, as uname reports it */
    struct text processor;
    struct text mode;
    struct text threads_option;
    struct text command; /* the recorder's own command line */
    uint64_t start_unix_ns;
    uint64_t start_monotonic_ns;
    uint64_t interval_ns;
    uint64_t time_unit_ns; /* times in the file are multiples of this */
    uint64_t memory_bytes;
    uint32_t processors;    /* logical ones; 0: not known, as below */
    uint32_t cores;         /* physical ones */
    uint32_t attached;      /* 1: to a running process, 0: it started one */
    uint32_t process_ticks; /* 1: each process has its own ticks, so a tick samples the threads of one process */
    uint32_t part;          /* a recording may be several files: the number of this file, from 1; 0: the only file */
    uint64_t series;        /* the same in all parts of a recording, and in no other recording; 0: the only file */
    uint64_t from_ns;       /* never in a file: everything before this time is left out */
    bool no_end_reason;     /* never in a stream: the format has no place for the reason of the end, so an end without a
                             * reason is no sign of a cut */
};

/* What kind of build a CPython is. */
enum build {
    BUILD_KNOWN = 1 << 0,         /* the bits below are known */
    BUILD_FREE_THREADED = 1 << 1, /* it has no global lock */
    BUILD_DEBUG = 1 << 2,         /* it checks itself (Py_DEBUG), and is slower for it */
};

struct process {
    uint32_t number;
    uint32_t pid;
    uint64_t start_ns;       /* when the recorder first saw it */
    uint32_t python_version; /* PY_VERSION_HEX, 0x030f02f0 is 3.15.2 */
    struct text executable;
    struct text command;
    struct text folder;   /* working folder */
    uint32_t build;       /* bits of enum build; 0: not known */
    struct text build_id; /* of the program or library that has the CPython, in hexadecimal digits; empty: none, or not
                           * known */
    uint32_t parent_pid;  /* the process that started it; 0: not known */
    uint32_t parent;      /* number of the nearest ancestor that is in the recording; 0: none. An execve gives a process
                           * a new number, whose parent is the old number: both have the same pid */
    struct text attributes; /* lines NAME=VALUE: where the process runs, and what it is for those who run it. The names
                             * are those of OpenTelemetry's semantic conventions: container.id */
    /* When recordings are merged, or a part of one is taken; not in a file. */
    struct text recording; /* the process's recording: a name that differs from those of the others; empty: only one */
    uint64_t interval_ns;  /* of that recording; 0: as the event of the recording says */
};

/* The way in which a process ends. */
enum fate {
    FATE_UNKNOWN,
    FATE_EXITED, /* it exited, or a signal ended it */
    FATE_EXECED, /* it runs another program now, by execve */
    FATE_LEFT,   /* it runs on: the recording ended before */
    FATES
};

struct process_end {
    uint32_t number;
    uint64_t time_ns;
    enum fate fate;
    int wait_status; /* FATE_EXITED: its status, as waitpid() gives it to its parent; -1: not known */
};

enum serial_kind { SERIAL_PROCESS = 1, SERIAL_THREAD, SERIAL_TASK, SERIAL_KINDS };

/* Each part of a recording numbers its processes, threads and tasks anew. The serial of one is the same in all parts,
 * and no other of the kind has it. */
struct serial {
    enum serial_kind kind;
    uint32_t number; /* of the definition that follows */
    uint32_t serial; /* from 1 */
};

/* Whether a thread is the main thread of its process. `name` is the kernel's name of a main thread, or Python's own if
 * Python does not call the thread "MainThread". */
enum main_thread { MAIN_NOT, MAIN_THREAD, MAIN_THREAD_NAMED };

struct thread {
    uint32_t number;
    uint32_t process;
    uint32_t tid;
    enum main_thread main;
    uint64_t interpreter;
    uint64_t start_ns; /* when the recorder first saw it */
    struct text name;  /* Python's name for it, or the kernel's (comm) */
    uint32_t task;     /* 0: a real thread. Otherwise the entry is a virtual thread that stands for this asyncio task,
                        * wherever the task runs or waits. Its tid and interpreter are those of the task's owner (0 when
                        * unknown): the thread whose event loop owns the task. Its name is the task's name. The task's
                        * life is that of the entry, from start_ns to EVENT_THREAD_END. While the task runs, its samples
                        * are the samples of the thread that runs it, which has none of its own then */
};

/* The name of an entry without a tid, for CPU time of a process that is no thread's so far: of threads that lived
 * between two looks, and after the last looks at threads that ended. Also the name of a frame. */
#define NOT_SAMPLED "<not sampled>"

/* Whether an entry is the one of its process with the name <not sampled>. */
static inline bool thread_is_rest(const struct thread *thread)
{
    return thread->tid == 0 && thread->task == 0 && text_equal(thread->name, TEXT(NOT_SAMPLED));
}

/* The command line of an entry without a pid, for CPU time of a command's tree that none of the recorded processes has.
 */
#define OTHER_PROCESSES "'<other processes>'"

static inline bool process_is_others(const struct process *process)
{
    return process->number && process->pid == 0 && text_equal(process->command, TEXT(OTHER_PROCESSES));
}

/* Takes the first attribute of `lines` (process.attributes), and moves `lines` behind it. A line without = is passed
 * over. False: there is none. */
bool process_take_attribute(struct text *lines, struct text *name, struct text *value);

/* An asyncio task. A task keeps its number while its object, name and coroutine stay the same. */
struct task {
    uint32_t number;
    uint32_t process;
    struct text name;
    uint64_t start_ns; /* when the recorder first saw it */
};

/* Who waits for a task (`await task`, asyncio.gather, a TaskGroup), from `time_ns` until the next such event of the
 * task. With --async running, only tasks that run and those that wait for them are looked at. */
struct task_waiter {
    uint32_t task;    /* tables_take() sets 0 when the definition of one of the two tasks was lost */
    uint32_t waiter;  /* the waiting task with the smallest number, which stacks show; 0: no task waits */
    uint32_t waiters; /* how many tasks wait */
    uint64_t time_ns;
};

/* The kind of a function says what the function is, and its name does not: a program may have a function that is called
 * "<GC>". */
enum frame_kind {
    KIND_PYTHON, /* a function of Python */
    KIND_NATIVE, /* C code that Python called: <native>, or a function of a module */
    KIND_KERNEL, /* the system, on behalf of the code above it */
    KIND_GC,     /* a garbage collection: <GC> */
    KIND_TASK,   /* stands above the frames of an asyncio task: <task NAME> */
    KIND_HOLE,   /* stands for frames that are not told: <truncated>, <more functions> */
    FRAME_KINDS
};

struct function {
    uint32_t number;
    uint32_t name;       /* string: qualified name, or the text of a frame that is no function */
    uint32_t file;       /* string: the Python source; 0: none */
    uint32_t first_line; /* line of the definition; 0: unknown */
    enum frame_kind kind;
    uint32_t module;  /* string: the program or library that has the code; 0: none, as for each Python function */
    uint64_t address; /* of its first byte, in the module; 0: not known. As its file counts addresses */
};

/* A position in a function. Lines count from 1 (0: unknown). Columns are UTF-8 bytes from 0 (-1: unknown). known.h
 * takes two functions or frames for the same when all members are equal but the number, which is the first one. */
struct frame {
    uint32_t number;
    uint32_t function;
    uint32_t line, end_line;
    int32_t column, end_column;
    uint32_t instruction; /* string: name of the instruction at this position, e.g. LOAD_ATTR_SLOT; 0: not recorded */
    uint32_t base; /* string: the instruction of which `instruction` is a specialised form; the same string if it is not
                    * specialised */
    uint64_t address; /* in the module, as its file counts addresses; 0: none, as for each Python function */
    uint32_t inlined; /* in no file: the function is inlined into that of the frame below, which is inlined, too, but
                       * for the last of so many; 0: it is not inlined */
    uint32_t symbol;  /* in no file: if it is inlined, the function whose machine code has it */
};

/* A program or library that has native code. Its functions have the path as their module, and its frames have addresses
 * as its file counts them. The code is the segment of the file that is executed. */
struct module {
    uint32_t path;        /* string */
    struct text build_id; /* in hexadecimal digits; empty: none, or not known */
    uint64_t code_begin;  /* address of the first byte of the code, ... */
    uint64_t code_size;   /* ... bytes of the code, ... */
    uint64_t code_offset; /* ... and the place of the first one in the file. All four are 0: not known */
    uint64_t begin;       /* address of the first byte of the file */
};

/* The status of a thread. The bits 0 to 4 have Tachyon's numbers. Tachyon's bit 5 (main thread) is no status. */
enum status {
    STATUS_GIL = 1 << 0,              /* the thread held the interpreter's lock, or was attached if there is no lock */
    STATUS_CPU = 1 << 1,              /* the thread was running, or ready to run (STATUS_READY) */
    STATUS_CPU_UNKNOWN = 1 << 2,      /* STATUS_CPU and the CPU time were not recorded */
    STATUS_GIL_WAIT = 1 << 3,         /* the thread waited for the interpreter's lock */
    STATUS_EXCEPTION = 1 << 4,        /* an exception was raised or being handled */
    STATUS_RECORDED = 1 << 6,         /* the status was recorded; without this bit the others mean nothing */
    STATUS_ELSEWHERE = 1 << 7,        /* the thread was in another interpreter, and its stack in this one waited */
    STATUS_GIL_WAIT_UNKNOWN = 1 << 8, /* no CPython of this version says STATUS_GIL_WAIT. The tables set this bit */
    STATUS_TASK_WAITS = 1 << 9,       /* the task of the entry waited: no thread ran it, or the thread that ran it ran
                                       * another task on top of it. The thread's bits are 0. Without this bit, a sample
                                       * of an entry that has a status is that of a running task */
    STATUS_READY = 1 << 10,       /* with STATUS_CPU: the thread was ready and had no processor. A recording of an older
                                   * pyreel, or of a kernel that does not tell the two apart, never has it */
    STATUS_NATIVE_WAIT = 1 << 11, /* the thread waited for native threads. No recording has this bit: the CPU owner sets
                                   * it (convert/filters/native_waits.h) */
};
#define STATUS_BITS   0x69Fu /* the status bits that a recording has, without STATUS_RECORDED */
#define STATUS_VALUES 4096u  /* each status is below */

/* A span of OpenTelemetry on which a thread worked, and the trace that has the span: the bytes of their ids as numbers,
 * the first byte highest. All 0: the thread worked on none, or nobody knows. */
struct span_ids {
    uint64_t trace_high, trace_low, id;
};

static inline bool span_ids_equal(struct span_ids a, struct span_ids b)
{
    return a.id == b.id && a.trace_low == b.trace_low && a.trace_high == b.trace_high;
}

/* Whether a thread worked on a span, as far as that is known. */
static inline bool span_ids_some(struct span_ids ids)
{
    return ids.id || ids.trace_low || ids.trace_high;
}

/* A thread's stack: the `keep` frames nearest the root of the thread's previous stack, then `pushed` frames, root
 * first. A reader that gives runs emits equal consecutive samples of a thread as one sample with a count, which may
 * come behind later ticks. */
struct sample {
    uint32_t thread;
    uint32_t keep;
    uint32_t pushed;
    const uint32_t *frames;
    uint64_t time_ns;
    uint32_t status;     /* bits of enum status */
    uint64_t cpu_ns;     /* CPU time that the thread used since its previous sample; 0: unknown. Without the CPU time of
                          * ticks that the mode left out, which EVENT_LEFT_OUT has */
    uint32_t task;       /* the asyncio task that the thread runs; 0: none, or not recorded */
    uint64_t count;      /* how many equal samples this is (only their times differ). The cpu_ns is the sum over all */
    uint64_t stands_ns;  /* how long each of the samples stands for; 0: the interval of the recording. Equal for all
                          * samples of a tick */
    uint64_t first_ns;   /* the time of the first of several samples; 0: time_ns, the time of the last one */
    bool fresh;          /* the recorder did not look at the thread in the tick before, because the thread did not exist
                          * or the mode left the thread out. A tick that failed or was missed makes no sample fresh */
    uint32_t collection; /* the generation of the garbage collection that the thread runs, plus 1; 0: it runs none, or
                          * the generation is not known. Of the samples of one collection the last one counts: a sample
                          * at its very beginning may have the generation before it is settled */
    uint64_t callback_ns; /* since when the thread's event loop has run one callback, or one step of a task, all the
                           * time until this sample; 0: it runs none, or that is not known. It began then or earlier,
                           * or, where it began before the recording, at 1 */
    struct span_ids span;
};

/* One sample, or several equal ones of a thread, with everything that is known of them. The tables make a run of each
 * sample (tables_take()). All passes and outputs behind the tables get runs. */
struct run {
    uint32_t thread;
    uint32_t stack;      /* number of the whole stack in the tables; 0: it has no frames; STACK_LOST */
    uint32_t task;       /* as in struct sample, as are all members here that say nothing else */
    uint32_t status;     /* with the bits for what the thread's CPython never says */
    uint64_t time_ns;    /* the time of the last sample */
    uint64_t count;      /* how many samples; 0: none. Then the run is CPU time alone, which the CPU owner gives to this
                          * stack, task and status when the thread's latest sample is over */
    uint64_t stands_ns;  /* how long each sample stands for; never 0 if there are samples */
    uint64_t wall_ns;    /* the part of the thread's life that all samples stand for, see wall.h, ... */
    uint64_t until_ns;   /* ... and its end */
    uint64_t counted_ns; /* the CPU time of the samples as it was recorded, ... */
    uint64_t cpu_ns;     /* ... and as the CPU owner places it, where it works for the output */
    uint64_t native_ns;  /* the CPU time of the native threads for which the thread waited; in no file */
    uint64_t callback_ns;
    struct span_ids span;
    uint32_t collection;
    bool fresh;
};

/* The most frames of a stack. A damaged file may claim any number; no program comes near this one. */
#define STACK_DEPTH_LIMIT (1u << 20)

enum failure {
    FAILURE_CHANGED = 1, /* the thread changed during each attempt to read it */
    FAILURE_MEMORY,      /* the thread's memory could not be read */
    FAILURE_CODE,        /* a code object could not be read */
    FAILURE_DEPTH,       /* the stack was deeper than STACK_DEPTH_LIMIT */
    FAILURE_THREADS,     /* the list of threads could not be read */
    FAILURE_KINDS
};

struct failed {
    uint32_t thread; /* 0: no thread could be read in this tick */
    enum failure cause;
    uint64_t time_ns;
    uint32_t process; /* if thread is 0 and each process has its own ticks: the process of the tick */
};

/* The thread was read in `ticks` more ticks since its last sample, but its status was not one that the mode keeps. Or
 * `ticks` is 0, and the event is CPU time alone. */
struct left_out {
    uint32_t thread;
    uint64_t ticks;
    uint64_t time_ns; /* time of the last of these ticks */
    uint64_t cpu_ns;  /* CPU time that the thread used in these ticks */
    uint32_t frame; /* the only frame of the stack that used the CPU time; 0: the stack is one of the thread's looks */
    uint32_t stack; /* set by the tables: the number of that stack; 0: there is none */
};

/* What a process uses at a moment. The recorder measures by the clock, about every 100 ms, whatever the process does.
 * Each amount may be MEASURE_UNKNOWN. After tables_take(), the CPU times of a process never go back: the difference of
 * two measures is what the process used between the two. */
struct measure {
    uint32_t process; /* tables_take() sets 0 when the definition of the process was lost */
    uint64_t time_ns;
    uint64_t resident_bytes;  /* memory of the process that is in RAM */
    uint64_t cpu_ns;          /* CPU time of all threads of the process since it began, also before the recording */
    uint64_t recorder_cpu_ns; /* CPU time of all threads of the recorder since it began: the same for all processes of
                               * the recording */
};

#define MEASURE_UNKNOWN UINT64_MAX

/* EVENT_THREAD_END, EVENT_THREAD_NAME: a change of the thread `number`. EVENT_PROCESS_TITLE, EVENT_PROCESS_ATTRIBUTES:
 * of the process `number`, whose command line, or attributes, in the form of struct process, is the name. An end has no
 * name. */
struct change {
    uint32_t number;
    uint64_t time_ns;
    struct text name;
    bool own_name; /* of EVENT_THREAD_NAME: the thread is MAIN_THREAD_NAMED from now on */
};

struct string {
    uint32_t number;
    struct text text;
};

/* A counter of the recorder's work. counters.h has the rules for names. */
struct counter {
    struct text name;
    uint64_t value;
};

enum end_reason {
    END_TARGET = 1, /* the target ended */
    END_SIGNAL,     /* the user stopped the recorder */
    END_DURATION,   /* the duration of option -d was over */
    END_ERROR,      /* the recorder could not go on */
    END_NOT_PYTHON, /* the target became another program */
    END_SIZE,       /* the file reached its size limit */
    END_UNWRITTEN,  /* a write failed: the last events are not in the file */
    END_CONTINUED,  /* the recording goes on in its next part */
    END_EXCERPT,    /* the flight recorder wrote what it had; the program ran on */
    END_STOPPED,    /* the user stopped the recorder by --control */
    END_REASONS
};

struct end {
    enum end_reason reason;
    uint64_t time_ns;
    uint64_t ticks, samples, missed, failed;
    int wait_status; /* status of the recorded command, from waitpid(); -1: unknown */
};

struct event {
    enum event_kind kind;
    union {
        struct recording recording;
        struct process process;
        struct thread thread;
        struct process_end process_end;
        struct change change;
        struct task task;
        struct task_waiter task_waiter;
        struct string string;
        struct function function;
        struct frame frame;
        struct module module;
        struct sample sample;
        struct run run;
        struct failed failed;
        struct left_out left_out;
        struct measure measure;
        struct {
            uint64_t missed;         /* EVENT_MISSED: number of missed ticks before the next tick, ... */
            uint32_t missed_process; /* ... the next one of this process, or its end; 0: of all processes */
        };
        struct {
            uint64_t tick_ns;      /* EVENT_TICK: time of the tick */
            uint64_t more_ticks;   /* if the reader gives runs: number of earlier ticks that this event also ends */
            uint32_t tick_process; /* the process whose threads the tick sampled; 0: all processes. It is not 0 if and
                                    * only if recording.process_ticks is set. Ticks of several processes alternate as
                                    * their times do; `count`, `fresh` and stands_ns of a sample are about the ticks of
                                    * the thread's process */
        };
        struct counter counter;
        struct end end;
        struct serial serial;
    };
};

/* The time of the first one of the samples. */
static inline uint64_t sample_first_ns(const struct sample *sample)
{
    return sample->first_ns ? sample->first_ns : sample->time_ns;
}

/* The time that is so many nanoseconds later. A time before the start of the recording becomes the start. A time that
 * is too late for its type stays the latest one. */
uint64_t event_shifted(uint64_t time_ns, int64_t by_ns);

/* Moves all times of the event in this way. */
void event_shift(struct event *event, int64_t by_ns);

/* Writes a PY_VERSION_HEX as "3.15.2" or "3.15.0rc1" into `room`, which has 32 bytes. Returns `room`. */
const char *event_python_version_text(char *room, uint32_t version);

/* Writes a date as "2026-11-25T08:56:46Z" into `room`, which has 32 bytes. Returns `room`. The text is empty for 0: the
 * date is not known. */
const char *event_date_text(char *room, uint64_t unix_ns);

#define EVENT_TRACE_DIGITS 32
#define EVENT_SPAN_DIGITS  16

/* Writes the id of a trace, or of a span, as OpenTelemetry writes it: in so many hexadecimal digits, in lower case, and
 * a 0 behind them, into `room`. Returns `room`. */
const char *event_trace_text(char room[EVENT_TRACE_DIGITS + 1], struct span_ids ids);
const char *event_span_text(char room[EVENT_SPAN_DIGITS + 1], struct span_ids ids);

/* The cause of a failure, and the reason of an end, in words: "changed while read", "the target ended". */
const char *event_failure_text(enum failure cause);
const char *event_end_reason_text(enum end_reason reason);

#define EVENT_FATE_ROOM 32

/* Writes how a process ended as "exit 0", "SIGKILL", "exec" or "runs on" into `room`, which has EVENT_FATE_ROOM bytes.
 * Returns `room`. The text is empty when the fate is not known. `wait_status`: as in struct process_end. */
const char *event_fate_text(char *room, enum fate fate, int wait_status);

#endif
