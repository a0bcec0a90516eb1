/* SPDX-License-Identifier: MIT */
#include "convert/top/screen.h"

#include "formats/base/alloc.h"
#include "formats/model/program_name.h"
#include "formats/terminal/printable.h"
#include "formats/terminal/width.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_LINES   4  /* above the titles of the columns */
#define HOT_PERCENT  10 /* of self */
#define WARM_PERCENT 2
#define FOOT_SHORT   "h help  q quit  | "

/* ---- lines ---- */

static struct bytes *screen_add_line(struct drawn *drawn, enum screen_style style)
{
    drawn->lines = alloc_grow(drawn->lines, &drawn->room, drawn->count + 1, sizeof(*drawn->lines));
    struct screen_line *line = &drawn->lines[drawn->count++];
    line->text.size = 0;
    line->style = style;
    return &line->text;
}

/* Adds a line of text that is printable; the end of what is too long is cut. */
static void screen_add_text(struct drawn *drawn, enum screen_style style, struct text text)
{
    width_put_beginning(screen_add_line(drawn, style), text, drawn->columns);
}

/* Adds a line of our own words. */
static void say(struct drawn *drawn, enum screen_style style, const char *words)
{
    screen_add_text(drawn, style, text_of(words));
}

/* Appends a name in so many columns, filled with blanks. */
static void screen_put_column(struct drawn *drawn, struct bytes *to, struct text name, size_t columns)
{
    drawn->scratch.size = 0;
    put_printable(&drawn->scratch, name, drawn->ascii);
    width_put_cell(to, bytes_text(&drawn->scratch), columns, drawn->ascii);
}

/* Appends a place in source, the same way. */
static void put_place(struct drawn *drawn, struct bytes *to, struct text file, uint32_t line, size_t columns)
{
    drawn->scratch.size = 0;
    put_printable(&drawn->scratch, file, drawn->ascii);
    if (line && file.size)
        put_format(&drawn->scratch, ":%" PRIu32, line);
    width_put_path_cell(to, bytes_text(&drawn->scratch), columns, drawn->ascii);
}

static double screen_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* ---- head ---- */

static void screen_put_time(struct bytes *to, uint64_t ns)
{
    const uint64_t seconds = ns / 1000000000u;
    if (seconds >= 3600)
        put_format(to, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600, seconds / 60 % 60, seconds % 60);
    else
        put_format(to, "%" PRIu64 ":%02" PRIu64, seconds / 60, seconds % 60);
}

/* Appends which program it is, as much of it as the columns have room for: the name, the process, the version of
 * Python. */
static void screen_put_program(struct drawn *drawn, struct bytes *to, const struct still *still, size_t columns)
{
    char version[32];
    char *title = program_name_title(still->command);
    put_printable(to, text_of(title), drawn->ascii);
    free(title);
    size_t fits = to->size;
    put_format(to, ", process %" PRIu32, still->pid);
    if (width_of(bytes_text(to)) > columns) {
        to->size = fits;
        return;
    }
    fits = to->size;
    put_format(to, ", CPython %s%s", event_python_version_text(version, still->python_version),
               still->free_threaded ? " free-threaded" : "");
    if (width_of(bytes_text(to)) > columns)
        to->size = fits;
}

/* The program at the left, the state of the recording at the right. */
static void add_title(struct drawn *drawn, const struct view *view, const struct still *still,
                      const struct screen_state *state)
{
    struct bytes left = { 0 }, right = { 0 };
    put_format(&right, view->paused ? "PAUSED; " : "");
    put_printable(&right, text_of(state->state), drawn->ascii);
    put_format(&right, ", ");
    screen_put_time(&right, still->end_ns);
    const size_t wanted = width_of(bytes_text(&right)) + 2;
    const size_t room = drawn->columns > wanted ? drawn->columns - wanted : 0;
    if (still->pid)
        screen_put_program(drawn, &left, still, room);
    else
        put_printable(&left, text_of(state->input), drawn->ascii);
    struct bytes *line = screen_add_line(drawn, state->alert || view->paused ? STYLE_ALERT : STYLE_TITLE);
    width_put_cell(line, bytes_text(&left), room, drawn->ascii);
    width_put_blanks(line, 2);
    width_put_beginning(line, bytes_text(&right), drawn->columns);
    bytes_free(&left);
    bytes_free(&right);
}

