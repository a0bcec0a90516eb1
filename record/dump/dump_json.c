/* SPDX-License-Identifier: MIT */
#include "record/dump/dump_json.h"

#include "formats/base/alloc.h"
#include "formats/model/attribute.h"
#include "record/dump/dump_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct json_writer {
    struct json_emitter *json;
    const struct dumped *dumped;
    const struct tables *tables;
    struct source_lines *lines;
};

/* Writes a number; null when it is not known. */
static void put_number_or_null(struct json_emitter *json, const char *key, int64_t number, bool known)
{
    if (known)
        emit_integer(json, key, number);
    else
        emit_literal(json, key, "null");
}

/* ---- stacks ---- */

static void json_put_locals(const struct json_writer *w, const struct frame_locals *frame)
{
    const struct locals *locals = &w->dumped->locals;
    emit_open(w->json, "locals", '[');
    for (size_t i = 0; frame && i < frame->count; i++) {
        const struct variable *variable = &locals->variables[frame->first + i];
        emit_open(w->json, NULL, '{');
        emit_text(w->json, "name", locals_name(locals, variable));
        emit_text(w->json, "value", locals_value(locals, variable));
        emit_close(w->json, '}');
    }
    emit_close(w->json, ']');
}

static void json_put_frame(const struct json_writer *w, const struct frame *frame, const struct frame_locals *locals)
{
    struct json_emitter *json = w->json;
    const struct function *function = &w->tables->functions[frame->function];
    emit_open(json, NULL, '{');
    emit_text(json, "function", tables_function_name(w->tables, frame->function));
    emit_text_or_null(json, "file", tables_function_file(w->tables, frame->function));
    emit_text_or_null(json, "binary", tables_string(w->tables, function->module));
    put_number_or_null(json, "line", frame->line, frame->line);
    put_number_or_null(json, "end_line", frame->end_line, frame->end_line);
    put_number_or_null(json, "column", frame->column, frame->column >= 0);
    put_number_or_null(json, "end_column", frame->end_column, frame->end_column >= 0);
    put_number_or_null(json, "first_line", function->first_line, function->first_line);
    emit_text_or_null(json, "source", source_lines_find(w->lines, frame));
    json_put_locals(w, locals);
    emit_close(json, '}');
}

static void json_put_frames(const struct json_writer *w, const struct dumped_row *row)
{
    size_t count;
    uint32_t *frames = dumped_frames(w->dumped, row, &count);
    emit_open(w->json, "frames", '[');
    size_t at = 0;
    const uint32_t thread = dumped_is_task(w->dumped, row) ? 0 : row->thread;
    for (size_t i = 0; i < count; i++)
        json_put_frame(w, &w->tables->frames[frames[i]],
                       thread ? locals_next(&w->dumped->locals, thread, frames[i], &at) : NULL);
    emit_close(w->json, ']');
    free(frames);
    const char *failure = row->failure ? dump_words_failure(w->dumped, row) : "";
    emit_text_or_null(w->json, "failure", text_of(failure));
}

static void put_states(const struct json_writer *w, const struct dumped_row *row)
{
    const char *words[DUMP_WORDS_MOST];
    const size_t count = dump_words(w->dumped, row, words);
    emit_open(w->json, "states", '[');
    for (size_t i = 0; i < count; i++)
        emit_text(w->json, NULL, text_of(words[i]));
    emit_close(w->json, ']');
}

/* ---- threads and tasks ---- */

static void json_put_thread(const struct json_writer *w, const struct dumped_row *row)
{
    struct json_emitter *json = w->json;
    const struct thread *thread = &w->tables->threads[row->thread].thread;
    emit_open(json, NULL, '{');
    emit_integer(json, "tid", thread->tid);
    put_number_or_null(json, "ident", (int64_t)row->ident, row->ident);
    emit_text(json, "name", tables_thread_name(w->tables, row->thread));
    emit_text_or_null(json, "kernel_name", thread->main ? thread->name : (struct text){ 0 });
    emit_flag(json, "main", thread->main);
    emit_integer(json, "interpreter", (int64_t)thread->interpreter);
    put_states(w, row);
    put_number_or_null(json, "task", row->task, row->task);
    json_put_frames(w, row);
    emit_close(json, '}');
}

static void json_put_task(const struct json_writer *w, const struct dumped_row *row)
{
    struct json_emitter *json = w->json;
    const struct thread *thread = &w->tables->threads[row->thread].thread;
    const struct task_row *task = tables_task(w->tables, thread->task);
    emit_open(json, NULL, '{');
    emit_integer(json, "id", thread->task);
    emit_text(json, "name", task->task.name);
    put_number_or_null(json, "tid", thread->tid, thread->tid);
    put_states(w, row);
    put_number_or_null(json, "awaited_by", task->waiter, task->waiter);
    emit_integer(json, "waiters", task->waiters);
    json_put_frames(w, row);
    emit_close(json, '}');
}

/* ---- processes ---- */

static void json_put_head(const struct json_writer *w)
{
    static const char *const moments[] = {
        [MOMENT_UNPROVED] = "not proved", [MOMENT_PROVEN] = "proved", [MOMENT_FROZEN] = "stopped"
    };
    struct json_emitter *json = w->json;
    const struct process *process = dumped_process(w->dumped);
    const char *standing = dump_words_standing(&w->dumped->standing);
    char version[32], date[32];
    emit_integer(json, "pid", w->dumped->pid);
    put_number_or_null(json, "parent_pid", w->dumped->standing.parent, w->dumped->standing.parent);
    emit_text_or_null(json, "command", process->command);
    emit_text_or_null(json, "executable", process->executable);
    emit_text(json, "python", text_of(event_python_version_text(version, process->python_version)));
    emit_flag(json, "free_threaded", process->build & BUILD_FREE_THREADED);
    emit_text(json, "date", text_of(event_date_text(date, w->dumped->unix_ns)));
    emit_text(json, "moment", text_of(moments[w->dumped->moment]));
    emit_text_or_null(json, "state", text_of(standing ? standing : ""));
    emit_flag(json, "core", w->dumped->core);
    put_number_or_null(json, "signal", w->dumped->signal, w->dumped->signal);
    put_number_or_null(json, "signal_tid", w->dumped->signal_tid, w->dumped->signal);
}

void dump_json_process(struct json_emitter *json, const struct dumped *dumped, struct source_lines *lines)
{
    const struct json_writer w = { json, dumped, &dumped->tables, lines };
    emit_open(json, NULL, '{');
    json_put_head(&w);
    emit_open(json, "threads", '[');
    for (size_t i = 0; i < dumped->threads; i++)
        json_put_thread(&w, &dumped->rows[i]);
    emit_close(json, ']');
    emit_open(json, "tasks", '[');
    for (size_t i = dumped->threads; i < dumped->count; i++)
        json_put_task(&w, &dumped->rows[i]);
    emit_close(json, ']');
    emit_close(json, '}');
}

void dump_json_begin(struct json_emitter *json)
{
    emit_open(json, NULL, '{');
    emit_text(json, "format", TEXT("pyreel-dump"));
    emit_integer(json, "version", 1);
    emit_open(json, "processes", '[');
}

void dump_json_end(struct json_emitter *json, json_t *others)
{
    emit_close(json, ']');
    emit_value(json, "not_dumped", others);
    emit_close(json, '}');
    output_string(json->to, "\n");
}
