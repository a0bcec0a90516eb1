/* SPDX-License-Identifier: MIT */
/* The view is what the user has chosen to see: which table, of whose samples, by which measure, in which order. Keys
 * change the choice, and view_make() makes the rows of the table from a still picture. The view knows no terminal.
 *
 *     functions     self, total          of all, or of one thread, process or task
 *     instructions  self                 the same, at which instruction threads stand (--opcodes)
 *     threads, processes, tasks          CPU, lock, waiting for the lock, each as a share of the time
 *     calls         who calls a function, and whom it calls */
#ifndef PYREEL_CONVERT_TOP_VIEW_H
#define PYREEL_CONVERT_TOP_VIEW_H

#include "convert/top/still.h"

enum view_table {
    VIEW_FUNCTIONS,
    VIEW_THREADS,
    VIEW_PROCESSES,
    VIEW_TASKS,
    VIEW_INSTRUCTIONS,
    VIEW_CALLS,
    VIEW_TABLES
};

enum view_sort { VIEW_BY_SELF, VIEW_BY_TOTAL, VIEW_BY_NAME, VIEW_SORTS };

/* The time that shares are parts of. */
enum view_measure { VIEW_CPU, VIEW_WALL, VIEW_BUSY, VIEW_GIL, VIEW_GIL_WAIT, VIEW_MEASURES };

/* The owners whose samples count: those that are alike in what is set. */
struct view_whose {
    uint32_t process; /* 0: all */
    bool of_thread;   /* the thread of this name */
    struct text thread;
    bool of_task; /* the task of this name */
    struct text task;
};

#define VIEW_FILTER_MOST 60

struct view_row {
    struct text name;
    struct text file;        /* of functions; the program of threads and tasks; empty: none */
    uint32_t line;           /* 0: none */
    uint32_t pid;            /* of threads, processes and tasks */
    uint32_t number;         /* of the function */
    size_t threads;          /* how many threads have had samples; of a task, how many runs of it */
    struct view_whose whose; /* of threads, processes and tasks: whose functions Enter shows */
    bool caller, callee;     /* in calls */
    struct window_sums sums;
};

enum view_wish { VIEW_GOES_ON, VIEW_QUITS, VIEW_DETACHES };

/* `= {0}` shows the functions of the last seconds. */
struct view {
    enum view_table table;
    enum view_sort sort;
    enum view_measure measure;
    bool measure_chosen; /* by the user; else CPU time where it is known, and of a program that mostly waits wall-clock
                            time */
    bool lines;          /* functions: a row for each line that ran */
    bool all;            /* of all the time; else of the window */
    bool paused;
    bool help;
    bool typing; /* the filter */
    char filter[VIEW_FILTER_MOST + 1];
    size_t filter_size;
    struct view_whose whose;
    uint32_t function;      /* with VIEW_CALLS */
    enum view_table before; /* the table from which Enter led to the functions of `whose` */
    size_t selected, first; /* rows of the table: the selected one, and the first one on the screen */
    size_t page;            /* how many rows the screen has; set by whoever draws */

    struct view_row *rows;
    size_t count, room;
    uint64_t whole;      /* the sum that 100 % is of, for functions and calls */
    uint64_t time_ns;    /* the time that 100 % is of, for threads, processes and tasks */
    size_t matching;     /* rows before the filter */
    uint32_t *by_number; /* scratch, by function, place or instruction: index of its row + 1 */
    size_t by_number_room;
};

/* Keys beyond characters. */
enum view_key {
    VIEW_KEY_UP = 0x110000,
    VIEW_KEY_DOWN,
    VIEW_KEY_PAGE_UP,
    VIEW_KEY_PAGE_DOWN,
    VIEW_KEY_HOME,
    VIEW_KEY_END,
    VIEW_KEY_ENTER,
    VIEW_KEY_BACK, /* Backspace */
    VIEW_KEY_ESCAPE,
    VIEW_KEY_TAB,
};

/* Takes a key: a character (a code point), or one of enum view_key. Other keys do nothing. */
enum view_wish view_take_key(struct view *view, uint32_t key);

/* The measure that is shown. */
enum view_measure view_measure(const struct view *view, const struct still *still);

/* Makes the rows of the table. */
void view_make(struct view *view, const struct still *still);

/* The sum that a measure shows, and its name for people. */
enum window_sum view_sum(enum view_measure measure);
const char *view_measure_label(enum view_measure measure);

/* Frees the memory. */
void view_free(struct view *view);

#endif