/* The sums of all owners. */
static struct window_sums whole_of(const struct view *view, const struct still *still)
{
    struct window_sums whole = { 0 };
    for (size_t i = 0; i < still->owners_count; i++)
        window_add_sums(&whole, view->all ? &still->by_owner[i].all : &still->by_owner[i].recent);
    return whole;
}

static void add_use(struct drawn *drawn, const struct view *view, const struct still *still)
{
    const struct window_sums whole = whole_of(view, still);
    struct bytes text = { 0 };
    uint64_t threads = 0;
    for (size_t i = 0; i < still->owners_count; i++)
        threads += still->owners[i].task.size ? 0 : still->owners[i].threads;
    put_format(&text, still->cpu_known ? "CPU %.0f %%" : "CPU not known",
               screen_percent(whole.total[WINDOW_CPU], view->time_ns));
    if (still->one_lock) {
        const double held = screen_percent(whole.total[WINDOW_GIL], view->time_ns);
        put_format(&text, ", GIL held %.0f %%", held < 100 ? held : 100);
        if (still->gil_wait_known)
            put_format(&text, ", waited for %.0f %%", screen_percent(whole.total[WINDOW_GIL_WAIT], view->time_ns));
    }
    put_format(&text, "; %" PRIu64 " thread%s", threads, threads == 1 ? "" : "s");
    if (still->processes > 1)
        put_format(&text, " in %zu processes, %zu live", still->processes, still->living);
    put_format(&text, "; %" PRIu64 " samples", still->samples);
    if (still->failed || still->lost)
        put_format(&text, ", %" PRIu64 " failed, %" PRIu64 " lost", still->failed, still->lost);
    screen_add_text(drawn, STYLE_PLAIN, bytes_text(&text));
    bytes_free(&text);
}

static void put_budget(struct bytes *to, double budget_percent)
{
    if (budget_percent > 0)
        put_format(to, " of %g", budget_percent);
    put_format(to, " %% CPU");
}

/* How exact the samples are, and what sampling costs. */
static void add_exactness(struct drawn *drawn, const struct still *still)
{
    const struct exactness *exactness = &still->exactness;
    struct bytes text = { 0 };
    if (still->pid && exactness->asked_hz >= 0)
        put_format(&text, "%g Hz asked", exactness->asked_hz);
    if (exactness->reached_hz >= 0 && still->samples)
        put_format(&text, exactness->reached_hz < 100 ? ", %.3g reached" : ", %.0f reached", exactness->reached_hz);
    if (still->samples && exactness->missed_percent >= 0)
        put_format(&text, ", %.1f %% missed", exactness_tenths(exactness->missed_percent));
    if (still->samples && exactness->exact_percent >= 0)
        put_format(&text, "; %.1f %% exact", exactness_tenths(exactness->exact_percent));
    if (still->counted_ns && exactness->taken_percent >= 0)
        put_format(&text, "; costs %.2f", screen_percent(still->taken_ns, still->counted_ns));
    if (still->counted_ns && exactness->taken_percent >= 0)
        put_budget(&text, exactness->budget_percent);
    if (!text.size)
        put_format(&text, "no figures of the recording yet");
    screen_add_text(drawn, STYLE_PLAIN, bytes_text(&text));
    bytes_free(&text);
}

static const char *const sorts[VIEW_SORTS] = {
    [VIEW_BY_SELF] = "self", [VIEW_BY_TOTAL] = "total", [VIEW_BY_NAME] = "name"
};

/* The title of a process that has owners. */
static struct text still_title(const struct still *still, uint32_t process)
{
    for (size_t i = 0; i < still->owners_count; i++)
        if (still->owners[i].number == process)
            return still->owners[i].process;
    return (struct text){ "", 0 };
}

static void put_whose(struct drawn *drawn, struct bytes *to, const struct still *still, const struct view_whose *whose)
{
    if (!whose->process) {
        put_format(to, "; all threads");
        return;
    }
    put_format(to, "; ");
    put_printable(to, still_title(still, whose->process), drawn->ascii);
    put_format(to, " ");
    put_printable(to,
                  whose->of_thread ? whose->thread
                  : whose->of_task ? whose->task
                                   : (struct text){ "", 0 },
                  drawn->ascii);
}

