/* SPDX-License-Identifier: MIT */
/* The lines of the viewer's timeline, which the viewer calls tracks: which threads are shown, in which order, with
 * which names. A line has one thread, or many short-lived threads, one after the other. A server that starts a thread
 * for each request has thousands of threads, and a line for each would hide the others. So threads of one process whose
 * names differ only by their numbers share lines, if they are many and short-lived. Threads that live at the same time
 * have different lines:
 *
 *     Thread-1 (work)   |----|                        #1 Thread (work)   |----| |---|
 *     Thread-2 (work)      |-----|             ->     #2 Thread (work)      |-----|
 *     Thread-3 (work)          |---|
 */
#ifndef PYREEL_FORMATS_GECKO_GECKO_LINES_H
#define PYREEL_FORMATS_GECKO_GECKO_LINES_H

#include "formats/model/tables.h"

#include <jansson.h>

struct gecko;

/* A process as the viewer names it. */
struct gecko_process {
    char *title; /* app.py */
    char *pid;   /* 4242; 4242.1 when an earlier process had the pid */
    size_t line; /* the index of the line of its main thread, or of its first thread; SIZE_MAX: it has no line */
};

/* A line of the timeline. */
struct gecko_line {
    const uint32_t *threads; /* in the order of their lives; they belong to the lines */
    size_t count;            /* 0: the line exists because a profile needs one */
    uint32_t process;
    bool main, task;
    char *name;
};

/* The lines in the order in which the viewer shows them. `= {0}` is empty. */
struct gecko_lines {
    struct gecko_line *rows;
    size_t count;
    uint32_t *threads;               /* of all lines, one line after the other */
    struct gecko_process *processes; /* by number; [0] stands for an unknown process */
    size_t processes_count;
    uint32_t *by_thread; /* by thread: the index of its line + 1; 0: it has none */
    size_t by_thread_count;
};

/* Makes the lines. Call it after the last sample. */
void gecko_lines_make(struct gecko *gecko);

/* Frees the lines and the processes. */
void gecko_lines_free(struct gecko_lines *lines);

/* The first thread of a line; 0: the line has no thread. */
static inline uint32_t gecko_line_first(const struct gecko_line *line)
{
    return line->count ? line->threads[0] : 0;
}

/* Whether several threads share the line, one after the other. */
static inline bool gecko_line_is_shared(const struct gecko_line *line)
{
    return line->count > 1;
}

/* The definition of a thread; an empty one for number 0. */
const struct thread *gecko_lines_thread(const struct gecko *gecko, uint32_t thread);

/* The row of a process; an empty one for number 0. */
const struct process_row *gecko_lines_process(const struct gecko *gecko, uint32_t process);

/* The indexes of the lines that are visible at first: those whose threads worked most. */
json_t *gecko_lines_visible(const struct gecko *gecko);

#endif
