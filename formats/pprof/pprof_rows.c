/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_rows.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* The part of a frame that the profile shows. */
static struct pprof_position position_of(const struct pprof_rows *rows, const struct frame *frame)
{
    switch (rows->style->detail) {
    case DETAIL_FUNCTIONS:
        return (struct pprof_position){ frame->function, rows->tables->functions[frame->function].first_line, 0, 0, 0 };
    case DETAIL_COLUMNS:
        return (struct pprof_position){ frame->function, frame->line, (uint32_t)frame->column + 1, frame->inlined,
                                        frame->address };
    case DETAIL_LINES:
        break;
    }
    return (struct pprof_position){ frame->function, frame->line, 0, frame->inlined, frame->address };
}

static void pprof_rows_label_frames(struct pprof_rows *rows)
{
    const struct tables *tables = rows->tables;
    rows->frame_labels = alloc_zeroed(tables->frames_count + 1, sizeof(*rows->frame_labels));
    rows->frame_labels[0] = pprof_tables_synthetic(&rows->refers, PPROF_NO_FRAMES);
    for (size_t i = 1; i < tables->frames_count; i++) {
        const struct frame *frame = &tables->frames[i];
        if (frame->number)
            rows->frame_labels[i] = pprof_tables_position(&rows->refers, position_of(rows, frame));
    }
}

static uint32_t process_mapping(struct pprof_rows *rows, uint32_t process)
{
    const struct text executable = rows->tables->processes[process].process.executable;
    return pprof_tables_mapping(&rows->refers, executable.size ? executable : TEXT("python"));
}

/* Makes the mapping of the first process. pprof takes the first mapping for the main program, and wants one even
 * without samples. */
static void map_main_program(struct pprof_rows *rows)
{
    const struct tables *tables = rows->tables;
    for (size_t i = 1; i < tables->processes_count; i++) {
        if (tables->processes[i].process.number) {
            process_mapping(rows, (uint32_t)i);
            return;
        }
    }
    pprof_tables_mapping(&rows->refers, TEXT("python"));
}

static uint32_t said_of(struct pprof_rows *rows, const struct aggregate *aggregate, const struct aggregate_row *row)
{
    struct pprof_said said = { .thread = row->thread,
                               .task = row->task,
                               .span = aggregate_span(aggregate, row),
                               .status = aggregate_group(aggregate, row) };
    if (rows->labels.wanted & LABELS_OF_INSTRUCTIONS && row->stack) {
        const struct frame *leaf = &rows->tables->frames[rows->tables->stacks[row->stack].frame];
        said.instruction = leaf->instruction;
        said.base = leaf->base;
    }
    return pprof_labels_number(&rows->labels, rows->tables, &said);
}

/* The node of a stack, as the profile shows the stack. */
static uint32_t shown_stack(struct pprof_rows *rows, uint32_t root, uint32_t stack)
{
    const uint32_t node = outline_node(&rows->outline, rows->tables, rows->frame_labels, root, stack);
    if (!rows->style->max_depth)
        return node;
    return outline_shorten(&rows->outline, root, node, rows->style->max_depth,
                           pprof_tables_synthetic(&rows->refers, PPROF_TRUNCATED));
}

/* Merges rows that look the same in the profile. */
static void merge_rows(struct pprof_rows *rows, const struct aggregate *aggregate)
{
    const struct tables *tables = rows->tables;
    for (size_t i = 0; i < aggregate->count; i++) {
        const struct aggregate_row *row = &aggregate->rows[i];
        const uint32_t mapping = process_mapping(rows, tables->threads[row->thread].thread.process);
        const uint32_t root = outline_child(&rows->outline, 0, mapping);
        struct aggregate_row merged = *row;
        merged.thread = said_of(rows, aggregate, row); /* a merged row has the number of its labels here */
        merged.task = merged.group = 0;
        merged.stack = shown_stack(rows, root, row->stack);
        aggregate_add(&rows->merged, &merged);
    }
}

bool pprof_rows_keep(const struct pprof_rows *rows, const struct aggregate_row *row)
{
    return row->sums[SUM_SAMPLES] >= rows->style->min_count;
}

/* Sums up the rows that are too rare, for each set of labels that a thread has. */
static void sum_up_rest(struct pprof_rows *rows)
{
    for (size_t i = 0; i < rows->merged.count; i++) {
        struct aggregate_row row = rows->merged.rows[i];
        size_t depth;
        if (pprof_rows_keep(rows, &row))
            continue;
        row.thread = pprof_labels_of_thread(&rows->labels, row.thread);
        row.stack = outline_child(&rows->outline, outline_top(&rows->outline, row.stack, &depth),
                                  pprof_tables_synthetic(&rows->refers, PPROF_REST));
        aggregate_add(&rows->rest, &row);
    }
}

void pprof_rows_make(struct pprof_rows *rows, const struct tables *tables, const struct aggregate *aggregate,
                     const struct pprof_style *style)
{
    *rows = (struct pprof_rows){ .tables = tables, .style = style };
    rows->labels.wanted = (style->chosen_labels ? style->labels : LABELS_USUAL) |
                          (style->opcodes ? LABELS_OF_INSTRUCTIONS : 0);
    if (style->qualify)
        paths_find(&rows->paths, tables);
    pprof_tables_start(&rows->refers, tables, style->qualify ? &rows->paths : NULL);
    map_main_program(rows);
    pprof_rows_label_frames(rows);
    merge_rows(rows, aggregate);
    sum_up_rest(rows);
    aggregate_end_adding(&rows->merged);
    outline_end_placing(&rows->outline);
}

size_t pprof_rows_count(const struct pprof_rows *rows)
{
    size_t count = rows->rest.count;
    for (size_t i = 0; i < rows->merged.count; i++)
        count += pprof_rows_keep(rows, &rows->merged.rows[i]);
    return count;
}

void pprof_rows_free(struct pprof_rows *rows)
{
    pprof_tables_free(&rows->refers);
    paths_free(&rows->paths);
    outline_free(&rows->outline);
    aggregate_free(&rows->merged);
    aggregate_free(&rows->rest);
    pprof_labels_free(&rows->labels);
    free(rows->frame_labels);
    *rows = (struct pprof_rows){ 0 };
}
