/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_labels.h"

#include "formats/pprof/pprof_status.h"

#include <string.h>

/* Labels with their values. Values of absent labels are 0, so equal sets have equal bytes. */
struct label_set {
    uint64_t present;              /* a set of labels */
    uint64_t values[PPROF_LABELS]; /* a number, or the number of a text in `texts` */
};

static void add_number(const struct pprof_labels *labels, struct label_set *set, enum pprof_label label,
                       uint64_t number)
{
    if (!(labels->wanted >> label & 1))
        return;
    set->present |= 1u << label;
    set->values[label] = number;
}

/* pprof ignores a label with an empty text. */
static void pprof_labels_add_text(struct pprof_labels *labels, struct label_set *set, enum pprof_label label,
                                  struct text text)
{
    bool added;
    const struct text shown = text.size ? text : TEXT("<unknown>");
    if (labels->wanted >> label & 1)
        add_number(labels, set, label, intern_number(&labels->texts, shown.bytes, shown.size, &added));
}

/* Adds what is known of a span: its own id, and that of its trace. */
static void add_span(struct pprof_labels *labels, struct label_set *set, struct span_ids span)
{
    char trace[EVENT_TRACE_DIGITS + 1], own[EVENT_SPAN_DIGITS + 1];
    if (span.trace_high || span.trace_low)
        pprof_labels_add_text(labels, set, LABEL_TRACE_ID, text_of(event_trace_text(trace, span)));
    if (span.id)
        pprof_labels_add_text(labels, set, LABEL_SPAN_ID, text_of(event_span_text(own, span)));
}

static struct label_set set_of(struct pprof_labels *labels, const struct tables *tables, const struct pprof_said *said)
{
    const struct thread *thread = &tables->threads[said->thread].thread;
    const struct process_row *process = &tables->processes[thread->process];
    struct label_set set = { 0 };
    if (!labels->owners.threads)
        task_owner_find(&labels->owners, tables);
    pprof_labels_add_text(labels, &set, LABEL_THREAD, task_owner_name(&labels->owners, tables, said->thread));
    add_number(labels, &set, LABEL_THREAD_ID, thread->tid);
    add_number(labels, &set, LABEL_PID, process->process.pid);
    add_number(labels, &set, LABEL_INTERPRETER, thread->interpreter);
    if (process->process.recording.size)
        pprof_labels_add_text(labels, &set, LABEL_RECORDING, process->process.recording);
    if (said->task) {
        pprof_labels_add_text(labels, &set, LABEL_TASK, tables_task(tables, said->task)->task.name);
        add_number(labels, &set, LABEL_TASK_ID, said->task);
    }
    add_span(labels, &set, said->span);
    if (said->status)
        pprof_labels_add_text(labels, &set, LABEL_STATUS, pprof_status_name(said->status));
    if (said->instruction) {
        const uint32_t base = said->base ? said->base : said->instruction;
        pprof_labels_add_text(labels, &set, LABEL_OPCODE, tables_string(tables, said->instruction));
        pprof_labels_add_text(labels, &set, LABEL_OPCODE_BASE, tables_string(tables, base));
    }
    return set;
}

static uint32_t pprof_labels_number_of(struct pprof_labels *labels, const struct label_set *set)
{
    bool added;
    return intern_number(&labels->sets, set, sizeof(*set), &added);
}

static bool said_the_same(const struct pprof_said *a, const struct pprof_said *b)
{
    return a->thread == b->thread && a->task == b->task && a->status == b->status && a->instruction == b->instruction &&
           a->base == b->base && span_ids_equal(a->span, b->span);
}

uint32_t pprof_labels_number(struct pprof_labels *labels, const struct tables *tables, const struct pprof_said *said)
{
    if (labels->latest_number && said_the_same(&labels->latest, said))
        return labels->latest_number;
    const struct label_set set = set_of(labels, tables, said);
    labels->latest = *said;
    labels->latest_number = pprof_labels_number_of(labels, &set);
    return labels->latest_number;
}

static struct label_set set_numbered(const struct pprof_labels *labels, uint32_t number)
{
    struct label_set set;
    memcpy(&set, labels->sets.texts[number].bytes, sizeof(set));
    return set;
}

uint32_t pprof_labels_of_thread(struct pprof_labels *labels, uint32_t number)
{
    struct label_set set = set_numbered(labels, number);
    set.present &= LABELS_OF_THREADS;
    for (size_t i = 0; i < PPROF_LABELS; i++)
        if (!(set.present >> i & 1))
            set.values[i] = 0;
    return pprof_labels_number_of(labels, &set);
}

/* Makes a label. pprof ignores a number 0 without a unit, and 0 is the number of the main interpreter. */
static void make_label(const struct pprof_labels *labels, enum pprof_label label, uint64_t value,
                       struct pprof_tables *refers, Perftools__Profiles__Label *made)
{
    perftools__profiles__label__init(made);
    made->key = pprof_tables_string(refers, text_of(pprof_label_rows[label].name));
    if (pprof_label_rows[label].is_text) {
        made->str = pprof_tables_string(refers, labels->texts.texts[value]);
        return;
    }
    made->num = (int64_t)value;
    made->num_unit = pprof_tables_string(refers, TEXT("id"));
}

size_t pprof_labels_make(const struct pprof_labels *labels, uint32_t number, struct pprof_tables *refers,
                         Perftools__Profiles__Label *made)
{
    const struct label_set set = set_numbered(labels, number);
    size_t count = 0;
    for (enum pprof_label label = 0; label < PPROF_LABELS; label++)
        if (set.present >> label & 1)
            make_label(labels, label, set.values[label], refers, &made[count++]);
    return count;
}

void pprof_labels_free(struct pprof_labels *labels)
{
    intern_free(&labels->sets);
    intern_free(&labels->texts);
    task_owner_free(&labels->owners);
    *labels = (struct pprof_labels){ 0 };
}
