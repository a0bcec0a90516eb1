/* SPDX-License-Identifier: MIT */
/* Declarations that the files of this room share; no file outside the room includes this header. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_INTERNAL_H
#define PYREEL_FORMATS_GECKO_GECKO_INTERNAL_H

#include "formats/gecko/gecko.h"
#include "formats/intern/intern.h"
#include "formats/model/paths.h"

/* Rows of meta.categories; a file's origin (formats/model/paths.h) is Python's subcategory. A function has one
 * subcategory whatever it does: a viewer greys a call tree node whose samples disagree. "Idle" is missing on purpose: a
 * stack is the same whether its thread waits or runs, and what tells them apart are the CPU times and markers. */
enum gecko_category {
    CATEGORY_OTHER,
    CATEGORY_PYTHON,
    CATEGORY_NATIVE,
    CATEGORY_GC,
    CATEGORY_TASK,        /* marks of asyncio tasks */
    CATEGORY_INSTRUCTION, /* there only when instructions are shown */
};

/* A source file. */
struct gecko_source {
    uint32_t file; /* string */
    enum origin origin;
    uint32_t package; /* that it is part of, from 1; 0: the program itself */
};

/* The files of all functions, and the packages they are part of. `= {0}` is empty. */
struct gecko_sources {
    uint32_t *by_file; /* the source's place in `rows` + 1, by string */
    struct gecko_source *rows;
    size_t count, room;
    struct text *packages; /* names by number, [0] unused; they point into the tables' strings */
    size_t packages_room;
    struct intern package_numbers;
};

/* Looks at the files of all functions. */
void gecko_sources_find(struct gecko_sources *sources, const struct tables *tables);
void gecko_sources_free(struct gecko_sources *sources);

/* What a thread may be doing, as markers show it; as a set, 1 << it. */
enum gecko_state { STATE_GIL, STATE_GIL_WAIT, STATE_CPU, STATE_NO_CPU, STATE_EXCEPTION, STATES };

/* Times are in units of gecko->unit_ns. The columns of CPU times, of states and of weights begin with the first sample
 * that has any, so that a recording without does not pay for them. */
struct gecko_thread {
    struct spool_column samples;
    struct spool_column cpu;     /* per sample: CPU time so far; 1: not known, instead of a stack */
    struct spool_column states;  /* per change: since when; the set, instead of a stack */
    struct spool_column tasks;   /* per change: since when; the task that it runs, instead of a stack */
    struct spool_column weights; /* per sample: time in ns that all so far stand for; no stack */
    uint64_t cpu_from;           /* samples before the first that has a CPU time */
    uint64_t weights_from;       /* samples before the first that stands for other than an interval */
    uint64_t stands_ns;          /* how long the latest sample stands for; 0: an interval */
    uint64_t cpu_ns;             /* used so far */
    uint64_t tick;               /* in which it was looked at last */
    uint32_t seen;               /* states that it ever had */
    bool shared;                 /* it has the samples of many tasks */
};

/* A process as the viewer should name it. */
struct gecko_process {
    char *title; /* app.py */
    char *pid;   /* 4242, or 4242.1 when the number was used before */
};

/* A thread of the profile, in the order in which they are shown. */
struct gecko_line {
    uint32_t thread; /* 0: there is none, the line only makes the profile one that opens */
    uint32_t process;
    bool main, task;
};

/* Entries that stand for an asyncio task. `= {0}` is empty. */
struct gecko_tasks {
    uint32_t *hosts; /* by thread: whose line its samples are on; 0: not decided */
    size_t hosts_room;
    uint32_t *shared; /* by process: the entry whose line those share that have none of their own */
    size_t shared_room;
    uint32_t lines; /* entries that have their own */
    bool run;       /* threads were seen to run tasks */
};

/* An instruction, with which stacks end: a frame and a function of its own, behind all others. */
struct gecko_opcode {
    uint32_t instruction, base; /* strings */
    size_t name;                /* string: [LOAD_ATTR_SLOT] */
    uint32_t subcategory;
};

