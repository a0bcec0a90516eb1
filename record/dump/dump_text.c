/* SPDX-License-Identifier: MIT */
#include "record/dump/dump_text.h"

#include "formats/base/alloc.h"
#include "formats/terminal/printable.h"
#include "record/dump/dump_words.h"
#include "record/dump/task_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of frames in a row that stand at the same line, so many are shown, as in Python's tracebacks. */
#define SAME_SHOWN  3
#define INDENT      2  /* blanks for each task above a task, ... */
#define INDENT_MOST 40 /* ... and the most blanks */

enum colour { COLOUR_HEAD, COLOUR_FILE, COLOUR_LINE, COLOUR_NAME, COLOUR_OFF, COLOURS };

/* Those in which CPython 3.13 and later print tracebacks. */
static const char *const colours[COLOURS] = { "\033[1m", "\033[35m", "\033[35m", "\033[1;35m", "\033[0m" };

struct text_writer {
    struct output *to;
    const struct screen *screen;
    const struct dumped *dumped;
    const struct tables *tables;
    struct source_lines *lines;
    uint32_t indent; /* blanks in front of each line */
};

/* ---- pieces of lines ---- */

static void put_indent(const struct text_writer *w, uint32_t more)
{
    output_format(w->to, "%*s", (int)(w->indent + more), "");
}

static void text_put_colour(const struct text_writer *w, enum colour colour)
{
    if (w->screen->colours)
        output_string(w->to, colours[colour]);
}

/* Writes a text that is not trusted. */
static void put_text_safely(const struct text_writer *w, struct text text)
{
    struct bytes printable = { 0 };
    put_printable(&printable, text, w->screen->ascii);
    output_bytes(w->to, printable.at, printable.size);
    bytes_free(&printable);
}

static void put_coloured(const struct text_writer *w, enum colour colour, struct text text)
{
    text_put_colour(w, colour);
    put_text_safely(w, text);
    text_put_colour(w, COLOUR_OFF);
}

static void text_put_quoted(const struct text_writer *w, enum colour colour, struct text text)
{
    text_put_colour(w, colour);
    output_string(w->to, "\"");
    put_text_safely(w, text);
    output_string(w->to, "\"");
    text_put_colour(w, COLOUR_OFF);
}

/* Writes " (A, B)", if there are words. */
static void text_put_words(const struct text_writer *w, const struct dumped_row *row, const char *more)
{
    const char *words[DUMP_WORDS_MOST + 1];
    size_t count = dump_words(w->dumped, row, words);
    if (more)
        words[count++] = more;
    for (size_t i = 0; i < count; i++)
        output_format(w->to, "%s%s", i > 0 ? ", " : " (", words[i]);
    if (count > 0)
        output_string(w->to, ")");
}

/* ---- stacks ---- */

static void text_put_frame(const struct text_writer *w, const struct frame *frame)
{
    const struct text name = tables_function_name(w->tables, frame->function);
    const struct text file = tables_function_file(w->tables, frame->function);
    char number[16] = "?";
    put_indent(w, 2);
    const uint32_t module = w->tables->functions[frame->function].module;
    if (module) {
        output_string(w->to, "Binary file ");
        text_put_quoted(w, COLOUR_FILE, tables_string(w->tables, module));
        output_string(w->to, ", in ");
        put_coloured(w, COLOUR_NAME, name);
        output_string(w->to, "\n");
        return;
    }
    if (w->tables->functions[frame->function].kind != KIND_PYTHON) {
        put_text_safely(w, name);
        output_string(w->to, "\n");
        return;
    }
    if (frame->line)
        snprintf(number, sizeof(number), "%" PRIu32, frame->line);
    output_string(w->to, "File ");
    text_put_quoted(w, COLOUR_FILE, file);
    output_string(w->to, ", line ");
    put_coloured(w, COLOUR_LINE, text_of(number));
    output_string(w->to, ", in ");
    put_coloured(w, COLOUR_NAME, name);
    output_string(w->to, "\n");
    const struct text line = source_lines_find(w->lines, frame);
    if (line.size == 0)
        return;
    put_indent(w, 4);
    put_text_safely(w, line);
    output_string(w->to, "\n");
}

/* Writes the variables of a frame; NULL: there are none. */
static void text_put_locals(const struct text_writer *w, const struct frame_locals *frame)
{
    const struct locals *locals = &w->dumped->locals;
    for (size_t i = 0; frame && i < frame->count; i++) {
        const struct variable *variable = &locals->variables[frame->first + i];
        put_indent(w, 6);
        put_text_safely(w, locals_name(locals, variable));
        output_string(w->to, " = ");
        put_text_safely(w, locals_value(locals, variable));
        output_string(w->to, "\n");
    }
}

static bool same_line(const struct tables *tables, uint32_t a, uint32_t b)
{
    const struct frame *first = &tables->frames[a], *second = &tables->frames[b];
    return first->function == second->function && first->line == second->line;
}

