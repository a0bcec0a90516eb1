/* SPDX-License-Identifier: MIT */
/* The frames that the user wants to see. A filter drops frames, folds frames into one, or drops whole stacks:
 *
 *     <module> (app.py:9);<frozen importlib._bootstrap> ...;decode (json/decoder.py:337);<GC>
 *
 *     --hide RE       a frame that matches is dropped, and its samples count at its caller
 *     --no-gc         <GC> is dropped; --no-native drops native code, such as <native>, but not the kernel
 *     --fold KIND     frames of one kind that follow one another are one frame: <import>, <stdlib>, <site-packages>
 *                     interpreter: C functions of the interpreter that have no name in Python, and are not the leaf of
 *                     the stack, are left out: most of them only pass a call on
 *     --focus RE      a stack without a frame that matches is left out; this looks at all frames as they were
 *                     before anything was dropped or folded
 *
 * An expression is a POSIX extended one, and matches anywhere in a frame as the output shows the frame, or in its name
 * alone, so that ^decode$ matches decode (json/decoder.py:337). The filter
 * works on the labels of an outline (model/outline.h): an expression looks once at each distinct label, never at a
 * sample. A stack of which nothing remains is the frame <hidden>. */
#ifndef PYREEL_FORMATS_FRAMES_FRAME_FILTER_H
#define PYREEL_FORMATS_FRAMES_FRAME_FILTER_H

#include "formats/base/fault.h"
#include "formats/frames/code_kind.h"
#include "formats/intern/intern.h"
#include "formats/model/outline.h"

#include <regex.h>

#define HIDDEN_FRAMES "<hidden>" /* the frame of a stack whose frames are all dropped */

/* Kinds of frames that can be folded. A frame of the import machinery also belongs to the standard library: the first
 * kind that is wanted counts. */
enum frame_fold { FOLD_IMPORT, FOLD_STDLIB, FOLD_PACKAGES, FOLD_INTERPRETER, FRAME_FOLDS };

/* Expressions of which one must match. `= {0}` is empty. */
struct patterns {
    regex_t *rows;
    size_t count, room;
};

/* `= {0}` shows everything. */
struct frame_filter {
    struct patterns hide, focus;
    bool fold[FRAME_FOLDS];
    bool no_gc, no_native;
};

/* Adds an expression. False with the reason when `expression` is none. */
bool patterns_add(struct patterns *patterns, const char *expression, struct fault *why);

/* Whether an expression matches a frame as it is shown, or its name alone. The text ends at its first 0, and must have
 * one behind it, as texts of intern.h do. */
bool frame_filter_matches(const regex_t *pattern, struct text shown);

/* Adds the kinds of frames in `names`, which has commas between them: "stdlib", "site-packages", "import",
 * "interpreter"; "none" takes all kinds away that were added before. False when a name is unknown; some kinds may be
 * added then. */
bool frame_filter_fold(struct frame_filter *filter, const char *names);

/* The kind of code of a frame that stands for folded ones, by its text: "<stdlib>". CODE_OTHER for any other text. */
enum code_kind frame_filter_kind_of(struct text shown);

/* Applies the filter. `labels` has the label of each frame of `tables` by the frame's number, and labels[0] that of a
 * stack without frames; `texts` has the text of each label. Labels of dropped frames become OUTLINE_DROPPED, labels of
 * folded frames a new label with OUTLINE_FOLDS, and those of the interpreter get OUTLINE_AT_LEAF.
 *
 * Returns whether --focus leaves a stack out, by the number of the stack; NULL: it leaves none out. The caller frees
 * the array. */
bool *frame_filter_apply(const struct frame_filter *filter, const struct tables *tables, struct intern *texts,
                         uint32_t *labels);

/* Frees the expressions. */
void frame_filter_free(struct frame_filter *filter);

#endif
