/* SPDX-License-Identifier: MIT */
/* The results of a comparison: everything that the outputs of pyreel-diff print, so that text, JSON and Markdown always
 * say the same.
 *
 *     compare  ->  difference_make()  ->  struct difference  ->  diff_text(), diff_json(), diff_markdown()
 *
 * Rows stand in this order: first those that changed, then those that are not distinguishable from noise; among each,
 * the largest difference first. Rows that are too small to be judged are counted only. */
#ifndef PYREEL_CONVERT_DIFF_DIFFERENCE_H
#define PYREEL_CONVERT_DIFF_DIFFERENCE_H

#include "formats/calls/by.h"
#include "formats/compare/compare.h"

#define DIFF_CONFIDENCE  0.95
#define DIFF_LEAST_SHARE 0.01
#define DIFF_TOP         20
#define DIFF_TOP_SAME    5 /* rows of a table of text that are not distinguishable from noise, unless --top is given */

/* The comparison that the user asked for. */
struct diff_style {
    bool weighted; /* `weight` was asked for; else it is chosen: CPU time, or wall-clock time where that is not known */
    enum aggregate_sum weight;
    enum by by;            /* BY_THREAD at most */
    bool paths;            /* also compare the nodes of the call tree */
    bool by_time, by_work; /* how to compare; neither: by time if all runs are whole */
    double confidence, least_share;
    bool least_given, top_given; /* for the program: least_share, top were asked for */
    uint64_t top;                /* rows of a table; 0: all */
    bool full_paths;
    bool fails;       /* judge whether anything grew by more than ... */
    double fail_over; /* ... this */
    const struct frame_filter *filter;
};

/* A function, line, file, module or thread; or a call path, which is a node of the tree. */
struct diff_row {
    struct text name, file; /* as recorded, shortened; .file is empty when there is none */
    struct text path;       /* of the file, as recorded */
    uint32_t line;          /* 0: none */
    const char *kind;       /* of the code; NULL: it is no code */
    uint32_t node;          /* of the tree, of a call path; 0: none */
    struct judged_item judged;
    bool fails; /* grew by more than style.fail_over */
};

struct diff_table {
    struct diff_row *rows;
    size_t count;
    size_t small;              /* items that are too small to be judged */
    size_t verdicts[VERDICTS]; /* of rows: a row changed when its self or its total changed */
    struct judgement judgement;
};

/* `= {0}` is empty. */
struct difference {
    const struct compare *compare;
    struct diff_style style; /* with the weight that was chosen */
    struct entries entries;
    struct groups groups;
    struct call_tree tree;
    struct intern texts;            /* texts that the difference owns */
    struct diff_table items, paths; /* `paths` is empty unless style.paths */
    bool failed;                    /* something grew by more than style.fail_over, ... */
    bool whole_fails;               /* ... and so did the whole */
};

/* The verdict on a row: that on its self, or else on its total. */
enum verdict diff_row_verdict(const struct diff_row *row);

/* Makes the results. The comparison has ended, and must outlive the results. False with the reason when the sides
 * cannot be compared; false without a reason when the filters leave nothing. difference_free() frees the results in any
 * case. */
bool difference_make(struct difference *difference, const struct compare *compare, const struct diff_style *style,
                     struct fault *why);

/* The share of an amount of a side in the whole of that side. */
double difference_share(const struct difference *difference, enum compare_side side, double amount);

/* The wall-clock time of a mean run of a side, in nanoseconds. */
double difference_duration_ns(const struct difference *difference, enum compare_side side);

void difference_free(struct difference *difference);

#endif
