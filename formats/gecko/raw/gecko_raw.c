/* SPDX-License-Identifier: MIT */
#include "formats/gecko/raw/gecko_raw.h"

#include "formats/gecko/gecko_cpu.h"
#include "formats/gecko/gecko_internal.h"

/* ---- tables ---- */

void gecko_raw_open_table(struct gecko *gecko, const char *key, const char *schema)
{
    emit_open(&gecko->json, key, '{');
    emit_literal(&gecko->json, "schema", schema);
    emit_open(&gecko->json, "data", '[');
}

void gecko_raw_close_table(struct gecko *gecko)
{
    emit_close(&gecko->json, ']');
    emit_close(&gecko->json, '}');
}

/* ---- samples ---- */

/* Writes the samples of a thread, row by row. */
struct rows {
    struct gecko *gecko;
    struct spool_reader samples;
    struct gecko_delays delays;
};

/* Writes the next sample. `cell`: its CPU time; NULL: no CPU times are known. */
static bool emit_row(struct rows *rows, const struct cell *cell)
{
    struct gecko *gecko = rows->gecko;
    struct json_emitter *json = &gecko->json;
    struct spool_sample sample;
    if (!spool_next(&rows->samples, &sample))
        return false;
    emit_open(json, NULL, '[');
    emit_integer(json, NULL, raw_tables_stack(gecko, sample.stack));
    emit_decimal(json, NULL, sample.time, gecko->digits);
    emit_decimal(json, NULL, gecko_delays_next(&rows->delays, sample.time), gecko->digits);
    if (cell)
        gecko_cpu_emit_cell(gecko, cell);
    emit_close(json, ']');
    return true;
}

static void give(void *self, const struct cell *cell)
{
    emit_row(self, cell);
}

/* A cell of CPU time is known only when later samples are read, so the rows have a reader of their own. */
static void emit_thread_rows(struct rows *rows, uint32_t thread, struct gecko_cpu_writer *writer)
{
    struct gecko *gecko = rows->gecko;
    spool_rewind(&rows->samples, &gecko->spool, gecko_samples(gecko, thread));
    rows->delays = gecko_delays_of(gecko, thread);
    if (gecko_knows_cpu(gecko)) {
        gecko_cpu_give_cells(gecko, thread, writer, give, rows);
        return;
    }
    while (emit_row(rows, NULL)) {
    }
}

static void emit_samples(struct rows *rows, const struct gecko_line *line, struct gecko_cpu_writer *writer)
{
    struct gecko *gecko = rows->gecko;
    gecko_cpu_begin_line(writer);
    gecko_raw_open_table(gecko, "samples",
                         gecko_knows_cpu(gecko) ? "{\"stack\":0,\"time\":1,\"eventDelay\":2,\"threadCPUDelta\":3}"
                                                : "{\"stack\":0,\"time\":1,\"eventDelay\":2}");
    for (size_t at = 0; at < line->count; at++)
        emit_thread_rows(rows, line->threads[at], writer);
    gecko_raw_close_table(gecko);
}

/* ---- processes ---- */

/* Writes the threads of a process. Returns the index of the line behind them: lines are in the order of processes. */
static size_t emit_threads(struct gecko *gecko, size_t first)
{
    struct rows rows = { .gecko = gecko };
    struct gecko_cpu_writer writer = { 0 };
    struct gecko_again tids = { 0 };
    const uint32_t process = gecko->lines.rows[first].process;
    size_t i = first;
    emit_open(&gecko->json, "threads", '[');
    for (; i < gecko->lines.count && gecko->lines.rows[i].process == process; i++) {
        const struct gecko_line *line = &gecko->lines.rows[i];
        emit_open(&gecko->json, NULL, '{');
        gecko_threads_emit_identity(gecko, line, &tids);
        emit_samples(&rows, line, &writer);
        gecko_markers_emit_rows(gecko, line);
        raw_tables_emit(gecko);
        emit_close(&gecko->json, '}');
    }
    emit_close(&gecko->json, ']');
    gecko_again_free(&tids);
    gecko_cpu_writer_free(&writer);
    spool_reader_free(&rows.samples);
    return i;
}

/* Writes the members that each process has. Returns the index of the next process's first line. */
static size_t emit_process(struct gecko *gecko, size_t first)
{
    const struct gecko_line *line = &gecko->lines.rows[first];
    emit_literal(&gecko->json, "libs", "[]");
    emit_literal(&gecko->json, "pages", "[]");
    emit_literal(&gecko->json, "pausedRanges", "[]");
    const size_t next = emit_threads(gecko, first);
    gecko_counters_emit_process(gecko, line->process);
    return next;
}

static void emit_further_processes(struct gecko *gecko, size_t next)
{
    struct json_emitter *json = &gecko->json;
    emit_open(json, "processes", '[');
    while (next < gecko->lines.count) {
        const uint32_t process = gecko->lines.rows[next].process;
        emit_open(json, NULL, '{');
        next = emit_process(gecko, next);
        emit_literal(json, "processes", "[]");
        gecko_meta_emit_process(gecko, process);
        emit_close(json, '}');
    }
    emit_close(json, ']');
}

void gecko_raw_emit(struct gecko *gecko)
{
    emit_open(&gecko->json, NULL, '{');
    const size_t next = emit_process(gecko, 0);
    emit_further_processes(gecko, next);
    gecko_meta_emit(gecko);
    emit_close(&gecko->json, '}');
}
