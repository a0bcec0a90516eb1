/* SPDX-License-Identifier: MIT */
/* Declarations that the files of this room share; no file outside the room includes this header. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_INTERNAL_H
#define PYREEL_FORMATS_GECKO_GECKO_INTERNAL_H

#include "formats/base/alloc.h"
#include "formats/gecko/columns/thinning.h"
#include "formats/gecko/gecko.h"
#include "formats/gecko/gecko_counters.h"
#include "formats/gecko/gecko_extra.h"
#include "formats/gecko/gecko_lines.h"
#include "formats/gecko/gecko_overhead.h"
#include "formats/gecko/markers/markers.h"
#include "formats/gecko/tables/gecko_leaves.h"
#include "formats/gecko/tables/gecko_libs.h"
#include "formats/gecko/tables/gecko_rows.h"
#include "formats/gecko/tables/gecko_sources.h"
#include "formats/intern/intern.h"
#include "formats/model/attribute.h"

/* The states of a thread that markers show with GECKO_MARKERS_ALL. A set of states has the bits 1 << state. */
enum gecko_state { STATE_GIL, STATE_CPU, STATE_NO_CPU, STATES };

struct gecko_sum {
    uint64_t ns, units;
};

/* The samples with one status. */
struct gecko_status_sum {
    uint64_t samples, ns;
};

/* The data of one thread. Times are in units of gecko->unit_ns. The columns `cpu`, `states` and `weights` begin with
 * the first sample that has a value, so a recording without such values does not pay for them. */
struct gecko_thread {
    struct spool_column samples; /* .stack is a code (gecko_leaves.h) */
    struct spool_column cpu;     /* per sample: CPU time so far; .stack is the enum cell_kind */
    struct spool_column states;  /* per change: its time; .stack is the set of states */
    struct spool_column tasks;   /* per change: its time; .stack is the task that the thread runs */
    struct spool_column weights; /* per sample: the wall-clock time in ns of all samples so far; .stack is unused */
    uint64_t interval_ns;        /* the interval of the thread's samples; 0: no sample yet */
    uint64_t first;              /* time of the first sample */
    uint64_t cpu_from;           /* number of samples before the first one in the column `cpu` */
    uint64_t weights_from;       /* number of samples before the first one whose wall-clock time is not the interval */
    uint64_t stands_ns;          /* how long the latest sample stands for; 0: an interval */
    struct gecko_sum cpu_sum;    /* CPU time that was placed on samples so far */
    struct gecko_sum late_sum;   /* ... and behind the last sample */
    struct gecko_late *late;     /* CPU time that was placed behind the last sample */
    size_t late_count, late_room;
    uint32_t stack;  /* the latest one that has Python frames; 0: none */
    uint32_t status; /* of the latest sample */
    uint32_t seen;   /* set of all states so far */
    bool left_out;   /* the mode left out ticks since the last sample */
    bool shared;     /* the thread has the samples of many tasks */
};

/* Entries that stand for an asyncio task. `= {0}` is empty. */
struct gecko_tasks {
    uint32_t *hosts; /* by thread: the thread or entry on whose line its samples are; 0: not decided */
    size_t hosts_room;
    uint32_t *shared; /* by process: the entry whose line is shared by the entries without a line */
    size_t shared_room;
    uint32_t *loops; /* by entry: the thread whose loop has the task; 0: not decided */
    size_t loops_room;
    struct intern threads; /* (process, tid, interpreter) of the threads that are no entries, ... */
    uint32_t *numbers;     /* ... and by number in `threads`: the thread */
    size_t numbers_room;
    uint32_t looked_at; /* number of definitions of threads that were looked at for `threads` */
    uint32_t lines;     /* number of entries with a line of their own */
    bool any;           /* some sample's thread ran a task */
};

/* An instruction that is the leaf of some stack. */
struct gecko_opcode {
    uint32_t instruction, base; /* strings */
    size_t label;               /* index in the labels of the leaves: [LOAD_ATTR_SLOT] */
};

/* `= {0}` is empty. */
struct gecko_opcodes {
    struct intern_pairs numbers; /* (instruction, base) -> row + 1, of instructions that are frames */
    struct gecko_opcode *rows;
    size_t rows_room;
    uint8_t *subcategories; /* by frame, when instructions are subcategories */
};

struct gecko {
    const struct tables *tables;
    struct gecko_style style;
    struct json_emitter json;
    struct spool spool;
    uint64_t unit_ns;       /* times of samples are multiples of this; 0 before the first sample */
    unsigned digits;        /* decimal digits of a millisecond in a unit */
    uint64_t written_units; /* time of the latest sample that was written on the line as a difference */
    uint32_t host;          /* see gecko_host() */
    uint64_t tick, tick_ns; /* the time of the latest sample, in units and in ns; 0: no sample yet */
    bool cpu_known;         /* some samples have CPU times */
    bool weighted;          /* some samples stand for a time other than the interval */
    uint32_t seen;          /* set of the states of all threads */

