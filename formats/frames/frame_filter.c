/* SPDX-License-Identifier: MIT */
#include "formats/frames/frame_filter.h"

#include "formats/base/alloc.h"
#include "formats/model/paths.h"

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
    [FOLD_INTERPRETER] = { .name = "interpreter" }, /* no frame stands for these */
};

enum code_kind frame_filter_kind_of(struct text shown)
{
    for (size_t i = 0; i < FOLD_INTERPRETER; i++)
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
    if (text_equal(name, TEXT("none"))) {
        memset(filter->fold, 0, sizeof(filter->fold));
        return true;
    }
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

static bool folds_files(const struct frame_filter *filter)
{
    for (size_t i = 0; i < FOLD_INTERPRETER; i++)
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
        const bool is_python = !tables->functions[i].module;
        const enum frame_fold fold = is_python ? fold_of(filter, tables_function_file(tables, (uint32_t)i))
                                               : FRAME_FOLDS;
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

/* Whether a name is one that Python has: list.sort. Of the marks of C compilers, the tables leave one: f.cold. */
static bool is_python_name(struct text name)
{
    const char *dot = name.size ? memchr(name.bytes, '.', name.size) : NULL;
    const struct text rest = dot ? (struct text){ dot + 1, name.size - (size_t)(dot + 1 - name.bytes) } : TEXT("");
    return rest.size > 0 && (rest.bytes[0] < '0' || rest.bytes[0] > '9') && !text_begins(rest, TEXT("cold"));
}

/* Whether a function is C code of the interpreter: of python3.13, libpython3.13.so.1.0. */
static bool is_of_interpreter(const struct tables *tables, const struct function *function)
{
    const struct text module = paths_last_part(tables_string(tables, function->module));
    return function->kind == KIND_NATIVE &&
           (text_begins(module, TEXT("python3")) || text_begins(module, TEXT("libpython3")));
}

static void fold_interpreter(const struct tables *tables, uint32_t *labels)
{
    for (size_t i = 1; i < tables->frames_count; i++) {
        const struct function *function = &tables->functions[tables->frames[i].function];
        if (labels[i] != OUTLINE_DROPPED && is_of_interpreter(tables, function) &&
            !is_python_name(tables_string(tables, function->name)))
            labels[i] |= OUTLINE_AT_LEAF;
    }
}

/* ---- dropping ---- */

/* The size of the name in a frame as it is shown: work in "work (app.py:9)". */
static size_t name_size(struct text shown)
{
    size_t size = shown.size;
    if (size == 0 || shown.bytes[size - 1] != ')')
        return shown.size;
    while (size > 1 && !(shown.bytes[size - 1] == '(' && shown.bytes[size - 2] == ' '))
        size--;
    return size > 2 ? size - 2 : shown.size;
}

bool frame_filter_matches(const regex_t *pattern, struct text shown)
{
    shown.size = strnlen(shown.bytes, shown.size);
    const size_t size = name_size(shown);
    if (regexec(pattern, shown.bytes, 0, NULL, 0) == 0)
        return true;
    if (size == shown.size)
        return false;
    char *name = alloc_copy(shown.bytes, size);
    const bool matches = regexec(pattern, name, 0, NULL, 0) == 0;
    free(name);
    return matches;
}

/* Finds the labels that one of the patterns matches. The caller frees the array, by label. */
static bool *match(const struct patterns *patterns, const struct intern *texts)
{
    bool *matches = alloc_zeroed((size_t)texts->count + 1, sizeof(*matches));
    for (uint32_t label = 1; label <= texts->count; label++)
        for (size_t i = 0; i < patterns->count && !matches[label]; i++)
            matches[label] = frame_filter_matches(&patterns->rows[i], texts->texts[label]);
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
    if (folds_files(filter))
        fold_frames(filter, tables, texts, labels);
    if (filter->fold[FOLD_INTERPRETER])
        fold_interpreter(tables, labels);
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
