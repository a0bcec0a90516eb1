/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_labels.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

/* The labels that are being made. */
struct making {
    struct pprof_tables *refers;
    Perftools__Profiles__Label *made;
    size_t count;
};

uint32_t pprof_labels_number(struct pprof_labels *labels, const struct pprof_said *said)
{
    bool added;
    const uint32_t number = intern_number(&labels->numbers, said, sizeof(*said), &added);
    if (added) {
        labels->rows = alloc_grow(labels->rows, &labels->room, number, sizeof(*labels->rows));
        labels->rows[number - 1] = *said;
    }
    return number;
}

static Perftools__Profiles__Label *next_label(struct making *making, struct text key)
{
    Perftools__Profiles__Label *label = &making->made[making->count++];
    perftools__profiles__label__init(label);
    label->key = pprof_tables_string(making->refers, key);
    return label;
}

/* Adds a label with a text. pprof ignores a label with an empty text. */
static void text_label(struct making *making, struct text key, struct text text)
{
    Perftools__Profiles__Label *label = next_label(making, key);
    label->str = pprof_tables_string(making->refers, text.size ? text : TEXT("<unknown>"));
}

/* Adds a label with a number. pprof ignores a label 0 without a unit, and 0 is the number of the main interpreter. */
static void number_label(struct making *making, struct text key, uint64_t number)
{
    Perftools__Profiles__Label *label = next_label(making, key);
    label->num = (int64_t)number;
    label->num_unit = pprof_tables_string(making->refers, TEXT("id"));
}

size_t pprof_labels_make(struct pprof_labels *labels, uint32_t number, struct pprof_tables *refers,
                         Perftools__Profiles__Label *made)
{
    const struct tables *tables = refers->tables;
    const struct pprof_said *said = &labels->rows[number - 1];
    const struct thread *thread = &tables->threads[said->thread].thread;
    const struct process_row *process = &tables->processes[thread->process];
    struct making making = { refers, made, 0 };
    if (!labels->owners.threads)
        task_owner_find(&labels->owners, tables);
    text_label(&making, TEXT("thread"), task_owner_name(&labels->owners, tables, said->thread));
    number_label(&making, TEXT("thread_id"), thread->tid);
    number_label(&making, TEXT("pid"), process->process.pid);
    number_label(&making, TEXT("interpreter"), thread->interpreter);
    if (process->recording.size)
        text_label(&making, TEXT("recording"), process->recording);
    if (said->task) {
        text_label(&making, TEXT("task"), tables_task(tables, said->task)->task.name);
        number_label(&making, TEXT("task_id"), said->task);
    }
    if (said->instruction) {
        text_label(&making, TEXT("opcode"), tables_string(tables, said->instruction));
        text_label(&making, TEXT("opcode_base"), tables_string(tables, said->base ? said->base : said->instruction));
    }
    return making.count;
}

void pprof_labels_free(struct pprof_labels *labels)
{
    intern_free(&labels->numbers);
    task_owner_free(&labels->owners);
    free(labels->rows);
    *labels = (struct pprof_labels){ 0 };
}