/* A stack of the tables with the instruction at its leaf: a stack of its own, behind all others. */
struct gecko_leaf {
    uint32_t stack, opcode;
};

#define GECKO_BASES 250 /* subcategories; the viewer takes 256 at most */

/* `= {0}` is empty, and shows none. */
struct gecko_opcodes {
    bool shown;
    struct intern_pairs numbers; /* of (instruction, base): row + 1 */
    struct gecko_opcode *rows;
    size_t rows_room;
    uint32_t *leaf_of; /* by stack: its place in `leaves` + 1 */
    size_t leaf_of_room;
    struct gecko_leaf *leaves;
    size_t leaves_count, leaves_room;
    uint32_t bases[GECKO_BASES]; /* strings, in the order of the subcategories behind "Other" */
    uint32_t bases_count;
};

struct gecko {
    const struct tables *tables;
    struct emitter json;
    struct spool spool;
    uint64_t unit_ns;             /* a sample's time is written as a multiple of it; 0 before the first sample */
    unsigned digits;              /* of a millisecond, that a unit needs */
    uint64_t tick_ns, tick_units; /* a sample's time, and what it was rounded to */
    uint64_t tick;                /* number of the open tick; a tick in which no thread could be read has none */
    bool blind;                   /* the open tick is one */
    bool cpu_known;               /* some samples have CPU times */
    bool weighted;                /* some stand for other than an interval */
    uint32_t seen;                /* states that any thread had */

    struct gecko_thread *threads; /* by number */
    size_t threads_room;
    uint64_t state_units[STATES]; /* of all threads together; known once their markers are written */
    struct gecko_tasks tasks;
    struct gecko_opcodes opcodes;

    /* Made when all is known. */
    struct gecko_sources sources;
    struct intern strings;           /* behind those of the tables and the names of packages */
    struct gecko_process *processes; /* by number; [0] stands for none */
    size_t processes_count;
    struct gecko_line *lines;
    size_t lines_count;
};

/* Time as JSON, in milliseconds. */
static inline void gecko_emit_ms(struct emitter *json, const char *key, uint64_t ns)
{
    emit_decimal(json, key, ns, 6);
}

/* A thread of which nothing was taken is an empty one. */
const struct gecko_thread *gecko_thread(const struct gecko *gecko, uint32_t thread);
const struct spool_column *gecko_samples(const struct gecko *gecko, uint32_t thread);

/* The thread's row, made if there is none; not the one of number 0. */
struct gecko_thread *gecko_thread_make(struct gecko *gecko, uint32_t thread);

/* Takes what a sample says beside its stack; `time` is the sample's, which the thread does not have yet. */
void gecko_status_take(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample, uint64_t time);
void gecko_status_take_left_out(struct gecko *gecko, const struct left_out *left_out);
void gecko_status_take_failed(struct gecko *gecko, const struct failed *failed);
void gecko_status_take_tick(struct gecko *gecko);
/* How long a sample lasts that stands for so many ns; 0: for an interval. */
uint64_t gecko_status_width_units(const struct gecko *gecko, uint64_t stands_ns);
/* Writes the column of CPU times of a thread's samples; none when no sample of the recording has one. */
void gecko_status_emit_cpu(struct gecko *gecko, const struct gecko_thread *thread, struct spool_reader *reader);

/* Takes how long a sample stands for, which the thread does not have yet. */
void gecko_weights_take(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample);
/* Writes how long the samples of a thread stand for. */
void gecko_weights_emit(struct gecko *gecko, uint32_t thread, struct spool_reader *reader);

/* What the samples of a thread are part of: its own line, or one that many tasks share. */
uint32_t gecko_tasks_host(struct gecko *gecko, uint32_t thread);
/* Whether the line of this entry is a shared one. */
bool gecko_tasks_shared(const struct gecko *gecko, uint32_t thread);
/* Takes which task a sample found its thread running; `time` as above. */
void gecko_tasks_take(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample, uint64_t time);
/* From now on the thread runs this task. */
void gecko_tasks_change(struct gecko *gecko, struct gecko_thread *thread, uint64_t time, uint32_t task);
void gecko_tasks_free(struct gecko_tasks *tasks);

