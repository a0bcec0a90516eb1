/* SPDX-License-Identifier: MIT */
#include "record/labels/labels.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "record/emit/traceparent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC      "PYRLABL1"
#define ROWS_AT    64
#define USED_AT    24                  /* where a look begins to read */
#define HEAD       (ROWS_AT - USED_AT) /* bytes of a look before the rows */
#define ROWS_AHEAD 8                   /* free rows that a look reads: threads may have come */
#define NAME_ROOM  32                  /* of <label N> */

/* ---- the mapping ---- */

bool labels_open(struct labels *labels, const struct mapping *mapping)
{
    unsigned char head[ROWS_AT];
    const uint64_t size = mapping->high - mapping->low;
    if (remote_read(labels->remote, mapping->low, head, sizeof(head)) != REMOTE_READ ||
        memcmp(head, MAGIC, strlen(MAGIC)) != 0)
        return false;
    const uint64_t rows = word_at(head, 8), texts = word_at(head, 16), used = word_at(head, USED_AT);
    if (rows == 0 || rows > LABELS_ROWS_MOST || texts == 0 || texts > LABELS_TEXTS_MOST ||
        ROWS_AT + rows * LABELS_ROW + texts * LABELS_SLOT > size)
        return false;
    labels->address = mapping->low;
    labels->rows = (uint32_t)rows;
    labels->texts = (uint32_t)texts;
    labels->planned = (uint32_t)(used < rows && used + ROWS_AHEAD < rows ? used + ROWS_AHEAD : rows);
    labels->bytes = alloc_zeroed(HEAD + rows * LABELS_ROW, 1);
    labels->ids = alloc_zeroed(rows, sizeof(*labels->ids));
    labels->slots = alloc_zeroed(texts, sizeof(*labels->slots));
    return true;
}

static void labels_forget(struct labels *labels)
{
    for (uint32_t i = 0; labels->slots && i < labels->texts; i++)
        text_free(labels->slots[i].name);
    free(labels->slots);
    free(labels->bytes);
    free(labels->ids);
    free(labels->tasks);
    intern_pairs_free(&labels->index);
    intern_free(&labels->names);
}

void labels_close(struct labels *labels)
{
    labels_forget(labels);
    *labels = (struct labels){ .remote = labels->remote };
}

/* ---- a look ---- */

struct piece labels_plan(const struct labels *labels)
{
    if (!labels->address || labels->gone)
        return (struct piece){ 0 };
    return (struct piece){ labels->address + USED_AT, HEAD + labels->planned * LABELS_ROW, labels->bytes };
}

void labels_take(struct labels *labels, bool came)
{
    if (!labels->address || labels->gone)
        return;
    if (!came) {
        labels->used = 0;
        labels->gone = true;
        return;
    }
    const uint64_t used = word_at(labels->bytes, 0);
    labels->used = (uint32_t)(used < labels->planned ? used : labels->planned);
    labels->planned = (uint32_t)(used < labels->rows && used + ROWS_AHEAD < labels->rows ? used + ROWS_AHEAD
                                                                                         : labels->rows);
    labels->fresh = true;
}

/* ---- rows ---- */

static uint64_t row_word(const struct labels *labels, uint32_t row, uint32_t offset)
{
    return word_at(labels->bytes, HEAD + row * LABELS_ROW + offset);
}

/* Whether the rows are still those of the same threads. */
static bool is_indexed(const struct labels *labels)
{
    bool same = labels->indexed == labels->used;
    for (uint32_t i = 0; same && i < labels->used; i++)
        same = labels->ids[i] == row_word(labels, i, 0);
    return same;
}

/* Finds the rows of threads anew if these have changed. Where two rows are of one thread, the first one counts. */
static void index_rows(struct labels *labels)
{
    labels->fresh = false;
    if (is_indexed(labels))
        return;
    intern_pairs_free(&labels->index);
    for (uint32_t i = 0; i < labels->used; i++) {
        const uint64_t id = labels->ids[i] = row_word(labels, i, 0);
        if (id > 0 && id <= UINT32_MAX && !intern_pairs_find(&labels->index, (uint32_t)id, 0))
            intern_pairs_add(&labels->index, (uint32_t)id, 0, i + 1);
    }
    labels->indexed = labels->used;
}

/* ---- texts ---- */

