/* SPDX-License-Identifier: MIT */
/* What the parts of formats/gecko.h share; nobody else includes it. */
#ifndef PYREEL_FORMATS_GECKO_PARTS_H
#define PYREEL_FORMATS_GECKO_PARTS_H

#include "formats/gecko.h"
#include "formats/numbers.h"
#include "formats/paths.h"

/* Rows of meta.categories; a file's origin (formats/paths.h) is Python's subcategory. A function has one subcategory
 * whatever it does: a viewer greys a call tree node whose samples disagree. "Idle" is missing on purpose: nothing in
 * this version of the stream tells a waiting thread from a running one. */
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

struct gecko_thread {
    struct spool_column samples; /* times in units of gecko->unit_ns */
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

    struct gecko_thread *threads; /* by number */
    size_t threads_room;

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

/* The samples of a thread that has none are an empty column. */
const struct spool_column *gecko_samples(const struct gecko *gecko, uint32_t thread);

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