/* Says which samples and which measure the table shows. */
static void add_choice(struct drawn *drawn, const struct view *view, const struct still *still,
                       const struct screen_state *state)
{
    struct bytes text = { 0 };
    if (view->all)
        put_format(&text, "all the time");
    else
        put_format(&text, "last %u s", state->window_s);
    put_format(&text, ", by %s", view_measure_label(view_measure(view, still)));
    const bool functions = view->table == VIEW_FUNCTIONS || view->table == VIEW_CALLS;
    if (functions || view->sort == VIEW_BY_NAME) /* self and total of a thread are equal */
        put_format(&text, ", sorted by %s", sorts[view->sort]);
    if (view->lines && view->table == VIEW_FUNCTIONS)
        put_format(&text, "; by line");
    if (view->table == VIEW_CALLS && view->function < still->codes_count) {
        put_format(&text, "; calls of ");
        put_printable(&text, still->codes[view->function].name, drawn->ascii);
    } else if (functions || view->whose.process)
        put_whose(drawn, &text, still, &view->whose);
    if (view->filter_size || view->typing) {
        put_format(&text, "; filter: ");
        put_printable(&text, (struct text){ view->filter, view->filter_size }, drawn->ascii);
        put_format(&text, view->typing ? "_" : " (%zu of %zu)", view->count, view->matching);
    }
    screen_add_text(drawn, STYLE_PLAIN, bytes_text(&text));
    bytes_free(&text);
}

/* ---- rows ---- */

/* The columns that the name and the place have: half each of what is left by the numbers. */
struct screen_layout {
    size_t name, place;
};

static struct screen_layout layout_of(const struct drawn *drawn, size_t numbers)
{
    const size_t left = drawn->columns > numbers + 3 ? drawn->columns - numbers - 3 : 2;
    const size_t place = left / 2;
    return (struct screen_layout){ left - place, place };
}

static void put_percent(struct bytes *to, double value)
{
    put_format(to, value < 999.95 ? "%5.1f%% " : "%5.0f%% ", value < 99999 ? value : 99999);
}

static void put_seconds(struct bytes *to, uint64_t ns)
{
    const double seconds = (double)ns / 1e9;
    put_format(to, seconds < 99999.995 ? "%8.2f " : "%8.0f ", seconds < 99999999 ? seconds : 99999999);
}

/* Whether there is room for all columns: seconds of functions, and numbers of processes. */
static bool is_wide(const struct drawn *drawn)
{
    return drawn->columns >= 64;
}

static bool shows_functions(const struct view *view)
{
    return view->table == VIEW_FUNCTIONS || view->table == VIEW_INSTRUCTIONS || view->table == VIEW_CALLS;
}

/* The columns that numbers take in front of a name. */
static size_t numbers_of(const struct drawn *drawn, const struct view *view)
{
    if (shows_functions(view))
        return is_wide(drawn) ? 32 : 14;
    return is_wide(drawn) ? 37 : 28;
}

static void put_function_row(struct drawn *drawn, struct bytes *to, const struct view *view, const struct view_row *row,
                             enum window_sum sum)
{
    const bool calls = view->table == VIEW_CALLS;
    const struct screen_layout layout = layout_of(drawn, numbers_of(drawn, view));
    if (calls)
        put_format(to, "%s", row->caller && row->callee ? "itself " : row->caller ? "caller " : "callee ");
    else
        put_percent(to, screen_percent(row->sums.self[sum], view->whole));
    put_percent(to, screen_percent(row->sums.total[sum], view->whole));
    if (is_wide(drawn)) {
        if (calls)
            width_put_blanks(to, 9);
        else
            put_seconds(to, row->sums.self[sum]);
        put_seconds(to, row->sums.total[sum]);
    }
    put_bytes(to, " ", 1);
    screen_put_column(drawn, to, row->name, layout.name);
    put_bytes(to, "  ", 2);
    put_place(drawn, to, row->file, row->line, layout.place);
}