/* Reads the text with a serial. An owned text; empty: the slot has another one. The serial is read before and after the
 * text, in this order, in one call. */
static struct text read_text(const struct labels *labels, uint64_t serial)
{
    uint64_t before = 0, after = 0;
    unsigned char text[8 + LABELS_TEXT];
    const uint64_t at = labels->address + ROWS_AT + labels->rows * LABELS_ROW + serial % labels->texts * LABELS_SLOT;
    const struct piece pieces[] = { { at, sizeof(before), &before },
                                    { at + sizeof(before), sizeof(text), text },
                                    { at, sizeof(after), &after } };
    size_t good = 0;
    const bool read = remote_read_pieces(labels->remote, pieces, countof(pieces), &good) == REMOTE_READ;
    const uint64_t size = word_at(text, 0);
    if (!read || good < countof(pieces) || before != serial || after != serial || size == 0 || size > LABELS_TEXT)
        return (struct text){ 0 };
    return utf8_clean((struct text){ (const char *)text + 8, (size_t)size });
}

static struct text label_name(const struct labels *labels, uint64_t serial)
{
    char text[NAME_ROOM];
    const struct text name = read_text(labels, serial);
    if (name.size > 0)
        return name;
    text_free(name);
    snprintf(text, sizeof(text), "<label %" PRIu64 ">", serial);
    return text_copy(text_of(text));
}

/* The frame <task NAME>. */
static uint32_t label_frame(struct definitions *definitions, struct text name)
{
    char text[6 * LABELS_TEXT + 16]; /* a byte that is no UTF-8 takes up to 4 */
    const int size = snprintf(text, sizeof(text), "<task %.*s>", (int)name.size, name.bytes);
    return definitions_named_frame(definitions, KIND_TASK, (struct text){ text, (size_t)size });
}

/* Reads the label with a serial into its slot. */
static void read_label(struct labels *labels, struct label *label, uint64_t serial, struct definitions *definitions)
{
    bool added;
    text_free(label->name);
    *label = (struct label){ .serial = serial, .name = label_name(labels, serial) };
    const bool spans = traceparent_take(&label->name, &label->span);
    label->frame = label_frame(definitions, label->name);
    const bool full = labels->names.count >= LABELS_NAMES_MOST;
    if (!spans || (full && !intern_find(&labels->names, label->name.bytes, label->name.size)))
        return;
    label->named = intern_number(&labels->names, label->name.bytes, label->name.size, &added);
    labels->tasks = alloc_grow(labels->tasks, &labels->tasks_room, (size_t)label->named + 1, sizeof(*labels->tasks));
}

/* Emits the definition of a label's task. */
static void define_label(struct labels *labels, struct label *label, struct emitter *emitter, uint32_t process,
                         uint64_t time_ns)
{
    struct label_task *task = label->named ? &labels->tasks[label->named] : NULL;
    uint32_t *serial = task ? &task->serial : &label->task_serial;
    label->number = ++emitter->last_task;
    if (task)
        task->number = label->number;
    emitter_serial(emitter, SERIAL_TASK, label->number, serial);
    emitter_note(emitter,
                 (struct event){ .kind = EVENT_TASK, .task = { label->number, process, label->name, time_ns } });
}

const struct label *labels_of(struct labels *labels, uint32_t native_id, struct emitter *emitter, uint32_t process,
                              uint64_t time_ns)
{
    if (labels->used == 0)
        return NULL;
    if (labels->fresh)
        index_rows(labels);
    const uint32_t row = intern_pairs_find(&labels->index, native_id, 0);
    const uint64_t serial = row ? row_word(labels, row - 1, 8) : 0;
    if (serial == 0)
        return NULL;
    struct label *label = &labels->slots[serial % labels->texts];
    if (label->serial != serial)
        read_label(labels, label, serial, &emitter->definitions);
    if (label->named)
        label->number = labels->tasks[label->named].number;
    if (label->number == 0)
        define_label(labels, label, emitter, process, time_ns);
    return label;
}

void labels_restart(struct labels *labels)
{
    for (uint32_t i = 0; labels->slots && i < labels->texts; i++)
        labels->slots[i].number = 0;
    for (size_t i = 0; i < labels->tasks_room; i++)
        labels->tasks[i].number = 0;
}
