/* SPDX-License-Identifier: MIT */
/* Leaves: the frame that says what a thread did when it was not simply running its innermost function. The function
 * keeps its own category, and the wait is its child in every view:
 *
 *     main > work > [waiting for GIL]      the thread waits for the interpreter's lock
 *     main > work > [idle]                 the thread is known not to run, and does not hold the lock
 *     main > work > [waiting for native threads]   the same, while native threads work for the thread
 *     main > work > [LOAD_ATTR_SLOT]       the instruction, when instructions are frames
 *     main > work                          anything else, or nobody knows
 *
 * The code of a sample is its stack and the kind of its leaf. Rows of the profile's table of stacks: the stacks of the
 * tables that are used (gecko_rows.h), then the stack without Python frames when it is used, then a row for each pair
 * of stack and leaf that a sample has. Rows of frames and functions: those of the tables, then the labels. */
#ifndef PYREEL_FORMATS_GECKO_TABLES_GECKO_LEAVES_H
#define PYREEL_FORMATS_GECKO_TABLES_GECKO_LEAVES_H

#include "formats/gecko/tables/gecko_categories.h"
#include "formats/model/event.h"

#include <stdbool.h>

struct gecko_thread;

enum gecko_leaf_kind { LEAF_NONE, LEAF_IDLE, LEAF_WAITING, LEAF_NATIVE, LEAF_INSTRUCTION, LEAF_KINDS };

#define GECKO_LEAF_BITS 3 /* a code is stack << GECKO_LEAF_BITS | kind */

/* A frame with a function of its own and without a file. */
struct gecko_label {
    size_t name; /* string of the profile */
    enum gecko_category category;
    uint32_t subcategory;
};

/* `= {0}` is empty. */
struct gecko_leaves {
    uint8_t *kinds; /* by stack: set of the kinds that samples have, bits 1 << kind */
    size_t kinds_room;

    /* Made by gecko_leaves_settle(). */
    uint32_t *first; /* by stack: index in `codes` of the stack's first code */
    uint32_t *codes;
    size_t count;
    struct gecko_label *labels;
    size_t labels_count, labels_room;
    size_t label_of[LEAF_KINDS]; /* index in `labels`; LEAF_NONE: the frame of a stack without Python frames */
};

/* The stack of a code, 0: no frames. */
static inline uint32_t gecko_leaves_stack(uint32_t code)
{
    return code >> GECKO_LEAF_BITS;
}

/* The code of the same stack without a leaf. */
static inline uint32_t gecko_leaves_bare(uint32_t code)
{
    return code >> GECKO_LEAF_BITS << GECKO_LEAF_BITS;
}

/* The code of a sample. Notes the pair of stack and leaf, unless the sample has the stack and the status of the latest
 * sample in thread->samples. */
uint32_t gecko_leaves_code(struct gecko *gecko, const struct gecko_thread *thread, const struct run *run);

/* The code of CPU time that belongs to a sample with the same code, if there is one. */
uint32_t gecko_leaves_find(const struct gecko *gecko, const struct run *run);

/* Notes that a marker shows a stack. Call it before the rows are made. */
void gecko_leaves_note_bare(struct gecko *gecko, uint32_t stack);

/* Decides on the rows and makes the labels. Call it after gecko_sources_find(). */
void gecko_leaves_settle(struct gecko *gecko);

/* Adds a label. Returns its index. Only for gecko_leaves_settle() and what it calls. */
size_t gecko_leaves_add_label(struct gecko *gecko, struct gecko_label label);

/* The row of a code in the profile's table of stacks. Call it after gecko_leaves_settle(). */
uint32_t gecko_leaves_row(const struct gecko *gecko, uint32_t code);

/* The rows behind those of the tables: their number, and for the row with this index (from 0) the index of the label
 * and the row of the caller; -1: the row is a root. */
size_t gecko_leaves_rows(const struct gecko *gecko);
size_t gecko_leaves_label(const struct gecko *gecko, size_t index);
int64_t gecko_leaves_caller(const struct gecko *gecko, size_t index);

void gecko_leaves_free(struct gecko_leaves *leaves);

#endif