static void put_owner_row(struct drawn *drawn, struct bytes *to, const struct view *view, const struct still *still,
                          const struct view_row *row)
{
    const struct screen_layout layout = layout_of(drawn, numbers_of(drawn, view));
    const uint64_t *sums = row->sums.total;
    if (still->cpu_known)
        put_percent(to, screen_percent(sums[WINDOW_CPU], view->time_ns));
    else
        put_format(to, "%6s ", "?");
    put_percent(to, screen_percent(sums[WINDOW_GIL], view->time_ns));
    if (still->gil_wait_known)
        put_percent(to, screen_percent(sums[WINDOW_GIL_WAIT], view->time_ns));
    else
        put_format(to, "%6s ", "?");
    put_format(to, "%7zu", row->threads);
    if (is_wide(drawn))
        put_format(to, " %8" PRIu32, row->pid);
    put_bytes(to, " ", 1);
    screen_put_column(drawn, to, row->name, layout.name);
    put_bytes(to, "  ", 2);
    screen_put_column(drawn, to, row->file, layout.place);
}

/* The title of the last column. */
static const char *place_title(enum view_table table)
{
    if (table == VIEW_FUNCTIONS || table == VIEW_CALLS)
        return "FILE";
    return table == VIEW_PROCESSES || table == VIEW_INSTRUCTIONS ? "" : "PROGRAM";
}

static void add_titles(struct drawn *drawn, const struct view *view)
{
    static const char *const names[VIEW_TABLES] = {
        [VIEW_FUNCTIONS] = "FUNCTION", [VIEW_THREADS] = "THREAD",           [VIEW_PROCESSES] = "PROCESS",
        [VIEW_TASKS] = "TASK",         [VIEW_INSTRUCTIONS] = "INSTRUCTION", [VIEW_CALLS] = "FUNCTION"
    };
    const bool functions = shows_functions(view);
    struct bytes *line = screen_add_line(drawn, STYLE_COLUMNS);
    const struct screen_layout layout = layout_of(drawn, numbers_of(drawn, view));
    if (!functions)
        put_format(line, "   CPU    GIL  WAITS %s %s", view->table == VIEW_TASKS ? "  TASKS" : "THREADS",
                   is_wide(drawn) ? " PROCESS " : "");
    else
        put_format(line, "%s  TOTAL%s  ", view->table == VIEW_CALLS ? "CALL  " : "  SELF",
                   !is_wide(drawn)             ? ""
                   : view->table == VIEW_CALLS ? "            TOTAL s"
                                               : "   SELF s  TOTAL s");
    screen_put_column(drawn, line, text_of(names[view->table]), layout.name);
    put_bytes(line, "  ", 2);
    screen_put_column(drawn, line, text_of(place_title(view->table)), layout.place);
}

static enum screen_style screen_style_of(const struct view *view, const struct view_row *row, enum window_sum sum)
{
    const double self = screen_percent(row->sums.self[sum], view->whole);
    if (view->table != VIEW_FUNCTIONS && view->table != VIEW_INSTRUCTIONS)
        return STYLE_PLAIN;
    return self >= HOT_PERCENT ? STYLE_HOT : self >= WARM_PERCENT ? STYLE_WARM : STYLE_PLAIN;
}

/* Scrolls so that the selected row is on the screen. */
static void screen_scroll(struct view *view, size_t page)
{
    view->page = page;
    if (view->selected < view->first)
        view->first = view->selected;
    if (page && view->selected >= view->first + page)
        view->first = view->selected - page + 1;
    if (view->first + page > view->count)
        view->first = view->count > page ? view->count - page : 0;
}

static void add_rows(struct drawn *drawn, struct view *view, const struct still *still,
                     const struct screen_state *state, size_t page)
{
    const enum window_sum sum = view_sum(view_measure(view, still));
    screen_scroll(view, page);
    for (size_t i = view->first; i < view->count && i < view->first + page; i++) {
        const struct view_row *row = &view->rows[i];
        const bool selected = i == view->selected && !state->batch;
        struct bytes *line = screen_add_line(drawn, selected ? STYLE_SELECTED : screen_style_of(view, row, sum));
        if (shows_functions(view))
            put_function_row(drawn, line, view, row, sum);
        else
            put_owner_row(drawn, line, view, still, row);
    }
}

