/* SPDX-License-Identifier: MIT */
/* An aggregate (model/aggregate.h) as collapsed stacks, the text that flame graph tools read: a line for each distinct
 * stack, root first, and its number of samples, or microseconds that they stand for.
 *
 *     MainThread (4313);<module> (app.py:30);main (app.py:17);work (app.py:9) 310
 *     pid 4242: python3 app.py;interpreter 1;Thread-1 (4315);<no Python frames> 4
 *     pid 4242: python3 app.py (shard-2);MainThread (4242);<module> (app.py:30) 7
 *
 * Above the Python frames stand the process (when there are several; and its recording, when those are several), the
 * interpreter (when it is not the main one) and the thread. A frame is `function (file:line)`; `function (file)` where
 * the line is not wanted or not known; the bare name for marks that have no file, such as <GC>. A thread without Python
 * frames has <no Python frames>.
 *
 * An entry that stands for an asyncio task has `task NAME` behind the thread that owns it. When threads are merged that
 * is left out, too, and marks of tasks without a name of their own, such as <task Task-17>, become <task>: what
 * thousands of tasks do alike is one stack then.
 *
 * With instructions, that of the leaf is a frame of its own, [LOAD_ATTR_SLOT], so that the function stays one box of
 * a flame graph, with its instructions above it.
 *
 * A file is told from where Python looks for modules: behind the last `site-packages/` (or Debian's `dist-packages/`),
 * else behind the last `lib/python3.N/`, else from the working folder of the first process that has it below its own,
 * else from the folder of the program itself: the file of a `<module>` that nobody called. Any other stays whole.
 *
 * `;` would end a frame and a control character the line, so they become `:` and a blank; an empty name is <unknown>.
 * Stacks that look the same after all this are one line. Lines are sorted frame by frame as bytes, a stack before
 * those that continue it: the order depends on nothing but the lines. */
#ifndef PYREEL_FORMATS_COLLAPSED_COLLAPSED_H
#define PYREEL_FORMATS_COLLAPSED_COLLAPSED_H

#include "formats/base/output.h"
#include "formats/model/aggregate.h"

/* The unit of the number on a line: samples, or microseconds. A stack whose number is 0 gets no line. */
enum collapsed_weight {
    WEIGHT_SAMPLES,
    WEIGHT_WALL,     /* the time that its samples stand for */
    WEIGHT_CPU,      /* the CPU time itself */
    WEIGHT_GIL,      /* that of samples that held the interpreter's lock */
    WEIGHT_GIL_WAIT, /* that of samples that waited for it */
};

/* False when there is no weight of this name: samples, wall, cpu, gil, gil_wait. */
bool collapsed_weight_named(const char *name, enum collapsed_weight *weight);

/* The sum that a weight is made of. */
enum aggregate_sum collapsed_weight_sum(enum collapsed_weight weight);

struct collapsed_style {
    enum collapsed_weight weight;
    bool functions;  /* without lines */
    bool no_threads; /* without the thread, so that threads are merged */
    bool full_paths; /* files as recorded */
    bool opcodes;    /* with the instruction of the leaf */
};

/* Writes all lines. The aggregate has been sorted. Failures of writing stay in `to`. */
void collapsed_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                     const struct collapsed_style *style);

#endif
