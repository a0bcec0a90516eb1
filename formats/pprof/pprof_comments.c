/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_comments.h"

#include "formats/model/exactness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define COMMENT_SIZE 240

/* The comments that are being made. */
struct pprof_comments_making {
    struct pprof_tables *refers;
    const struct aggregate *aggregate;
    const struct pprof_style *style;
    int64_t *made;
    size_t count;
};

/* Makes a comment one short line, because pprof prints comments above its tables. Returns the new size. */
static size_t tidy(char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7F)
            line[i] = ' ';
    if (size <= COMMENT_SIZE)
        return size;
    size = COMMENT_SIZE;
    while (((unsigned char)line[size] & 0xC0) == 0x80) /* do not cut a character in two */
        size--;
    return size;
}

__attribute__((format(printf, 2, 3))) static void comment(struct pprof_comments_making *making, const char *format, ...)
{
    char *line;
    va_list values;
    va_start(values, format);
    const int size = vasprintf(&line, format, values);
    va_end(values);
    if (size < 0)
        return;
    const struct text text = { line, tidy(line, (size_t)size) };
    making->made[making->count++] = pprof_tables_string(making->refers, text);
    free(line);
}

static void comment_process(struct pprof_comments_making *making, const struct process *process)
{
    char version[32];
    comment(making, "process %" PRIu32 ": Python %s%s%.*s", process->pid,
            event_python_version_text(version, process->python_version), process->command.size ? ": " : "",
            (int)process->command.size, process->command.bytes);
}

/* Adds comments about the exactness, if the recorder counted it. */
static void comment_exactness(struct pprof_comments_making *making)
{
    const struct exactness exactness = exactness_of(making->refers->tables);
    char room[EXACTNESS_ROOM];
    if (exactness.has_left_out && exactness_rate(room, &exactness)[0])
        comment(making, "rate: %s", room);
    if (exactness_share(room, &exactness)[0])
        comment(making, "%s", room);
}

/* Names the columns that are 0 because nobody knows them. */
static void comment_unknown(struct pprof_comments_making *making)
{
    const struct aggregate *aggregate = making->aggregate;
    for (enum aggregate_sum sum = 0; sum < SUMS; sum++) {
        const uint64_t unknown = aggregate->samples - aggregate_known(aggregate, sum);
        if (unknown == 0)
            continue;
        if (unknown == aggregate->samples)
            comment(making, "value %s is not known and 0: %s", sum_rows[sum].name, sum_rows[sum].reason);
        else
            comment(making, "value %s is not known of %" PRIu64 " samples: %s", sum_rows[sum].name, unknown,
                    sum_rows[sum].reason);
    }
}

/* Adds comments about the programs that were recorded. */
static void comment_programs(struct pprof_comments_making *making)
{
    const struct tables *tables = making->refers->tables;
    const struct recording *recording = &tables->recording;
    size_t processes = 0;
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.number && processes++ < PPROF_COMMENTED_PROCESSES)
            comment_process(making, &tables->processes[i].process);
    if (processes > PPROF_COMMENTED_PROCESSES)
        comment(making, "and %zu more processes", processes - PPROF_COMMENTED_PROCESSES);
    if (recording->pyreel_version.size)
        comment(making, "recorded by pyreel %.*s: %.*s", (int)recording->pyreel_version.size,
                recording->pyreel_version.bytes, (int)recording->command.size, recording->command.bytes);
}

/* Adds comments about the looks at the whole recording. */
static void comment_looks(struct pprof_comments_making *making)
{
    const struct tables *tables = making->refers->tables;
    comment(making, "%" PRIu64 " samples; %" PRIu64 " failed, %s%" PRIu64 " lost; %" PRIu64 " ticks missed",
            tables->samples, tables->failed, tables->missing_estimated ? "about " : "", tables->missing,
            tables->missed);
    comment_exactness(making);
    if (tables->left_out)
        comment(making, "%" PRIu64 " looks at threads are left out: the mode does not keep their samples",
                tables->left_out);
}

/* Adds a comment about the looks in a part of the recording. What is missing there is not known. */
static void comment_part(struct pprof_comments_making *making)
{
    const struct tables *tables = making->refers->tables;
    const struct pprof_part *part = &making->style->part;
    comment(making, "%" PRIu64 " samples of %.3f s to %.3f s since the start of the recording",
            making->aggregate->samples, (double)pprof_part_begin_ns(part, tables) / 1e9,
            (double)pprof_part_end_ns(part, tables) / 1e9);
}

static bool is_cut(const struct tables *tables)
{
    return tables->end.reason ? tables->end.reason == END_UNWRITTEN : tables->cut || !tables->recording.no_end_reason;
}

/* Adds comments about what the recording lacks. */
static void comment_recording(struct pprof_comments_making *making)
{
    if (making->style->part.to_ns)
        comment_part(making);
    else
        comment_looks(making);
    comment_unknown(making);
    if (making->style->unplaced_cpu_ns)
        comment(making, "%.6f s of CPU time belong to threads without a sample and are not in value cpu",
                (double)making->style->unplaced_cpu_ns / 1e9);
    if (!making->style->part.goes_on && is_cut(making->refers->tables))
        comment(making, "the recording was cut off");
}

size_t pprof_comments_make(struct pprof_tables *refers, const struct aggregate *aggregate,
                           const struct pprof_style *style, int64_t *made)
{
    struct pprof_comments_making making = { refers, aggregate, style, made, 0 };
    if (!style->no_comments)
        comment_programs(&making);
    comment_recording(&making);
    return making.count;
}
