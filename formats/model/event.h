/* SPDX-License-Identifier: MIT */
/* What a profile is made of. A profile is a sequence of these events: the recorder makes them from a living process,
 * the stream file is the sequence written down, every reader gives them and every writer takes them.
 *
 * Definitions carry a number that later events use; numbers of a kind begin at 1 and grow by one, 0 means "none".
 * Texts and arrays in an event belong to whoever gives it and are valid until the call returns.
 * Times are nanoseconds since the start of the recording. News of a thread or process and missed ticks may be told
 * before the last samples of the tick in front of them. The byte layout of each event is in schemas/stream.md. */
#ifndef PYREEL_FORMATS_MODEL_EVENT_H
#define PYREEL_FORMATS_MODEL_EVENT_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_kind {
    EVENT_RECORDING = 1, /* first of all: what was recorded, where, how */
    EVENT_PROCESS,
    EVENT_PROCESS_END,
    EVENT_THREAD,
    EVENT_THREAD_NAME,
    EVENT_THREAD_END,
    EVENT_TASK,
    EVENT_STRING,
    EVENT_FUNCTION,
    EVENT_FRAME,
    EVENT_SAMPLE,   /* one thread in one tick */
    EVENT_FAILED,   /* a thread that could not be read in this tick */
    EVENT_MISSED,   /* ticks that nobody looked at */
    EVENT_LEFT_OUT, /* ticks in which a thread was looked at, and not sampled because of the mode */
    EVENT_TICK,     /* ends a tick: all its samples have been given */
    EVENT_FIGURE,   /* what the recorder counted about its own work; told again, the later value holds */
    EVENT_END,      /* last of all; absent when the recorder was killed */
    EVENT_ORIGIN,   /* never in a file: which of several recordings a process is from, told right behind it */
};

struct recording {
    uint32_t format_version;
    struct text pyreel_version;
    struct text host;
    struct text kernel;
    struct text machine; /* architecture, as uname says it */
    struct text processor;
    struct text mode;
    struct text threads_option;
    struct text command; /* the recorder's own command line */
    uint64_t start_unix_ns;
    uint64_t start_monotonic_ns;
    uint64_t interval_ns;
    uint64_t time_unit_ns; /* times in the file are multiples of it */
    uint64_t memory_bytes;
    uint32_t processors;
    uint32_t attached;  /* 1: to a running process, 0: it started one */
    uint32_t weighted;  /* 1: samples may stand for other than an interval */
    uint64_t from_ns;   /* never in a file: what was before is left out */
    bool no_end_reason; /* never in a stream: the format has no place for what ended the recording, so an end without a
                         * reason is no sign of a cut */
};

struct process {
    uint32_t number;
    uint32_t pid;
    uint64_t start_ns;       /* when the recorder first saw it */
    uint32_t python_version; /* PY_VERSION_HEX, 0x030f02f0 is 3.15.2 */
    struct text executable;
    struct text command;
    struct text folder; /* its working folder */
};

/* Of a process, when several recordings become one. */
struct process_origin {
    uint32_t process;
    struct text recording; /* what tells it from the others */
    uint64_t interval_ns;
};

struct thread {
    uint32_t number;
    uint32_t process;
    uint32_t tid;
    bool main; /* the process's main thread */
    uint64_t interpreter;
    uint64_t start_ns; /* when the recorder first saw it */
    struct text name;  /* the kernel's name for it (comm) */
    uint32_t task;     /* 0: a thread proper. Else the entry stands for one asyncio task, wherever that runs or waits:
                        * its tid and interpreter are those of the thread whose loop owns it (0 when that is not
                        * known), its name is the task's */
};

/* An asyncio task, the same one for as long as it is the same object with the same name and coroutine. */
struct task {
    uint32_t number;
    uint32_t process;
    struct text name;
    uint64_t start_ns; /* when the recorder first saw it */
};

struct function {
    uint32_t number;
    uint32_t name;       /* string: the qualified name */
    uint32_t file;       /* string, 0 when there is none */
    uint32_t first_line; /* of its definition; 0 unknown */
};

/* A place in a function. Lines count from 1 (0 unknown), columns are UTF-8 bytes from 0 (-1 unknown). */
struct frame {
    uint32_t number;
    uint32_t function;
    uint32_t line, end_line;
    int32_t column, end_column;
    uint32_t
        instruction; /* string: the name of what the interpreter executes there, e.g. LOAD_ATTR_SLOT; 0 not recorded */
    uint32_t base;   /* string: the instruction that this one is a specialised form of; itself if it is none */
};

