/* SPDX-License-Identifier: MIT */
/* Writes an aggregate (model/aggregate.h) as collapsed stacks, the text that flame graph tools read. Each distinct
 * stack is a line: the frames, root first, and a number, which counts samples or the microseconds that the samples
 * stand for.
 *
 *     MainThread;<module> (app.py:30);main (app.py:17);work (app.py:9) 310
 *     app.py;subinterpreter;Thread (work);<no Python frames> 4
 *
 * Root frames stand before the frames of the stack: the recording, the process, the interpreter, the thread and the
 * asyncio task. Usually these are the process if there are several, the interpreter unless it is the main one, the
 * thread, and the task of an entry that stands for a task. Root frames have no numbers, so that two runs of a program
 * can be compared, and equal processes and threads are one line:
 *
 *                      without ids           with ids
 *     recording        shard-2               shard-2             only if there are several
 *     process          app.py                pid 4242: python3 app.py (shard-2)
 *     interpreter      subinterpreter        interpreter 1
 *     thread           Thread (work)         Thread-3 (work) (4315)             plain_name.h says which number goes
 *     task             task fetch, task      task fetch, task Task-17           only automatic names lose the number
 *
 * A frame is `function (file:line)` or `function (file:line:column)`, with columns that count from 1. Without a known
 * or wanted line it is `function (file)`. A synthetic frame without a file, such as <GC>, is the bare name; <task
 * Task-17> is <task> without ids and where threads are merged. A thread without Python frames has the frame <no Python
 * frames>. frame_filter.h says which frames can be dropped and folded.
 *
 * The last frame never ends in a blank and digits, because flame graph tools would read the digits as a second count.
 *
 * With instructions, the leaf's instruction is a frame of its own, such as [LOAD_ATTR_SLOT]. So the function stays one
 * box of a flame graph, with its instructions above it. A leaf that is dropped or folded shows no instruction.
 *
 * A file is shown relative to the folder in which Python finds the module, see model/paths.h.
 *
 * `;` would end a frame and becomes `:`. A control character would end the line and becomes a blank. An empty name is
 * <unknown>. Stacks that look the same are one line. Lines are sorted frame by frame as bytes, and a stack comes before
 * its continuations: the order depends on nothing but the lines. Lines can also be sorted by their numbers, the largest
 * first. */
#ifndef PYREEL_FORMATS_COLLAPSED_COLLAPSED_H
#define PYREEL_FORMATS_COLLAPSED_COLLAPSED_H

#include "formats/base/output.h"
#include "formats/frames/frame_filter.h"
#include "formats/model/aggregate.h"
#include "formats/model/outline.h"

/* Root frames. */
enum collapsed_root {
    ROOT_RECORDING = 1 << 0,
    ROOT_PROCESS = 1 << 1,
    ROOT_INTERPRETER = 1 << 2,
    ROOT_THREAD = 1 << 3,
    ROOT_TASK = 1 << 4,
    ROOT_NONE = 1 << 5, /* no frame: so that "none" differs from ROOTS_USUAL */
};
#define ROOTS_USUAL 0u

/* The bits of the root frames in `list`, which has commas between the names: recording, process, interpreter, thread,
 * task; or none alone. False when a name is unknown. */
bool collapsed_roots_named(const char *list, unsigned *roots);

struct collapsed_style {
    enum aggregate_sum
        weight; /* the number on a line: samples, or microseconds. A stack whose number is 0 gets no line */
    enum frame_detail detail;
    unsigned roots;  /* bits of enum collapsed_root, or ROOTS_USUAL */
    bool no_threads; /* without the thread and the task, so that threads are merged */
    bool ids;        /* root frames and task frames with numbers */
    bool full_paths; /* files as recorded */
    bool opcodes;    /* with the instruction of the leaf */
    bool by_count;   /* lines with large numbers first */
    struct frame_filter filter;
};

/* Writes all lines. The aggregate must be sorted. Write errors are kept in `to`. False, and nothing is written, when
 * there are stacks and the style leaves all of them out. */
bool collapsed_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                     const struct collapsed_style *style);

#endif