/* Takes the stack of a sample, whose leaf may have an instruction. */
void gecko_opcodes_take(struct gecko *gecko, uint32_t stack);
/* Names them, once there are no more. */
void gecko_opcodes_settle(struct gecko *gecko);
/* The row of a stack with the instruction of its leaf; its own row when it has none or none is shown. */
uint32_t gecko_opcodes_leaf(const struct gecko *gecko, uint32_t stack);
void gecko_opcodes_free(struct gecko_opcodes *opcodes);

/* An interval on a thread's line, and the stack of the sample that it begins with. */
struct gecko_marker {
    uint64_t start, end;
    uint32_t stack;
    uint32_t subject; /* the state, the task, the frame */
};

/* Makes the markers of a thread, kind after kind. A kind uses what it needs. */
struct gecko_marker_reader {
    struct gecko *gecko;
    const struct gecko_thread *thread;
    struct spool_reader changes, samples;
    struct spool_sample change, sample; /* those that are read */
    uint64_t usual;                     /* samples left before the first that has a weight */
    uint64_t width;                     /* of `sample` */
    uint64_t end;                       /* of the thread's last sample */
    uint64_t now;
    uint32_t states, ended; /* after the change at `now`; ended by it, and not given yet */
    bool stacks;            /* are wanted */
    bool over;
    struct gecko_marker open[STATES];
};

struct gecko_marker_kind {
    /* Goes to the first marker: `sample` is the first sample, `over` is false. */
    void (*begin)(struct gecko_marker_reader *reader);
    /* Gives the next one; false when there is none. */
    bool (*next)(struct gecko_marker_reader *reader, struct gecko_marker *marker);
    struct text (*name)(const struct gecko_marker *marker);
    /* Writes the members of its data. */
    void (*emit_data)(struct gecko *gecko, const struct gecko_marker *marker);
    /* Adds what the viewer should know of those that there are. */
    void (*add_schemas)(const struct gecko *gecko, json_t *schemas);
};

extern const struct gecko_marker_kind gecko_state_markers, gecko_task_markers, gecko_opcode_markers;

/* For the kinds: the stack of the sample at a time that does not go back; the members that the data of all have; the
 * parts of a schema, in which the field `shown` is the label. */
uint32_t gecko_markers_stack_at(struct gecko_marker_reader *reader, uint64_t time);
void gecko_markers_emit_type(struct gecko *gecko, const char *type, const char *color);
void gecko_markers_emit_beginning(struct gecko *gecko, const struct gecko_marker *marker);
void gecko_markers_add_field(json_t *fields, const char *key, const char *label, const char *format);
void gecko_markers_add_beginning_field(json_t *fields);
json_t *gecko_markers_schema(const char *name, const char *description, bool overview, const char *shown,
                             json_t *fields);

/* Writes the markers of a thread. */
void gecko_markers_emit(struct gecko *gecko, const struct gecko_thread *thread);
/* What the viewer should know of markers: [] when there are none. */
json_t *gecko_markers_schemas(const struct gecko *gecko);
/* The states that a status stands for. */
uint32_t gecko_state_markers_of(uint32_t status);
/* The place of a text among the strings, which has it from now on. The sources have been found. */
size_t gecko_tables_string(struct gecko *gecko, struct text text);

/* Decides which threads are shown, in which order and under which names. */
void gecko_threads_make_lines(struct gecko *gecko);
void gecko_threads_free_lines(struct gecko *gecko);
/* Writes the list of threads with their samples. */
void gecko_threads_emit(struct gecko *gecko);
/* The lines that are visible at first, and the one that is selected, as lists of places. */
json_t *gecko_threads_visible_lines(const struct gecko *gecko);
json_t *gecko_threads_selected_lines(const struct gecko *gecko);

/* Writes the tables that all threads share, and the recording's description. */
void gecko_tables_emit(struct gecko *gecko);
void gecko_meta_emit(struct gecko *gecko);

#endif
