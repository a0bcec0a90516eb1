/* SPDX-License-Identifier: MIT */
#include "convert/top/window.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

void window_add_sums(struct window_sums *sums, const struct window_sums *more)
{
    for (size_t i = 0; i < WINDOW_SUMS; i++) {
        sums->self[i] += more->self[i];
        sums->total[i] += more->total[i];
    }
}

static void take_away(struct window_sums *sums, const struct window_sums *less)
{
    for (size_t i = 0; i < WINDOW_SUMS; i++) {
        sums->self[i] -= less->self[i];
        sums->total[i] -= less->total[i];
    }
}

/* The log of a second that is in the window. */
static struct window_log *log_of(struct recent_window *window, uint64_t second)
{
    return &window->logs[second % window->seconds];
}

static void drop_log(struct recent_window *window, struct window_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        take_away(&window->rows[log->rows[i].row].recent, &log->rows[i].sums);
    log->count = 0;
}

void window_advance(struct recent_window *window, uint64_t second)
{
    if (second <= window->now)
        return;
    const uint64_t steps = second - window->now < window->seconds ? second - window->now : window->seconds;
    for (uint64_t i = 0; i < steps; i++)
        drop_log(window, log_of(window, second - i));
    window->now = second;
}

/* The place where the row stands in the log of a second; made if absent. A row that came late may stand there twice. */
static struct window_sums *place_in_log(struct recent_window *window, uint32_t number, uint64_t second)
{
    struct window_log *log = log_of(window, second);
    struct window_row *row = &window->rows[number];
    if (row->second != second || row->at == 0) {
        log->rows = alloc_grow(log->rows, &log->room, log->count + 1, sizeof(*log->rows));
        log->rows[log->count++] = (struct window_added){ .row = number };
        row->second = second;
        row->at = log->count;
    }
    return &log->rows[row->at - 1].sums;
}

void window_add(struct recent_window *window, uint32_t row, uint64_t second, const struct window_sums *sums)
{
    window->rows = alloc_grow(window->rows, &window->room, (size_t)row + 1, sizeof(*window->rows));
    if (row >= window->count)
        window->count = (size_t)row + 1;
    window_advance(window, second);
    window_add_sums(&window->rows[row].all, sums);
    if (second + window->seconds <= window->now)
        return;
    window_add_sums(&window->rows[row].recent, sums);
    window_add_sums(place_in_log(window, row, second), sums);
}

void window_free(struct recent_window *window)
{
    for (size_t i = 0; i < WINDOW_SECONDS_MOST; i++)
        free(window->logs[i].rows);
    free(window->rows);
    *window = (struct recent_window){ 0 };
}
