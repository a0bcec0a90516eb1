/* SPDX-License-Identifier: MIT */
/* Entries: what a report has a row for, and what a flame graph has a box for. Frames of the tables that differ only in
 * what the output does not show are one entry:
 *
 *     ENTRY_FUNCTION   work (app.py:9)    a function; 9 is the line of its definition
 *     ENTRY_LINE       work (app.py:12)   a line of a function; 12 is the line that ran
 *     ENTRY_FILE       app.py
 *     ENTRY_MODULE     json.decoder
 *
 * An entry is a code (the function, the file or the module) and a line. Texts in a code are as recorded: whoever prints
 * them escapes them. The frames that --hide drops and that --fold folds are labels of the outline (model/outline.h), as
 * in collapsed stacks. */
#ifndef PYREEL_FORMATS_CALLS_ENTRIES_H
#define PYREEL_FORMATS_CALLS_ENTRIES_H

#include "formats/base/bytes.h"
#include "formats/frames/code_kind.h"
#include "formats/frames/frame_filter.h"
#include "formats/frames/waiting.h"
#include "formats/model/paths.h"

enum entry_kind { ENTRY_FUNCTION, ENTRY_LINE, ENTRY_FILE, ENTRY_MODULE };

struct entries_style {
    enum entry_kind kind;
    bool full_paths;        /* files as recorded */
    bool ids;               /* <task Task-17> keeps its number */
    bool opcodes;           /* the leaf's instruction is an entry of its own, [LOAD_ATTR] */
    bool waits;             /* a wait is an entry of its own, [idle]: the aggregate has the groups of waiting_group() */
    uint64_t max_depth;     /* a deeper stack lacks its middle, see outline_shorten(); 0: no limit */
    const struct text *one; /* the paths of two files that are one file and one module: the second one is shown as the
                             * first one; NULL: there are none */
    const struct frame_filter *filter;
};

/* A function, a file or a module. Texts are borrowed from the tables, or belong to the entries. */
struct shown_code {
    struct text name; /* the qualified name of a function; the name of a file or a module; never empty */
    struct text file; /* where the code is, as shown (paths_place()); empty: nobody knows */
    struct text path; /* the Python file as recorded, of the first frame; empty: none */
    uint32_t line;    /* of the definition; 0: none, or not known */
    enum code_kind kind;
};

struct entry {
    uint32_t code; /* index in `codes` */
    uint32_t line; /* with ENTRY_LINE; 0: none, or not known */
};

/* `= {0}` is empty. */
struct entries {
    const struct tables *tables;
    struct entries_style style;
    struct shown_code *codes; /* by number; row 0 is unused */
    size_t codes_count, codes_room;
    struct entry *rows; /* by number; row 0 is unused */
    size_t count, room; /* row 0 counts */
    uint32_t *labels;   /* by frame of the tables, for the outline: an entry, with the marks of model/outline.h */
    uint32_t *opcodes;  /* by frame of the tables: the entry of its instruction; 0: none, or not wanted */
    size_t labels_room, opcodes_room;
    size_t frames_count;   /* frames that have their entries, from 0 on */
    uint32_t *by_function; /* by function of the tables: its code; 0: not found yet */
    size_t by_function_room;
    uint32_t waits[WAITINGS]; /* the entries of waits; 0: not wanted */
    uint32_t hidden;          /* the entry of a stack of which nothing is shown */
    uint32_t truncated;       /* the entry of the middle of a deep stack; 0: not wanted */
    bool *left_out;           /* by stack: --focus leaves the stack out; NULL: none is left out */

    struct intern codes_by_key; /* numbers are those of codes */
    struct intern texts;        /* the text that --hide and --focus look at; numbers are those of entries */
    struct intern names;        /* texts that the tables do not have */
    struct paths paths;
    struct bytes key; /* scratch */
};

/* Finds the entries of all frames. The tables, which are complete, and the filter must outlive the entries. */
void entries_find(struct entries *entries, const struct tables *tables, const struct entries_style *style);

/* Finds the entries of the frames that are new since the last call, of tables that grow. `entries` is `= {0}` with
 * `tables` and `style` set; the style has full paths, no filter and no waits. */
void entries_grow(struct entries *entries);

/* The code of an entry. */
static inline const struct shown_code *entries_code(const struct entries *entries, uint32_t entry)
{
    return &entries->codes[entries->rows[entry].code];
}

/* The line that is shown beside the file: the line that ran or that of the definition; 0: none. */
static inline uint32_t entries_line(const struct entries *entries, uint32_t entry)
{
    return entries->style.kind == ENTRY_LINE ? entries->rows[entry].line : entries_code(entries, entry)->line;
}

/* Whether --focus leaves a stack out. */
static inline bool entries_leave_out(const struct entries *entries, uint32_t stack)
{
    return entries->left_out && entries->left_out[stack];
}

/* The node of a stack that is not left out, under the node `root` of an outline whose labels are entries. The node of
 * the wait or of the instruction, as far as they are wanted, is below that of the stack's leaf. */
uint32_t entries_place(const struct entries *entries, struct outline *outline, uint32_t root, uint32_t stack,
                       enum waiting wait);

void entries_free(struct entries *entries);

#endif
