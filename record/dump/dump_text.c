/* SPDX-License-Identifier: MIT */
#include "record/dump/dump_text.h"

#include "formats/base/alloc.h"
#include "formats/terminal/printable.h"
#include "record/dump/dump_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SAME_SHOWN 3 /* of frames in a row that stand at the same line, so many are shown, as in Python's tracebacks   \
                      */

enum colour { COLOUR_HEAD, COLOUR_FILE, COLOUR_LINE, COLOUR_NAME, COLOUR_OFF, COLOURS };

/* Bold; magenta for files, lines and names, as CPython 3.13 and later colour tracebacks. */
static const char *const colours[COLOURS] = { "\033[1m", "\033[35m", "\033[35m", "\033[1;35m", "\033[0m" };

struct writer {
    struct output *to;
    const struct screen *screen;
    const struct dumped *dumped;
    const struct tables *tables;
    struct source_lines *lines;
};

static void put_colour(const struct writer *w, enum colour colour)
{
    if (w->screen->colours)
        output_string(w->to, colours[colour]);
}

/* Writes a name that is not trusted. */
static void put_name(const struct writer *w, struct text text)
{
    struct bytes printable = { 0 };
    put_printable(&printable, text, w->screen->ascii);
    output_bytes(w->to, printable.at, printable.size);
    bytes_free(&printable);
}

/* ---- stacks ---- */

/* The frames of a stack, root first. The caller frees them. */
static uint32_t *frames_of(const struct tables *tables, uint32_t stack, size_t *count)
{
    *count = 0;
    for (uint32_t at = stack; at; at = tables->stacks[at].caller)
        ++*count;
    uint32_t *frames = alloc_zeroed(*count + 1, sizeof(*frames));
    size_t i = *count;
    for (uint32_t at = stack; at; at = tables->stacks[at].caller)
        frames[--i] = tables->stacks[at].frame;
    return frames;
}

static void put_frame(const struct writer *w, const struct frame *frame)
{
    const struct text name = tables_function_name(w->tables, frame->function);
    const struct text file = tables_function_file(w->tables, frame->function);
    if (file.size == 0) {
        output_string(w->to, "  ");
        put_name(w, name);
        output_string(w->to, "\n");
        return;
    }
    output_string(w->to, "  File ");
    put_colour(w, COLOUR_FILE);
    output_string(w->to, "\"");
    put_name(w, file);
    output_string(w->to, "\"");
    put_colour(w, COLOUR_OFF);
    output_string(w->to, ", line ");
    put_colour(w, COLOUR_LINE);
    if (frame->line)
        output_number(w->to, frame->line);
    else
        output_string(w->to, "?");
    put_colour(w, COLOUR_OFF);
    output_string(w->to, ", in ");
    put_colour(w, COLOUR_NAME);
    put_name(w, name);
    put_colour(w, COLOUR_OFF);
    output_string(w->to, "\n");
    const struct text line = source_lines_find(w->lines, frame);
    if (line.size == 0)
        return;
    output_string(w->to, "    ");
    put_name(w, line);
    output_string(w->to, "\n");
}

static bool same_line(const struct tables *tables, uint32_t a, uint32_t b)
{
    const struct frame *first = &tables->frames[a], *second = &tables->frames[b];
    return first->function == second->function && first->line == second->line;
}

static void put_repeated(const struct writer *w, size_t more)
{
    if (more > 0)
        output_format(w->to, "  [Previous line repeated %zu more time%s]\n", more, more == 1 ? "" : "s");
}

static void put_frames(const struct writer *w, const uint32_t *frames, size_t count)
{
    size_t same = 0;
    for (size_t i = 0; i < count; i++) {
        same = i > 0 && same_line(w->tables, frames[i], frames[i - 1]) ? same + 1 : 0;
        if (same < SAME_SHOWN) {
            put_frame(w, &w->tables->frames[frames[i]]);
        }
        const bool last = i + 1 == count || !same_line(w->tables, frames[i + 1], frames[i]);
        if (last && same >= SAME_SHOWN)
            put_repeated(w, same - SAME_SHOWN + 1);
    }
}

/* ---- threads ---- */

static void put_thread(const struct writer *w, const struct dumped_row *row)
{
    const struct thread *thread = &w->tables->threads[row->thread].thread;
    const char *words[DUMP_WORDS_MOST];
    const size_t words_count = dump_words(w->dumped, row, words);
    put_colour(w, COLOUR_HEAD);
    output_format(w->to, "Thread %" PRIu32 " \"", thread->tid);
    put_name(w, tables_thread_name(w->tables, row->thread));
    output_string(w->to, "\"");
    put_colour(w, COLOUR_OFF);
    const char *between = " (";
    for (size_t i = 0; i < words_count; i++, between = ", ")
        output_format(w->to, "%s%s", between, words[i]);
    if (thread->interpreter) {
        output_format(w->to, "%sinterpreter %" PRIu64, between, thread->interpreter);
        between = ", ";
    }
    if (row->ident) {
        output_format(w->to, "%sid 0x%" PRIx64, between, row->ident);
        between = ", ";
    }
    output_string(w->to, between[0] == ',' ? "):\n" : ":\n");
    if (row->failure) {
        output_format(w->to, "  <not read: %s>\n", event_failure_text(row->failure));
    } else if (row->stack == 0) {
        output_string(w->to, "  " NO_PYTHON_FRAMES "\n");
    } else {
        size_t count;
        uint32_t *frames = frames_of(w->tables, row->stack, &count);
        put_frames(w, frames, count);
        free(frames);
    }
}

/* ---- the process ---- */

static void put_head(const struct writer *w)
{
    const struct process *process = dumped_process(w->dumped);
    char version[32];
    put_colour(w, COLOUR_HEAD);
    output_format(w->to, "Process %d: ", (int)w->dumped->pid);
    put_name(w, process->command.size ? process->command : process->executable);
    put_colour(w, COLOUR_OFF);
    output_format(w->to, "\nCPython %s%s, ", event_python_version_text(version, process->python_version),
                  process->build & BUILD_FREE_THREADED ? " free-threaded" : "");
    put_name(w, process->executable);
    output_string(w->to, "\n");
    const char *standing = dump_words_standing(&w->dumped->standing);
    if (standing)
        output_format(w->to, "State: %s\n", standing);
    if (w->dumped->moment == MOMENT_LIVE)
        output_string(w->to,
                      "Not proved to be one moment: the program ran while it was read, so a thread may have moved "
                      "on (--blocking stops it)\n");
}

void dump_text(struct output *to, const struct screen *screen, const struct dumped *dumped, struct source_lines *lines)
{
    const struct writer w = { to, screen, dumped, &dumped->tables, lines };
    put_head(&w);
    for (size_t i = 0; i < dumped->threads; i++) {
        output_string(to, "\n");
        put_thread(&w, &dumped->rows[i]);
    }
}
