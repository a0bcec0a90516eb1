/* SPDX-License-Identifier: MIT */
#include "formats/frames/frame_filter.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The names of --fold, and the frames that stand for folded ones. */
static const struct {
    const char *name, *shown;
    enum code_kind kind; /* of that frame */
} folds[FRAME_FOLDS] = {
    [FOLD_IMPORT] = { "import", "<import>", CODE_IMPORT },
    [FOLD_STDLIB] = { "stdlib", "<stdlib>", CODE_LIBRARY },
    [FOLD_PACKAGES] = { "site-packages", "<site-packages>", CODE_PACKAGE },
};

enum code_kind frame_filter_kind_of(struct text shown)
{
    for (size_t i = 0; i < FRAME_FOLDS; i++)
        if (text_equal(text_of(folds[i].shown), shown))
            return folds[i].kind;
    return CODE_OTHER;
}

/* ---- the command line ---- */

bool patterns_add(struct patterns *patterns, const char *expression, struct fault *why)
{
    patterns->rows = alloc_grow(patterns->rows, &patterns->room, patterns->count + 1, sizeof(*patterns->rows));
    regex_t *row = &patterns->rows[patterns->count];
    const int problem = regcomp(row, expression, REG_EXTENDED | REG_NOSUB);
    if (problem) {
        char reason[100];
        regerror(problem, row, reason, sizeof(reason));
        return fault(why, "%s", reason);
    }
    patterns->count++;
    return true;
}

static bool fold_named(struct frame_filter *filter, struct text name)
{
    for (size_t i = 0; i < FRAME_FOLDS; i++)
        if (text_equal(text_of(folds[i].name), name))
            return filter->fold[i] = true;
    return false;
}

bool frame_filter_fold(struct frame_filter *filter, const char *names)
{
    struct text name;
    while (text_take_word(&names, &name))
        if (!fold_named(filter, name))
            return false;
    return true;
}

/* ---- folding ---- */

/* The kind into which the code of a file is folded; FRAME_FOLDS: none. */
static enum frame_fold fold_of(const struct frame_filter *filter, struct text file)
{
    const enum code_kind kind = code_kind_of_file(file);
    if (kind == CODE_IMPORT && filter->fold[FOLD_IMPORT])
        return FOLD_IMPORT;
    if (kind == CODE_PACKAGE)
        return filter->fold[FOLD_PACKAGES] ? FOLD_PACKAGES : FRAME_FOLDS;
    return kind != CODE_PROGRAM && filter->fold[FOLD_STDLIB] ? FOLD_STDLIB : FRAME_FOLDS;
}

static bool folds_any(const struct frame_filter *filter)
{
    for (size_t i = 0; i < FRAME_FOLDS; i++)
        if (filter->fold[i])
            return true;
    return false;
}

/* The label for the kind into which each function is folded, with OUTLINE_FOLDS; 0: not folded. */
static uint32_t *fold_functions(const struct frame_filter *filter, const struct tables *tables, struct intern *texts)
{
    uint32_t *folded = alloc_zeroed(tables->functions_count + 1, sizeof(*folded));
    bool added;
    for (size_t i = 1; i < tables->functions_count; i++) {
        const enum frame_fold fold = fold_of(filter, tables_function_file(tables, (uint32_t)i));
        if (fold != FRAME_FOLDS)
            folded[i] = intern_number(texts, folds[fold].shown, strlen(folds[fold].shown), &added) | OUTLINE_FOLDS;
    }
    return folded;
}

static void fold_frames(const struct frame_filter *filter, const struct tables *tables, struct intern *texts,
                        uint32_t *labels)
{
    uint32_t *folded = fold_functions(filter, tables, texts);
    for (size_t i = 1; i < tables->frames_count; i++) {
        const uint32_t label = folded[tables->frames[i].function];
        if (label && labels[i] != OUTLINE_DROPPED)
            labels[i] = label;
    }
    free(folded);
}

/* ---- dropping ---- */

/* Which labels one of the patterns matches. A text has a 0 behind it (intern.h). */
static bool *match(const struct patterns *patterns, const struct intern *texts)
{
    bool *matches = alloc_zeroed((size_t)texts->count + 1, sizeof(*matches));
    for (uint32_t label = 1; label <= texts->count; label++)
        for (size_t i = 0; i < patterns->count && !matches[label]; i++)
            matches[label] = regexec(&patterns->rows[i], texts->texts[label].bytes, 0, NULL, 0) == 0;
    return matches;
}

static void drop_frames(const struct tables *tables, const bool *matches, uint32_t *labels)
{
    for (size_t i = 0; i < tables->frames_count; i++)
        if (matches[labels[i]])
            labels[i] = OUTLINE_DROPPED;
}

static void drop_kind(const struct tables *tables, enum frame_kind kind, uint32_t *labels)
{
    for (size_t i = 1; i < tables->frames_count; i++)
        if (tables_kind(tables, (uint32_t)i) == kind)
            labels[i] = OUTLINE_DROPPED;
}

/* A stack comes after its caller, so one pass suffices. Stack 0 has no frames. */
static bool *frame_filter_leave_out(const struct tables *tables, const bool *matches, const uint32_t *labels)
{
    const size_t count = tables->stacks_count ? tables->stacks_count : 1;
    bool *left_out = alloc_zeroed(count, sizeof(*left_out));
    left_out[0] = !matches[labels[0]];
    for (size_t i = 1; i < tables->stacks_count; i++) {
        const struct stack *stack = &tables->stacks[i];
        left_out[i] = !matches[labels[stack->frame]] && (stack->caller == 0 || left_out[stack->caller]);
    }
    return left_out;
}

bool *frame_filter_apply(const struct frame_filter *filter, const struct tables *tables, struct intern *texts,
                         uint32_t *labels)
{
    bool *left_out = NULL;
    if (filter->focus.count) {
        bool *matches = match(&filter->focus, texts);
        left_out = frame_filter_leave_out(tables, matches, labels);
        free(matches);
    }
    if (filter->hide.count) {
        bool *matches = match(&filter->hide, texts);
        drop_frames(tables, matches, labels);
        free(matches);
    }
    if (filter->no_gc)
        drop_kind(tables, KIND_GC, labels);
    if (filter->no_native)
        drop_kind(tables, KIND_NATIVE, labels);
    if (folds_any(filter))
        fold_frames(filter, tables, texts, labels);
    return left_out;
}

static void free_patterns(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        regfree(&patterns->rows[i]);
    free(patterns->rows);
}

void frame_filter_free(struct frame_filter *filter)
{
    free_patterns(&filter->hide);
    free_patterns(&filter->focus);
    *filter = (struct frame_filter){ 0 };
}
