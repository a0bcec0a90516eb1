/* SPDX-License-Identifier: MIT */
/* Labels: what a program says that its threads do. The Python package writes them into a private mapping of a memfd,
 * /memfd:pyreel-labels-1, which is read as one more piece of a look:
 *
 *     0   magic  8   R  16   S  24   rows in use
 *     64            R rows of {native thread id, serial of the text; 0: no label}
 *     64 + 16 * R   S texts of {serial, size, 240 bytes}; the text with serial N is in slot N % S
 *
 * All numbers are little-endian and have 64 bits. A row is that of the moment, because only its own thread writes it. A
 * text is read later, when its serial is new. By then the slot may have another text: then the label is <label N>.
 *
 * A label is told as a task: a definition, and a frame <task NAME> outside of the thread's stack. A text may end in a
 * span (record/emit/traceparent.h), which is no part of the name: all labels of one name are one task, then. All bytes
 * come from the program and are not trusted. */
#ifndef PYREEL_RECORD_LABELS_LABELS_H
#define PYREEL_RECORD_LABELS_LABELS_H

#include "formats/intern/intern.h"
#include "record/emit/emitter.h"
#include "record/process/procfs.h"
#include "record/process/remote.h"

#define LABELS_ROWS_MOST  4096 /* rows and texts of a mapping that is believed */
#define LABELS_TEXTS_MOST 65536
#define LABELS_ROW        16
#define LABELS_SLOT       256
#define LABELS_TEXT       240  /* bytes of a text */
#define LABELS_NAMES_MOST 4096 /* names of labels with spans; each label of a further name is a task of its own */
#define LABELS_MAPPED     "/memfd:pyreel-labels-1 (deleted)\n"

/* The text that was in a slot when it was read last. */
struct label {
    uint64_t serial;      /* 0: none was */
    uint32_t number;      /* as emitted; 0: not in this stream yet */
    uint32_t task_serial; /* of the task; 0: none yet */
    uint32_t frame;       /* <task NAME>, an index of the definitions */
    struct text name;     /* owned */
    struct span_ids span; /* on which the thread works */
    uint32_t named;       /* if it has a span: its row in labels->tasks; 0: none */
};

/* The task of all labels of a name that have a span. */
struct label_task {
    uint32_t number, serial; /* as in struct label */
};

/* The labels of one process. `= {0}` has none. */
struct labels {
    struct remote *remote; /* the caller's; must live as long */
    uint64_t address;      /* of the mapping; 0: it was not found */
    uint32_t rows, texts;  /* that it has room for */

    unsigned char *bytes;      /* of the mapping, from the number of rows in use on: the last look */
    uint32_t planned;          /* rows that looks read, ... */
    uint32_t used;             /* ... and those of them that were in use in the last look */
    bool gone;                 /* the last look could not read the mapping: it is searched again */
    bool fresh;                /* the rows were not compared with `index` yet */
    struct intern_pairs index; /* (native thread id, 0) → row + 1, ... */
    uint64_t *ids;             /* ... of these numbers of threads */
    uint32_t indexed;
    struct label *slots; /* by serial % texts */

    struct intern names;      /* of labels with spans, LABELS_NAMES_MOST at most ... */
    struct label_task *tasks; /* ... and their tasks, by number */
    size_t tasks_room;
};

/* Takes the mapping over. False: what its head says does not fit it, maybe because it is not ready yet. */
bool labels_open(struct labels *labels, const struct mapping *mapping);

/* Returns the piece that the next look has to read; a piece of size 0: nothing. */
struct piece labels_plan(const struct labels *labels);

/* Notes what the look has read; frees nothing and allocates nothing, so that a post may call it. `came`: the piece was
 * read; if not, the mapping is gone. */
void labels_take(struct labels *labels, bool came);

/* The label of a thread in the last look, by the process's own number of the thread; NULL: none. Reads its text if that
 * is new, and emits the definition of its task if the stream has none. `process`: the number of the process. Valid
 * until the next call. */
const struct label *labels_of(struct labels *labels, uint32_t native_id, struct emitter *emitter, uint32_t process,
                              uint64_t time_ns);

/* Another stream begins: each label is defined again when a sample needs it. */
void labels_restart(struct labels *labels);

/* Forgets the mapping and all labels, and frees everything. */
void labels_close(struct labels *labels);

#endif
