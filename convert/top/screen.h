/* SPDX-License-Identifier: MIT */
/* Draws a view as lines of text, each with a style, for a screen of any size. Nothing here knows a terminal: the lines
 * are what a terminal shows (terminal.h), what --batch prints, and what tests look at.
 *
 *     app.py, process 4242, CPython 3.15.2                              recording, 1:23
 *     CPU 99 %, GIL held 98 %, waited for 12 %; 3 threads, 12345 samples
 *     1000 Hz asked, 998 reached, 0.0 % missed; 99.9 % exact; costs 0.94 of 1 % CPU
 *     last 10 s, by CPU time; all threads; sorted by self
 *       SELF  TOTAL    SELF s   TOTAL s  FUNCTION                                  FILE
 *     61.3 % 61.3 %      5.91      5.91  parse                                app.py:12
 *     ...
 *     h help  / filter  q quit
 *
 * Names of the recorded program are made printable, so they are no commands to the terminal. */
#ifndef PYREEL_CONVERT_TOP_SCREEN_H
#define PYREEL_CONVERT_TOP_SCREEN_H

#include "convert/top/view.h"

#define SCREEN_COLUMNS_FEWEST 40
#define SCREEN_LINES_FEWEST   9

enum screen_style {
    STYLE_PLAIN,
    STYLE_TITLE,
    STYLE_COLUMNS,  /* the titles of the columns */
    STYLE_SELECTED, /* the selected row */
    STYLE_HOT,      /* a row with much self */
    STYLE_WARM,     /* a row with some self */
    STYLE_ALERT,    /* something that the user should know */
    STYLE_FOOT,
    STYLES
};

struct screen_line {
    struct bytes text; /* UTF-8 */
    enum screen_style style;
};

/* The words and figures of the header that the model does not have. */
struct screen_state {
    const char *input; /* what is read: a path */
    const char *state; /* "recording", "complete: ..." */
    bool alert;        /* the state is one that the user should know */
    struct text said;  /* what the recorder or the command said last; empty: nothing */
    unsigned window_s; /* seconds of the window */
    bool starts;       /* a command was started, so the keys q and d say what they do to it */
    bool ascii;        /* the terminal has no UTF-8 */
    bool batch;        /* for --batch: no keys, no selection */
};

/* `= {0}` is empty. */
struct drawn {
    struct screen_line *lines;
    size_t count, room;
    size_t columns;
    bool ascii;
    struct bytes scratch;
};

/* Draws the view: `lines` lines, of at most `columns` columns each. Sets view->page and view->first. */
void screen_draw(struct drawn *drawn, struct view *view, const struct still *still, const struct screen_state *state,
                 size_t columns, size_t lines);

/* Frees the memory. */
void screen_free(struct drawn *drawn);

#endif