    struct gecko_thread *threads; /* by number */
    size_t threads_room;
    struct gecko_status_sum by_status[STATUS_VALUES]; /* of all samples */
    struct markers markers;
    struct gecko_tasks tasks;
    struct gecko_counters counters;
    struct gecko_opcodes opcodes;
    struct gecko_overhead overhead;
    struct gecko_extra extra;
    struct gecko_leaves leaves;
    struct gecko_categories categories;

    /* Made at the end. */
    uint64_t end_ns; /* of the window with which the viewer opens */
    struct gecko_tables rows;
    struct gecko_sources sources;
    struct gecko_libs libs;
    struct embedding embedding;
    struct intern strings; /* further strings, behind the strings of the tables */
    struct gecko_lines lines;
    uint64_t every; /* one of so many consecutive samples of a thread stays */
};

/* A time in units, rounded. */
static inline uint64_t gecko_in_units(const struct gecko *gecko, uint64_t ns)
{
    return ns / gecko->unit_ns + (ns % gecko->unit_ns * 2 >= gecko->unit_ns);
}
/* Counts how often each key was seen. `= {0}` is empty. */
struct gecko_again {
    struct intern keys;
    uint32_t *times; /* by the key's number */
    size_t times_room;
};

/* How often this key was seen before. */
uint32_t gecko_again_count(struct gecko_again *again, const void *key, size_t size);
void gecko_again_free(struct gecko_again *again);

/* Writes a time in milliseconds. */
static inline void gecko_emit_ms(struct json_emitter *json, const char *key, uint64_t ns)
{
    emit_decimal(json, key, ns, 6);
}

/* The data of a thread, and its samples. Empty for a thread without events. */
const struct gecko_thread *gecko_thread(const struct gecko *gecko, uint32_t thread);
const struct spool_column *gecko_samples(const struct gecko *gecko, uint32_t thread);

/* Which samples of a thread are in the profile. Each column of samples has cells for these samples only. */
struct thinning gecko_thinning(const struct gecko *gecko, uint32_t thread);

/* The data of a thread, made if absent. Not for number 0. */
static inline struct gecko_thread *gecko_thread_make(struct gecko *gecko, uint32_t thread)
{
    gecko->threads = alloc_grow(gecko->threads, &gecko->threads_room, (size_t)thread + 1, sizeof(*gecko->threads));
    return &gecko->threads[thread];
}

/* Takes the status and the task of a sample, for GECKO_MARKERS_ALL. `time` is the sample's time in units. Call it
 * before the sample is added to thread->samples. */
void gecko_status_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run, uint64_t time);

/* Takes ticks that the mode left out: the thread's states in them are unknown. */
void gecko_status_take_left_out(struct gecko *gecko, const struct left_out *left_out);

/* The time in units that a sample lasts which stands for `stands_ns`; 0: an interval. */
uint64_t gecko_status_width_units(const struct gecko *gecko, uint64_t stands_ns);

/* Takes the time that a sample stands for. Call it before the sample is added to thread->samples. */
void gecko_weights_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run);
/* Chooses the weight that the user leaves to the profile. Call it before the rest is written. */
void gecko_weights_choose(struct gecko *gecko);
/* Whether the samples have weights, and whether these are times; otherwise a weight is the number of samples for which
 * a sample stands. */
bool gecko_has_weights(const struct gecko *gecko);
bool gecko_weights_are_times(const struct gecko *gecko);
/* Writes these numbers for a thread. */
void gecko_weights_emit_counts(struct gecko *gecko, uint32_t thread);
/* Writes the weights of a thread's samples: the times that they stand for. For other weights than
 * GECKO_WEIGHT_CPU. */
void gecko_weights_emit_cells(struct gecko *gecko, uint32_t thread, struct spool_reader *reader);

/* The thread or entry on whose line a sample of `thread` is drawn; 0: it is not drawn. `status`: that of the sample. */
uint32_t gecko_tasks_host(struct gecko *gecko, uint32_t thread, uint32_t status);
/* Whether the number of a thread is that of an entry. */
static inline bool gecko_tasks_is_entry(const struct gecko *gecko, uint32_t thread)
{
    return thread < gecko->tables->threads_count && gecko->tables->threads[thread].thread.task != 0;
}

/* Takes a sample of an entry for the markers, which are on the line of the thread whose loop runs the task. */
void gecko_tasks_take_markers(struct gecko *gecko, const struct run *run);
/* Whether several entries share the line of this entry. */
bool gecko_tasks_shared(const struct gecko *gecko, uint32_t thread);
/* Takes the task that a sample's thread runs. `time` as in gecko_status_take(). */
void gecko_tasks_take(struct gecko *gecko, struct gecko_thread *thread, const struct run *run, uint64_t time);
/* Notes that the thread runs this task from `time` on. */
void gecko_tasks_change(struct gecko *gecko, struct gecko_thread *thread, uint64_t time, uint32_t task);
void gecko_tasks_free(struct gecko_tasks *tasks);