/* Why the table is empty. */
static void add_reason(struct drawn *drawn, const struct view *view, const struct still *still)
{
    if (view->filter_size && view->matching)
        say(drawn, STYLE_ALERT, "Nothing here matches the filter; Esc clears it.");
    else if (!still->samples)
        say(drawn, STYLE_ALERT, "No samples yet.");
    else if (view->table == VIEW_TASKS)
        say(drawn, STYLE_ALERT, "No asyncio tasks: record with --async running or --async all.");
    else if (view->table == VIEW_INSTRUCTIONS && !still->pairs[MODEL_INSTRUCTIONS].count)
        say(drawn, STYLE_ALERT, "No instructions: record with --opcodes.");
    else if (!view->all)
        say(drawn, STYLE_ALERT, "Nothing in the last seconds; w shows all the time.");
    else
        say(drawn, STYLE_ALERT, "Nothing to show.");
}

/* ---- the screen ---- */

static void add_foot(struct drawn *drawn, const struct view *view, const struct screen_state *state)
{
    drawn->scratch.size = 0;
    if (view->typing)
        say(drawn, STYLE_FOOT, "type what to look for; Enter keeps the filter, Esc clears it");
    else if (state->said.size) {
        put_bytes(&drawn->scratch, FOOT_SHORT, strlen(FOOT_SHORT));
        put_printable(&drawn->scratch, state->said, drawn->ascii);
        screen_add_text(drawn, STYLE_FOOT, bytes_text(&drawn->scratch));
    } else
        say(drawn, STYLE_FOOT, "h help  q quit  ftpao table  Enter more  m measure  w window  s sort  / filter");
}

static void draw_help(struct drawn *drawn, const struct screen_state *state, size_t lines)
{
    const char *const help[] = {
        "f t p a o  functions, threads, processes, asyncio tasks, instructions",
        "Tab        the next table",
        "Enter      of a thread, process or task: its functions; of a function:",
        "           who calls it, and whom it calls.  Backspace, Esc: back",
        "m          measure: CPU time, wall-clock time, the same without waits,",
        "           time with the GIL, time of waiting for the GIL",
        "w          the last seconds, or all the time",
        "l          functions by the line that ran, or by function",
        "s          sort by self, total, name",
        "/          show only what has this text in its name or file",
        "Space      pause: the view stands still, the recording goes on",
        "arrows, j k, PgUp, PgDn, Home, End: move",
        "SELF is time in the function itself, TOTAL with all that it calls.",
        "Threads: CPU, GIL and WAITS (for the GIL) in percent of the time.",
        state->starts ? "q          end the recording; a command gets ^C, as from pyreel-record" : "q          quit",
        state->starts ? "d          close the view only: recording and command go on to their end" : "",
    };
    say(drawn, STYLE_TITLE, "pyreel-top: keys (any key goes back)");
    for (size_t i = 0; i < countof(help) && drawn->count < lines; i++)
        say(drawn, STYLE_PLAIN, help[i]);
}

/* Says that the screen is too small, in what room there is. */
static void draw_too_small(struct drawn *drawn, size_t lines)
{
    drawn->scratch.size = 0;
    put_format(&drawn->scratch, "too small: %d x %d needed", SCREEN_COLUMNS_FEWEST, SCREEN_LINES_FEWEST);
    if (lines > 0)
        screen_add_text(drawn, STYLE_ALERT, bytes_text(&drawn->scratch));
}

void screen_draw(struct drawn *drawn, struct view *view, const struct still *still, const struct screen_state *state,
                 size_t columns, size_t lines)
{
    drawn->count = 0;
    drawn->columns = columns;
    drawn->ascii = state->ascii;
    if (columns < SCREEN_COLUMNS_FEWEST || lines < SCREEN_LINES_FEWEST) {
        draw_too_small(drawn, lines);
        return;
    }
    if (view->help) {
        draw_help(drawn, state, lines);
        return;
    }
    add_title(drawn, view, still, state);
    add_use(drawn, view, still);
    add_exactness(drawn, still);
    add_choice(drawn, view, still, state);
    add_titles(drawn, view);
    add_rows(drawn, view, still, state, lines - HEAD_LINES - 2);
    if (view->count == 0)
        add_reason(drawn, view, still);
    if (state->batch)
        return;
    while (drawn->count < lines - 1)
        screen_add_line(drawn, STYLE_PLAIN);
    add_foot(drawn, view, state);
}

void screen_free(struct drawn *drawn)
{
    for (size_t i = 0; i < drawn->room; i++)
        bytes_free(&drawn->lines[i].text);
    free(drawn->lines);
    bytes_free(&drawn->scratch);
    *drawn = (struct drawn){ 0 };
}
