/* SPDX-License-Identifier: MIT */
/* Sums of the last seconds and of all the time, by row. Whoever has the window numbers the rows. The window keeps what
 * each of the last seconds added, and takes this away again when the second leaves the window. So memory grows with the
 * rows and with what the last seconds touched, never with samples.
 *
 *     second        1      2      3      4        a window of 3 seconds
 *     row 1 got     5 ms   1 ms          2 ms     recent: 3 ms     all: 8 ms
 *     row 2 got            4 ms                   recent: 4 ms     all: 4 ms
 *
 * Seconds are those of the recording. What comes late counts in its own second. */
#ifndef PYREEL_CONVERT_TOP_WINDOW_H
#define PYREEL_CONVERT_TOP_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define WINDOW_SECONDS_MOST 60

/* The times that a window sums up, in nanoseconds. */
enum window_sum {
    WINDOW_CPU,      /* CPU time */
    WINDOW_WALL,     /* wall-clock time */
    WINDOW_BUSY,     /* wall-clock time in which the thread did not wait */
    WINDOW_GIL,      /* time with the interpreter's lock */
    WINDOW_GIL_WAIT, /* time of waiting for the interpreter's lock */
    WINDOW_SUMS
};

struct window_sums {
    uint64_t self[WINDOW_SUMS], total[WINDOW_SUMS];
};

struct window_row {
    struct window_sums all, recent;
    uint64_t second; /* the second in whose log the row stands last, ... */
    size_t at;       /* ... and its index in this log + 1; 0: in none */
};

struct window_added {
    uint32_t row;
    struct window_sums sums;
};

/* The rows to which a second added times. */
struct window_log {
    struct window_added *rows;
    size_t count, room;
};

/* `= {0}` with `seconds` set is empty. */
struct recent_window {
    unsigned seconds;        /* 1 to WINDOW_SECONDS_MOST */
    uint64_t now;            /* the latest second */
    struct window_row *rows; /* by number */
    size_t count, room;
    struct window_log logs[WINDOW_SECONDS_MOST]; /* of the seconds in the window, by second modulo `seconds` */
};

/* Moves the window on, so that `second` is in it. An earlier second changes nothing. */
void window_advance(struct recent_window *window, uint64_t second);

/* Adds to a row, in a second. A second that has left the window counts in `all` only. */
void window_add(struct recent_window *window, uint32_t row, uint64_t second, const struct window_sums *sums);

/* Adds all sums of `more` to `sums`. */
void window_add_sums(struct window_sums *sums, const struct window_sums *more);

/* Frees the memory. */
void window_free(struct recent_window *window);

#endif
