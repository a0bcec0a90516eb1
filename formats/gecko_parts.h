/* SPDX-License-Identifier: MIT */
/* What the parts of formats/gecko.h share; nobody else includes it. */
#ifndef PYREEL_FORMATS_GECKO_PARTS_H
#define PYREEL_FORMATS_GECKO_PARTS_H

#include "formats/gecko.h"
#include "formats/numbers.h"
#include "formats/paths.h"

/* Rows of meta.categories; a file's origin (formats/paths.h) is Python's subcategory. A function has one subcategory
 * whatever it does: a viewer greys a call tree node whose samples disagree. "Idle" is missing on purpose: a stack is
 * the same whether its thread waits or runs, and what tells them apart are the CPU times and markers. */
enum gecko_category { CATEGORY_OTHER, CATEGORY_PYTHON, CATEGORY_NATIVE, CATEGORY_GC };

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

/* Times are in units of gecko->unit_ns. The columns of CPU times and of states begin with the first sample that has
 * any, so that a recording without does not pay for them. */
struct gecko_thread {
    struct spool_column samples;
    struct spool_column cpu;    /* per sample: CPU time so far; 1: not known, instead of a stack */
    struct spool_column states; /* per change: since when; the set, instead of a stack */
    uint64_t cpu_from;          /* samples before the first that has a CPU time */
    uint64_t cpu_ns;            /* used so far */
    uint64_t tick;              /* in which it was looked at last */
    uint32_t seen;              /* states that it ever had */
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
    bool main;
};

struct gecko {
    const struct tables *tables;
    struct emitter json;
    struct spool spool;
    uint64_t unit_ns; /* a sample's time is written as a multiple of it; 0 before the first sample */
    unsigned digits;  /* of a millisecond, that a unit needs */
    uint64_t last_ns; /* time of the latest sample */
    uint64_t tick;    /* number of the open tick; a tick in which no thread could be read has none */
    bool blind;       /* the open tick is one */
    bool cpu_known;   /* some samples have CPU times */
    uint32_t seen;    /* states that any thread had */

    struct gecko_thread *threads; /* by number */
    size_t threads_room;
    uint64_t state_units[STATES]; /* of all threads together; known once their markers are written */

    /* Made when all is known. */
    struct gecko_sources sources;
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
void gecko_take_status(struct gecko *gecko, struct gecko_thread *thread, const struct sample *sample, uint64_t time);
void gecko_take_left_out(struct gecko *gecko, const struct left_out *left_out);
void gecko_take_failed(struct gecko *gecko, const struct failed *failed);
void gecko_take_tick(struct gecko *gecko);
/* How long a sample lasts. */
uint64_t gecko_interval_units(const struct gecko *gecko);
/* Writes the column of CPU times of a thread's samples; none when no sample of the recording has one. */
void gecko_emit_cpu(struct gecko *gecko, const struct gecko_thread *thread, struct spool_reader *reader);

/* Writes the markers of a thread. */
void gecko_emit_markers(struct gecko *gecko, const struct gecko_thread *thread);
/* What the viewer should know of markers: [] when there are none. */
json_t *gecko_marker_schema(const struct gecko *gecko);
const char *gecko_state_name(enum gecko_state state);
/* The states that a status stands for. */
uint32_t gecko_states_of(uint32_t status);
/* The place of its name among the strings. */
size_t gecko_state_string(const struct gecko *gecko, enum gecko_state state);

/* Decides which threads are shown, in which order and under which names. */
void gecko_lines_make(struct gecko *gecko);
void gecko_lines_free(struct gecko *gecko);
/* Writes the list of threads with their samples. */
void gecko_emit_threads(struct gecko *gecko);
/* The lines that are visible at first, and the one that is selected, as lists of places. */
json_t *gecko_visible_lines(const struct gecko *gecko);
json_t *gecko_selected_lines(const struct gecko *gecko);

/* Writes the tables that all threads share, and the recording's description. */
void gecko_emit_shared(struct gecko *gecko);
void gecko_emit_meta(struct gecko *gecko);

#endif
