/* SPDX-License-Identifier: MIT */
#include "convert/fleets/windows.h"

#include "formats/base/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1000000000u

/* ---- time ---- */

void windows_begin(struct windows *windows, uint64_t start_unix_ns)
{
    windows->start_unix_ns = start_unix_ns;
    windows->next = start_unix_ns / windows->every_ns;
}

static uint64_t number_at(const struct windows *windows, uint64_t time_ns)
{
    return (windows->start_unix_ns + time_ns) / windows->every_ns;
}

/* When a window begins, since the start of the recording. */
static uint64_t begin_ns(const struct windows *windows, uint64_t number)
{
    const uint64_t start_unix_ns = number * windows->every_ns;
    return start_unix_ns > windows->start_unix_ns ? start_unix_ns - windows->start_unix_ns : 0;
}

uint64_t windows_due_ns(const struct windows *windows, uint64_t now_ns)
{
    const uint64_t open = number_at(windows, now_ns);
    return open > windows->next ? begin_ns(windows, open) : 0;
}

/* ---- windows ---- */

static struct window *new_window(const struct windows *windows, uint64_t number)
{
    struct window *window = alloc_zeroed(1, sizeof(*window));
    window->number = number;
    window->start_unix_ns = number * windows->every_ns;
    window->from_ns = begin_ns(windows, number);
    window->to_ns = begin_ns(windows, number + 1);
    window->content = alloc_zeroed(1, windows->kind->size);
    if (windows->kind->start)
        windows->kind->start(window->content);
    return window;
}

/* The open window of this time; made if absent. */
static struct window *window_at(struct windows *windows, uint64_t time_ns)
{
    uint64_t number = number_at(windows, time_ns);
    size_t at = windows->count;
    if (number < windows->next)
        number = windows->next;
    while (at > 0 && windows->open[at - 1]->number > number)
        at--;
    if (at > 0 && windows->open[at - 1]->number == number)
        return windows->open[at - 1];
    windows->open = alloc_grow(windows->open, &windows->room, windows->count + 1, sizeof(*windows->open));
    memmove(windows->open + at + 1, windows->open + at, (windows->count - at) * sizeof(*windows->open));
    windows->count++;
    return windows->open[at] = new_window(windows, number);
}

void windows_add_run(struct windows *windows, const struct run *run)
{
    windows->kind->add(window_at(windows, run->time_ns)->content, run);
}

struct window *windows_next(struct windows *windows, uint64_t due_ns)
{
    struct window *oldest = windows->count > 0 ? windows->open[0] : NULL;
    if (!oldest || oldest->to_ns > due_ns) {
        if (due_ns != UINT64_MAX)
            windows->next = number_at(windows, due_ns);
        return NULL;
    }
    windows->next = oldest->number + 1;
    memmove(windows->open, windows->open + 1, --windows->count * sizeof(*windows->open));
    return oldest;
}

void window_free(const struct windows *windows, struct window *window)
{
    windows->kind->free(window->content);
    free(window->content);
    free(window);
}

void windows_free(struct windows *windows)
{
    for (size_t i = 0; i < windows->count; i++)
        window_free(windows, windows->open[i]);
    free(windows->open);
    *windows = (struct windows){ 0 };
}

/* ---- names ---- */

/* Puts the name of a file at this time into `name`, which has room for a path. Returns the size; 0: none, or too long.
 * The pattern is the user's. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static size_t windows_put_name(char *name, const char *pattern, uint64_t unix_s)
{
    const time_t time = (time_t)unix_s;
    struct tm utc;
    return gmtime_r(&time, &utc) ? strftime(name, PATH_MAX, pattern, &utc) : 0;
}
#pragma GCC diagnostic pop

char *windows_file_name(const char *pattern, uint64_t start_unix_ns)
{
    char name[PATH_MAX];
    const size_t size = windows_put_name(name, pattern, start_unix_ns / SECOND_NS);
    return size ? alloc_copy(name, size) : NULL;
}

static bool same_name(const char *pattern, uint64_t apart_s)
{
    char first[PATH_MAX], later[PATH_MAX];
    return windows_put_name(first, pattern, 0) > 0 && windows_put_name(later, pattern, apart_s) > 0 &&
           strcmp(first, later) == 0;
}

/* The times after which a name of strftime() may come again. The names are compared from 1970-01-01 on: 31 days later
 * it is the first of a month again, and 365 days later the first of a year. */
static const struct {
    uint64_t apart_s;
    const char *apart, *missing;
} repeats[] = {
    { 60, "a minute", "minutes" },      { 3600, "an hour", "hours" },     { 43200, "12 hours", "hours as %H" },
    { 86400, "a day", "the date" },     { 604800, "a week", "the date" }, { 2678400, "a month", "the month" },
    { 31536000, "a year", "the year" },
};

bool windows_pattern_fits(const char *pattern, uint64_t every_ns, struct fault *why)
{
    static const char form[] = "-o 'app-%Y%m%dT%H%M%S.pb.gz'";
    char name[PATH_MAX];
    if (!pattern || !strchr(pattern, '%'))
        return fault(why, "--every writes a file for each window; name the files by their time, as in %s", form);
    if (windows_put_name(name, pattern, 0) == 0)
        return fault(why, "-o %s makes an empty name, or one that is too long", pattern);
    if (same_name(pattern, every_ns / SECOND_NS))
        return fault(why, "-o %s gives two windows in a row one name; say the whole time, as in %s", pattern, form);
    for (size_t i = 0; i < countof(repeats); i++)
        if (repeats[i].apart_s * SECOND_NS >= every_ns && same_name(pattern, repeats[i].apart_s))
            return fault(why, "-o %s gives windows %s apart one name; say %s, too, as in %s", pattern, repeats[i].apart,
                         repeats[i].missing, form);
    return true;
}