/* Whether the stack's leaf has an instruction that is shown as a frame. */
bool gecko_opcodes_has_frame(const struct gecko *gecko, uint32_t stack);
/* Makes the labels of the instructions. */
void gecko_opcodes_settle(struct gecko *gecko);
/* The label of the instruction at the leaf of a stack. */
size_t gecko_opcodes_label(const struct gecko *gecko, uint32_t stack);
/* The subcategory of a frame by its instruction; 0 when instructions are no subcategories. */
uint32_t gecko_opcodes_subcategory(const struct gecko *gecko, uint32_t frame);
void gecko_opcodes_free(struct gecko_opcodes *opcodes);

/* A marker: an interval on a thread's line, and the stack of the sample with which it begins. */
struct gecko_marker {
    uint64_t start, end;
    uint32_t stack;   /* code (gecko_leaves.h) */
    uint32_t subject; /* the state, the task, the frame */
};

/* Makes the markers of a thread, one kind after the other. Each kind uses the members that it needs. */
struct gecko_marker_reader {
    struct gecko *gecko;
    const struct gecko_thread *thread;
    struct spool_reader changes, samples;
    struct spool_sample change, sample; /* the latest change and the latest sample that were read */
    uint64_t usual;                     /* number of samples left before the first one with a weight */
    uint64_t width;                     /* duration of `sample` */
    uint64_t end;                       /* end of the thread's last sample */
    uint64_t now;
    uint32_t states, ended; /* the states after the change at `now`; the states that this change ended and whose markers
                             * are not given yet */
    bool stacks;            /* markers get a stack */
    bool over;
    struct gecko_marker open[STATES];
};

struct gecko_marker_kind {
    /* Prepares the first marker: `sample` is the first sample, `over` is false. */
    void (*begin)(struct gecko_marker_reader *reader);
    /* Gives the next marker; false when there is none. */
    bool (*next)(struct gecko_marker_reader *reader, struct gecko_marker *marker);
    struct text (*name)(const struct gecko_marker *marker);
    /* Writes the members of the marker's data. */
    void (*emit_data)(struct gecko *gecko, const struct gecko_marker *marker);
    /* Adds the schemas of the markers that the profile has. */
    void (*add_schemas)(const struct gecko *gecko, json_t *schemas);
};

extern const struct gecko_marker_kind gecko_state_markers, gecko_run_markers, gecko_opcode_markers;

/* Helpers for the kinds of markers: the stack of the sample at a time (call it with times that never go back); the
 * members that the data of all kinds have; the parts of a schema, in which the field `shown` is the label. */
uint32_t gecko_markers_stack_at(struct gecko_marker_reader *reader, uint64_t time);
void gecko_markers_emit_type(struct gecko *gecko, const char *type, const char *color);
void gecko_markers_emit_beginning(struct gecko *gecko, const struct gecko_marker *marker);
/* Writes the stack with which a marker begins. */
void gecko_markers_emit_cause(struct gecko *gecko, uint64_t start, uint32_t code);
void gecko_markers_add_field(json_t *fields, const char *key, const char *label, const char *format);
void gecko_markers_add_beginning_field(json_t *fields);
json_t *gecko_markers_schema(const char *name, const char *description, const char *shown, json_t *fields);

/* Decides which markers the profile has. Call it after the last event, before the lines are made. */
void gecko_markers_settle(struct gecko *gecko);

/* Writes the markers of a line's threads. */
void gecko_markers_emit(struct gecko *gecko, const struct gecko_line *line);
/* The schemas of all markers, for the viewer; [] when there are none. */
json_t *gecko_markers_schemas(const struct gecko *gecko);
/* Whether some of the line's markers are shown above its graph. */
bool gecko_markers_overview(const struct gecko *gecko, const struct gecko_line *line);
/* Whether an event loop of the line was blocked; then its samples have delays, from which the viewer draws jank. Below:
 * writes the delays of a thread's samples, as cells of the open column. */
bool gecko_markers_have_delays(const struct gecko *gecko, const struct gecko_line *line);
void gecko_markers_emit_delays(struct gecko *gecko, uint32_t thread, struct spool_reader *reader);

/* The set of states of a status. */
uint32_t gecko_state_markers_of(uint32_t status);
/* Adds the time that a sample stands for to the totals. */
void gecko_totals_take(struct gecko *gecko, const struct run *run);
/* The total time with a state. False: no sample is in this state. */
bool gecko_totals_get(const struct gecko *gecko, enum attribute state, uint64_t *ns);
/* Whether CPU time is known of nearly all samples. */
bool gecko_totals_know_cpu(const struct gecko *gecko);
/* The index of a text in the profile's strings; adds the text if absent. */
size_t gecko_tables_string(struct gecko *gecko, struct text text);

/* Writes the list of threads with their samples. */
void gecko_threads_emit(struct gecko *gecko);
/* Write the tables that all threads share, and the description of the recording. */
void gecko_tables_emit(struct gecko *gecko);
void gecko_meta_emit(struct gecko *gecko);
/* The end of the window with which the viewer opens: the last samples need their full widths. */
uint64_t gecko_meta_end_ns(const struct gecko *gecko);

#endif
