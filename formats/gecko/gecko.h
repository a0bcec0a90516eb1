/* SPDX-License-Identifier: MIT */
/* Writes a profile for the Firefox Profiler in its "processed" JSON format, version 64. This is the oldest version that
 * shares tables between threads, and every viewer since reads it. A viewer refuses a newer version than its own and
 * converts older ones, so an old version loads in more places.
 *
 *     {"libs": [], "threads": [...], "shared": {...}, "counters": [], "meta": {...}}
 *
 * The format has samples column by column and thread by thread, so samples wait in a spool until the end. What the
 * samples need of the tables becomes the profile's tables (tables/gecko_rows.h). The category of a function says where
 * its code comes from (tables/gecko_categories.h), and a frame at the leaf of a stack says what a thread waits for, or
 * which instruction it runs (tables/gecko_leaves.h).
 *
 * A line is a row of the viewer's timeline. An entry that stands for an asyncio task has a marker on the line of the
 * thread whose loop runs the task, and the entry's samples are on that line while the task runs. On request, entries
 * have lines of their own, behind the lines of their process's threads.
 *
 * The parts, one file each: gecko.c takes the samples and writes the parts in order; gecko_status.c: the status of
 * threads; gecko_weights.c: the times that samples stand for; gecko_tasks.c: the tasks that threads run; markers/:
 * which markers there are; gecko_markers.c and gecko_marker_kinds.c: how the profile has them; gecko_state_markers.c:
 * the states of threads; gecko_cpu.c and columns/cells.c: CPU times; gecko_lines.c and gecko_lanes.c: the lines;
 * gecko_threads.c: what a line has; gecko_meta.c: the description of the recording; tables/: the tables that threads
 * share. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_H
#define PYREEL_FORMATS_GECKO_GECKO_H

#include "formats/base/json.h"
#include "formats/model/tables.h"
#include "formats/scratch/spool.h"
#include "formats/sources/embedding.h"

struct gecko;

/* How instructions are shown. */
enum gecko_opcodes_shown {
    GECKO_OPCODES_NONE,
    GECKO_OPCODES_SUBCATEGORIES, /* as subcategories of their functions' categories */
    GECKO_OPCODES_FRAMES,        /* as a frame at the leaf of each stack */
};

/* What a sample adds to the trees of the viewer. */
enum gecko_weight {
    GECKO_WEIGHT_USUAL,   /* CPU time where it is known of nearly all samples and any was used (weight_choice.h); else
                           * samples, and wall-clock time when samples stand for different times */
    GECKO_WEIGHT_SAMPLES, /* 1 */
    GECKO_WEIGHT_WALL,    /* the time that the sample stands for, in milliseconds */
    GECKO_WEIGHT_CPU,     /* the CPU time that is placed on the sample, in milliseconds */
};

/* The weight with this name; GECKO_WEIGHT_USUAL: there is none. */
enum gecko_weight gecko_weight_named(const char *name);

/* Which markers a profile has. */
enum gecko_markers {
    GECKO_MARKERS_FEW, /* what one looks for: waits for the lock, collections, exceptions, gaps, blocked loops, tasks */
    GECKO_MARKERS_ALL, /* also each change of a thread's state */
    GECKO_MARKERS_NONE,
};

/* How asyncio tasks are shown. */
enum gecko_tasks_shown {
    GECKO_TASKS_LIVES, /* a marker each; those whose names differ only by numbers have one name */
    GECKO_TASKS_ROWS, /* the same, and those that live at the same time have names of their own (markers/task_rows.h) */
    GECKO_TASKS_TRACKS, /* entries of tasks have lines of their own */
};

struct gecko_style {
    enum gecko_opcodes_shown opcodes;
    enum gecko_markers markers;
    bool compact; /* version 66: times and callers as differences, which newer viewers read and Perfetto does not */
    enum gecko_tasks_shown tasks;
    uint64_t gil_wait_ns;            /* shorter waits for the lock have no marker; 0: the default */
    bool embed_sources;              /* put the text of source files into the profile */
    bool full_paths;                 /* name files of the standard library by their paths, not by their public tags */
    struct source_folders path_maps; /* where files are on this machine */
    struct source_folders repositories; /* files with a public name */
    enum gecko_weight weight;
    uint64_t max_samples; /* the most samples of the profile, more or less; 0: all (columns/thinning.h) */
    bool leaves_out; /* the user left out threads, or samples by their state: the profile does not have all looks at
                      * the locks, so it has no counters of the locks */
};

/* Starts a profile that goes to `output`. The caller keeps `tables` and `output`, which must outlive the profile.
 * `output` is not closed. */
struct gecko *gecko_start(const struct tables *tables, struct output *output, struct gecko_style style);

/* Takes an event that the tables have accepted. Must not get a run whose stack is STACK_LOST. */
bool gecko_take(struct gecko *gecko, const struct event *event, struct fault *why);

/* The thread on whose line the latest sample is; 0: on none. This is the thread of a sample, but the line of an event
 * loop has the samples of its tasks. */
uint32_t gecko_host(const struct gecko *gecko);

/* Whether some sample says how much CPU time its thread used. */
bool gecko_knows_cpu(const struct gecko *gecko);

/* Takes the tables of a recording that is part of the profile and was read to its end, when several recordings are
 * merged: Profile Info then has rows for each. `name` is unique among the recordings. */
void gecko_take_recording(struct gecko *gecko, const struct tables *recording, struct text name);

/* Writes the profile. Call it once. Returns false with the reason when samples could not be stored or a text is not
 * UTF-8. Write errors are reported by output_close(). */
bool gecko_finish(struct gecko *gecko, struct fault *why);

/* The index of the thread of the profile on whose line the samples of a thread are; SIZE_MAX: there is none. Call it
 * after gecko_finish(). */
size_t gecko_line_of(const struct gecko *gecko, uint32_t thread);

/* The index of the thread of the profile that is selected at first: the one that worked most. Call it when the lines
 * are made. */
size_t gecko_selected_line(const struct gecko *gecko);

/* What became of the source files. Call it after gecko_finish(). */
const struct embedded_files *gecko_embedded(const struct gecko *gecko);

/* The index of the category of the user's own code. */
unsigned gecko_own_code_category(void);

/* After gecko_finish(): one of how many consecutive samples of a thread is in the profile, and how many samples that
 * are. */
uint64_t gecko_kept_one_of(const struct gecko *gecko);
uint64_t gecko_kept_samples(const struct gecko *gecko);

/* The number of samples of threads that are known not to run: --mode cpu leaves them out. */
uint64_t gecko_samples_off_cpu(const struct gecko *gecko);

/* Frees everything. */
void gecko_drop(struct gecko *gecko);

#endif
