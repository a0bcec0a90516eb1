/* SPDX-License-Identifier: MIT */
/* Splits the time of a recording into windows of equal length, and counts the samples of each window by themselves.
 * Windows are aligned to the clock, so the windows of all processes and machines agree. The first window begins with
 * the recording, and the last one ends with the recording.
 *
 *     recording                     10:00:07 ............ 10:00:41         --every 15
 *     windows named  10:00:00  10:00:15  10:00:30                          (UTC)
 *     their time     :07-:15   :15-:30   :30-:41
 *
 * A look counts in the window of its own time, and a window is due with the first tick behind its end. CPU time that is
 * known only later has no look of its own (run.count is 0), and counts in the oldest window that is open. So no
 * window loses anything, and the sums of all windows are the sums of the recording, but for a run's ends
 * (model/wall.h). The windows in memory are the open ones, which are one or two. The tables still hold every stack and
 * every thread of the recording so far. */
#ifndef PYREEL_CONVERT_FLEETS_WINDOWS_H
#define PYREEL_CONVERT_FLEETS_WINDOWS_H

#include "formats/base/fault.h"
#include "formats/model/event.h"

#define WINDOW_LEAST_NS 1000000000u

struct window {
    uint64_t number;         /* of windows since 1970 */
    uint64_t start_unix_ns;  /* when the window begins by the clock: before the recording, in the first window */
    uint64_t from_ns, to_ns; /* since the start of the recording; the recording may end before `to_ns` */
    void *content;           /* what is counted, of the windows' kind */
};

/* What an output counts in a window. */
struct window_kind {
    size_t size;                  /* of the content, which starts as zeros */
    void (*start)(void *content); /* NULL: zeros are a start */
    void (*add)(void *content, const struct run *run);
    void (*free)(void *content); /* frees what the content owns, but not the content */
};

/* `= {0}` is empty; set `every_ns`, the length of a window: WINDOW_LEAST_NS at least, and `kind`. */
struct windows {
    uint64_t every_ns;
    const struct window_kind *kind;
    uint64_t start_unix_ns; /* of the recording */
    uint64_t next;          /* the first window that is not given yet */
    struct window **open;   /* by time */
    size_t count, room;
};

/* Begins with the start of the recording. */
void windows_begin(struct windows *windows, uint64_t start_unix_ns);

/* Counts a sample, or CPU time that comes later (run->count is 1 or 0). Samples may come in any order. */
void windows_add_run(struct windows *windows, const struct run *run);

/* At the time `now_ns` since the start of the recording: the time up to which windows are due and not given yet. All
 * looks before that time must be counted before windows_next(). 0: no window is due. */
uint64_t windows_due_ns(const struct windows *windows, uint64_t now_ns);

/* Takes out the oldest window that ends at `due_ns` or earlier; UINT64_MAX: the oldest of all. NULL when there is none.
 * A window without samples does not exist. The caller frees the window with window_free(). */
struct window *windows_next(struct windows *windows, uint64_t due_ns);
void window_free(const struct windows *windows, struct window *window);

/* Frees all open windows. */
void windows_free(struct windows *windows);

/* The name of the file of a window that begins at this time: strftime() with the time in UTC. The caller frees the
 * name. NULL when the name is empty or longer than a path can be. */
char *windows_file_name(const char *pattern, uint64_t start_unix_ns);

/* Whether the files of windows can have names of this pattern (NULL: there is none); false with the reason. Two windows
 * with one name would be one file, so the pattern must have the date, and the time as far as windows differ. */
bool windows_pattern_fits(const char *pattern, uint64_t every_ns, struct fault *why);

#endif
