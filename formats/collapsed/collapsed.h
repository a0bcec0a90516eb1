/* SPDX-License-Identifier: MIT */
/* Writes an aggregate (model/aggregate.h) as collapsed stacks, the text that flame graph tools read. Each distinct
 * stack is a line: the frames, root first, and a number, which counts samples or the microseconds that the samples
 * stand for.
 *
 *     MainThread (4313);<module> (app.py:30);main (app.py:17);work (app.py:9) 310
 *     pid 4242: python3 app.py;interpreter 1;Thread-1 (4315);<no Python frames> 4
 *     pid 4242: python3 app.py (shard-2);MainThread (4242);<module> (app.py:30) 7
 *
 * Before the Python frames stand the process (if there are several; with its recording, if there are several), the
 * interpreter (unless it is the main one), and the thread. A frame is `function (file:line)`. Without a known or wanted
 * line it is `function (file)`. A synthetic frame without a file, such as <GC>, is the bare name. A thread without
 * Python frames has the frame <no Python frames>.
 *
 * An entry that stands for an asyncio task has the frame `task NAME` behind its owner's thread. When threads are
 * merged, this frame is left out, too, and a task frame with an automatic name, such as <task Task-17>, becomes <task>.
 * So thousands of tasks that do the same are one stack.
 *
 * With instructions, the leaf's instruction is a frame of its own, such as [LOAD_ATTR_SLOT]. So the function stays one
 * box of a flame graph, with its instructions above it.
 *
 * A file is shown relative to the folder in which Python finds the module, see model/paths.h.
 *
 * `;` would end a frame and becomes `:`. A control character would end the line and becomes a blank. An empty name is
 * <unknown>. Stacks that look the same are one line. Lines are sorted frame by frame as bytes, and a stack comes before
 * its continuations: the order depends on nothing but the lines. */
#ifndef PYREEL_FORMATS_COLLAPSED_COLLAPSED_H
#define PYREEL_FORMATS_COLLAPSED_COLLAPSED_H

#include "formats/base/output.h"
#include "formats/model/aggregate.h"
#include "formats/model/outline.h"

/* The unit of the number on a line: samples, or microseconds. A stack whose number is 0 gets no line. */
enum collapsed_weight {
    WEIGHT_SAMPLES,
    WEIGHT_WALL,     /* the time that the stack's samples stand for */
    WEIGHT_CPU,      /* the CPU time */
    WEIGHT_GIL,      /* the time of samples whose thread held the interpreter's lock */
    WEIGHT_GIL_WAIT, /* the time of samples whose thread waited for the interpreter's lock */
};

/* Finds a weight by its name: samples, wall, cpu, gil, gil_wait. False for any other name. */
bool collapsed_weight_named(const char *name, enum collapsed_weight *weight);

/* The name of a weight, as --weight takes it. */
const char *collapsed_weight_name(enum collapsed_weight weight);

/* The aggregate's sum from which a weight is computed. */
enum aggregate_sum collapsed_weight_sum(enum collapsed_weight weight);

struct collapsed_style {
    enum collapsed_weight weight;
    enum frame_detail detail;
    bool no_threads; /* without the thread, so that threads are merged */
    bool full_paths; /* files as recorded */
    bool opcodes;    /* with the instruction of the leaf */
};

/* Writes all lines. The aggregate must be sorted. Write errors are kept in `to`. */
void collapsed_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                     const struct collapsed_style *style);

#endif