/* `thread`: the number of the thread whose variables are shown; 0: none are. */
static void text_put_frames(const struct text_writer *w, const uint32_t *frames, size_t count, uint32_t thread)
{
    size_t same = 0; /* frames right above that stand at the same line */
    size_t at = 0;   /* in the variables */
    for (size_t i = 0; i < count; i++) {
        const struct frame_locals *variables = thread ? locals_next(&w->dumped->locals, thread, frames[i], &at) : NULL;
        same = i > 0 && same_line(w->tables, frames[i], frames[i - 1]) ? same + 1 : 0;
        if (same < SAME_SHOWN) {
            text_put_frame(w, &w->tables->frames[frames[i]]);
            text_put_locals(w, variables);
            continue;
        }
        if (i + 1 < count && same_line(w->tables, frames[i + 1], frames[i]))
            continue;
        const size_t more = same - SAME_SHOWN + 1;
        put_indent(w, 2);
        output_format(w->to, "[Previous line repeated %zu more time%s]\n", more, more == 1 ? "" : "s");
    }
}

static void text_put_stack(const struct text_writer *w, const struct dumped_row *row)
{
    size_t count;
    uint32_t *frames = dumped_frames(w->dumped, row, &count);
    text_put_frames(w, frames, count, dumped_is_task(w->dumped, row) ? 0 : row->thread);
    if (row->failure) {
        put_indent(w, 2);
        output_format(w->to, "<not read: %s>\n", dump_words_failure(w->dumped, row));
    } else if (count == 0) {
        put_indent(w, 2);
        output_string(w->to, NO_PYTHON_FRAMES "\n");
    }
    free(frames);
}

/* ---- threads ---- */

static void text_put_thread(const struct text_writer *w, const struct dumped_row *row)
{
    const struct thread *thread = &w->tables->threads[row->thread].thread;
    char interpreter[48];
    output_format(w->to, "\nThread %" PRIu32 " ", thread->tid);
    text_put_quoted(w, COLOUR_HEAD, tables_thread_name(w->tables, row->thread));
    if (row->ident)
        output_format(w->to, " 0x%" PRIx64, row->ident);
    snprintf(interpreter, sizeof(interpreter), "interpreter %" PRIu64, thread->interpreter);
    text_put_words(w, row, thread->interpreter ? interpreter : NULL);
    if (row->task) {
        output_string(w->to, " runs task ");
        text_put_quoted(w, COLOUR_HEAD, tables_task(w->tables, row->task)->task.name);
    }
    output_string(w->to, ":\n");
    text_put_stack(w, row);
}

/* ---- tasks ---- */

static void text_put_task(struct text_writer *w, const struct task_node *node)
{
    const struct dumped_row *row = &w->dumped->rows[node->row];
    const struct thread *thread = &w->tables->threads[row->thread].thread;
    const struct task_row *task = tables_task(w->tables, thread->task);
    w->indent = node->depth < INDENT_MOST / INDENT ? node->depth * INDENT : INDENT_MOST;
    put_indent(w, 0);
    output_string(w->to, "Task ");
    text_put_quoted(w, COLOUR_HEAD, task->task.name);
    text_put_words(w, row, NULL);
    if (task->waiter) {
        output_string(w->to, " awaited by ");
        text_put_quoted(w, COLOUR_HEAD, tables_task(w->tables, task->waiter)->task.name);
    }
    if (task->waiters > 1)
        output_format(w->to, " and %" PRIu32 " more", task->waiters - 1);
    output_string(w->to, ":\n");
    text_put_stack(w, row);
    w->indent = 0;
}

static void put_tasks(struct text_writer *w)
{
    const size_t count = w->dumped->count - w->dumped->threads;
    struct task_node *nodes = task_tree(w->dumped);
    output_format(w->to, "\n%zu asyncio task%s, each below the task that awaits it:\n", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        text_put_task(w, &nodes[i]);
    free(nodes);
}

/* ---- processes ---- */

static void text_put_head(const struct text_writer *w)
{
    const struct process *process = dumped_process(w->dumped);
    const char *standing = dump_words_standing(&w->dumped->standing);
    char version[32];
    if (w->dumped->core) {
        output_string(w->to, "Core file ");
        put_text_safely(w, text_of(w->dumped->core));
        output_string(w->to, "\n");
    }
    output_format(w->to, "Process %d", (int)w->dumped->pid);
    if (w->dumped->standing.parent)
        output_format(w->to, ", child of %d", (int)w->dumped->standing.parent);
    output_string(w->to, ": ");
    put_coloured(w, COLOUR_HEAD, process->command.size ? process->command : process->executable);
    output_format(w->to, "\nCPython %s%s, ", event_python_version_text(version, process->python_version),
                  process->build & BUILD_FREE_THREADED ? " free-threaded" : "");
    put_text_safely(w, process->executable);
    output_string(w->to, "\n");
    if (standing)
        output_format(w->to, "State: %s\n", standing);
    if (w->dumped->signal)
        output_format(w->to, "State: ended by signal %d (%s) in thread %d\n", w->dumped->signal,
                      strsignal(w->dumped->signal), (int)w->dumped->signal_tid);
    if (w->dumped->cut)
        output_string(w->to, "The core file is cut off: threads and frames may be missing\n");
    if (w->dumped->locals.full)
        output_string(w->to, "Some local variables are not shown: there are very many\n");
    if (w->dumped->moment == MOMENT_UNPROVED)
        output_string(w->to, "Not proved to be one moment: the program ran while it was read (--blocking stops it)\n");
}

void dump_text(struct output *to, const struct screen *screen, const struct dumped *dumped, struct source_lines *lines)
{
    struct text_writer w = { to, screen, dumped, &dumped->tables, lines, 0 };
    text_put_head(&w);
    for (size_t i = 0; i < dumped->threads; i++)
        text_put_thread(&w, &dumped->rows[i]);
    if (dumped->count > dumped->threads)
        put_tasks(&w);
}