/* What a thread was doing, as far as it was asked for. The numbers are Tachyon's. */
enum status {
    STATUS_GIL = 1 << 0,         /* it held the interpreter's lock; without such a lock: it was attached */
    STATUS_CPU = 1 << 1,         /* it was running, or ready to run */
    STATUS_CPU_UNKNOWN = 1 << 2, /* STATUS_CPU and the CPU time were not asked for */
    STATUS_GIL_WAIT = 1 << 3,    /* it waited for the interpreter's lock */
    STATUS_EXCEPTION = 1 << 4,   /* an exception was raised or being handled */
    STATUS_RECORDED = 1 << 6,    /* without it nothing is known of all that */
};
#define STATUS_BITS 0x1Fu /* those that say something */

/* A thread's stack: the `keep` frames nearest the root of its last one, then `pushed` frames, root first. A reader that
 * was asked for runs gives samples of one thread that are the same as one; these may come behind later ticks. */
struct sample {
    uint32_t thread;
    uint32_t keep;
    uint32_t pushed;
    const uint32_t *frames;
    uint64_t time_ns;
    uint32_t status; /* of enum status */
    uint64_t cpu_ns; /* CPU time that the thread used since its sample before; 0 when it is not known. CPU time of ticks
                      * that were left out is not in it: EVENT_LEFT_OUT has that */
    uint32_t task;   /* the asyncio task that the thread runs; 0: none, or not asked for */
    uint32_t stack;  /* folded by tables_take(): number of the whole stack, 0 when it has no frames */
    uint64_t more; /* in a run: samples before this one that are the same but for their times; cpu_ns is that of all */
    uint64_t stands_ns; /* how long it stands for, and each sample of a run; 0: an interval of its recording, which
                         * tables_take() puts there. The same for all samples of a tick */
};

/* Frames of a stack. A file may be made to claim any number; no program comes near this one. */
#define STACK_DEPTH_LIMIT (1u << 20)

enum failure {
    FAILURE_CHANGED = 1, /* it changed while it was read, each time */
    FAILURE_MEMORY,      /* its memory could not be read */
    FAILURE_CODE,        /* a code object could not be read */
    FAILURE_DEPTH,       /* its stack was deeper than we follow */
    FAILURE_THREADS,     /* the list of threads could not be read */
    FAILURE_KINDS
};

struct failed {
    uint32_t thread; /* 0: no thread could be read in this tick */
    enum failure cause;
    uint64_t time_ns;
};

/* The thread was looked at in so many more ticks since its last sample, and its status was not what the mode keeps. */
struct left_out {
    uint32_t thread;
    uint64_t ticks;
    uint64_t time_ns; /* of the last of them */
    uint64_t cpu_ns;  /* CPU time that it used in them */
};

/* EVENT_PROCESS_END, EVENT_THREAD_END, EVENT_THREAD_NAME (which alone has a name): something happened to `number`. */
struct change {
    uint32_t number;
    uint64_t time_ns;
    struct text name;
};

struct string {
    uint32_t number;
    struct text text;
};

/* A counter of the recorder's own work. Names are lower-case words joined by _ and keep their meaning, see counters.h.
 */
struct figure {
    struct text name;
    uint64_t value;
};

enum end_reason {
    END_TARGET = 1, /* the target ended */
    END_SIGNAL,     /* the user stopped us */
    END_DURATION,   /* -d was over */
    END_ERROR,      /* we could not go on */
    END_NOT_PYTHON, /* the target became another program */
    END_SIZE,       /* the file was as large as it may be */
    END_UNWRITTEN,  /* the file took no more: what the recorder had last is not in it */
    END_REASONS
};

struct end {
    enum end_reason reason;
    uint64_t time_ns;
    uint64_t ticks, samples, missed, failed;
    int wait_status; /* of the command as waitpid() gave it; -1 unknown */
};

struct event {
    enum event_kind kind;
    union {
        struct recording recording;
        struct process process;
        struct thread thread;
        struct change change;
        struct task task;
        struct string string;
        struct function function;
        struct frame frame;
        struct sample sample;
        struct failed failed;
        struct left_out left_out;
        uint64_t missed; /* EVENT_MISSED: how many ticks before the next one */
        struct {
            uint64_t tick_ns;    /* EVENT_TICK: its time */
            uint64_t more_ticks; /* where samples are given in runs: ticks before it that are told with it */
        };
        struct figure figure;
        struct end end;
        struct process_origin origin;
    };
};

/* "3.15.2", "3.15.0rc1" from a PY_VERSION_HEX; `room` has 32 bytes. Returns it. */
const char *event_python_version_text(char *room, uint32_t version);

/* A failure's cause and the end's reason in words: "changed while read", "the target ended". */
const char *event_failure_text(enum failure cause);
const char *event_end_reason_text(enum end_reason reason);

#endif
