/* SPDX-License-Identifier: MIT */
/* The comparison of two sides, before and after. A side is one or more runs of a program: recordings that are read one
 * after the other, first those of before. What is compared are items: functions, lines, or nodes of a call tree. Each
 * item has a self and a total, and each of both is judged: it grew, it shrank, or the difference is not distinguishable
 * from what runs differ by themselves.
 *
 *     compare_take()              each event, as a converter gets it
 *     compare_take_recording()    each recording that was read to its end
 *     compare_end()               makes compare->aggregate, of which the caller makes entries, groups and a call tree
 *     compare_items_of_codes()    what the items are: functions ...
 *     compare_items_of_nodes()    ... or nodes of the call tree
 *     compare_judge()             the judgement of each item
 *
 * The time of a run is cut into slices. How much the slices of a run differ says how far the sum over the run is off;
 * how much runs of a side differ says what a second run would change. judge.c has the statistics. */
#ifndef PYREEL_FORMATS_COMPARE_COMPARE_H
#define PYREEL_FORMATS_COMPARE_COMPARE_H

#include "formats/calls/call_tree.h"
#include "formats/compare/slices.h"

enum compare_side { COMPARE_BEFORE, COMPARE_AFTER, COMPARE_SIDES };

enum verdict {
    VERDICT_SAME, /* not distinguishable */
    VERDICT_GREW,
    VERDICT_SHRANK,
    VERDICTS
};

#define COMPARE_RUNS_MOST 100 /* recordings of each side that are thought of, to tell a difference from noise */

/* One run: a recording. */
struct compare_run {
    struct text name; /* owned */
    enum compare_side side;
    uint32_t processes;          /* number of processes of the merged tables up to this run; entry 0 counts */
    bool whole;                  /* the program was recorded from its start to its end, and no end is left out */
    uint64_t duration_ns;        /* of the recording, or of the selected part of it */
    uint32_t python_version;     /* PY_VERSION_HEX */
    uint64_t samples, cpu_known; /* all samples; those that know their CPU time */
    double totals[SLICE_SUMS], squares[SLICE_SUMS]; /* sums of the weights of all samples, and of their squares */
    double ready_ns; /* wall-clock time of samples whose thread ran or was ready to run */
    struct slices slices;
};

/* Set `tables`, the merged tables, `before`, the number of runs before, and `to_ns`; the rest starts as zeros. */
struct compare {
    const struct tables *tables;
    size_t before;
    uint64_t to_ns; /* what comes later in a recording is left out; 0: nothing is */
    struct compare_run *runs;
    size_t runs_count, runs_room; /* one more than the recordings that were read to their ends */
    size_t read;                  /* recordings that were read to their ends */
    bool one_script; /* set by the caller: the main scripts of both sides, which have different names, are one file */
    struct text scripts[COMPARE_SIDES]; /* their paths as recorded, which belong to the caller */
    struct aggregate aggregate; /* the rows of all runs; complete after compare_end(). The owner may set group_of */
    struct intern keys;         /* thread, task, stack and group of each row: the rows of slices */
    uint32_t *by_key;           /* made by compare_end(), by number of a key: index in aggregate.rows */
};

/* The index of the run of a thread of the merged tables. */
size_t compare_run_of(const struct compare *compare, uint32_t thread);

/* Takes a sample; other events are ignored. */
void compare_take(struct compare *compare, const struct event *event);

/* Takes the tables of a recording that was read to its end. `name` is unique among the recordings. */
void compare_take_recording(struct compare *compare, const struct tables *recording, struct text name);

/* Ends the taking, and makes the sorted aggregate. False with the reason when a side has no samples. */
bool compare_end(struct compare *compare, struct fault *why);

/* Whether all runs are whole: then times per run are compared, else only how the parts of the program relate. */
bool compare_is_whole(const struct compare *compare);

/* Whether all runs know a sum of at least some samples. */
bool compare_knows(const struct compare *compare, enum aggregate_sum sum);

/* The weight that is compared when the user names none: CPU time where all runs know it, unless each program mostly
 * waited (frames/weight_choice.h); else wall-clock time. */
enum aggregate_sum compare_usual_weight(const struct compare *compare);

void compare_free(struct compare *compare);

/* ---- items ---- */

/* What is compared. Nodes are those of a call tree; a parent has a smaller number than its children. An item's self is
 * the self of its nodes; its total is the total of those nodes that have no node of the same item above them. */
struct compare_items {
    size_t count;      /* items have the numbers 1 to count - 1; 0: none */
    uint32_t *of_node; /* by node: its item; 0: none */
    bool *outermost;   /* by node: no node above has the same item */
};

/* The items are the codes of the entries (functions, or files or modules), the nodes of the tree, or the groups. The
 * caller frees the items with compare_items_free(). */
struct compare_items compare_items_of_codes(const struct call_tree *tree);
struct compare_items compare_items_of_entries(const struct call_tree *tree);
struct compare_items compare_items_of_nodes(const struct call_tree *tree);
struct compare_items compare_items_of_groups(const struct call_tree *tree);
void compare_items_free(struct compare_items *items);

/* ---- judgement ---- */

struct compare_style {
    enum aggregate_sum weight;
    double confidence;  /* 0.95: of 100 comparisons of a program with itself, at most 5 have any verdict but "same" */
    double least_share; /* items whose self or total is a smaller share of the whole on both sides are not judged */
    bool by_time, by_work; /* compare times per run, or never do; neither: compare them if all runs are whole */
};

/* A self, a total or the whole. Amounts are of a mean run: nanoseconds, or samples. */
struct judged {
    double before, after;
    double growth;    /* after / (before x scale) - 1, the scale being that of the comparison; INFINITY: before is 0 */
    double low, high; /* the growth lies between these two, for all items at once with the wanted confidence */
    uint32_t runs;    /* of a difference that is not distinguishable: with so many recordings of each side, like these,
                       * it would be sure in four of five tries, if it is the true one; 0: COMPARE_RUNS_MOST would not
                       * do, or it is sure. With one recording of a side, how much runs differ is only assumed */
    bool tested;      /* false: too small to be judged; the interval is that of everything, -1 to INFINITY */
    enum verdict verdict;
};

struct judged_item {
    struct judged self, total;
};

struct judgement {
    struct judged_item *items; /* by item; row 0 is unused */
    size_t count;
    struct judged whole;              /* the time of all samples of a run, for whole runs; else not tested */
    double whole_before, whole_after; /* the time of all samples of a mean run */
    double scale;                     /* how much more all functions together have after than before */
    bool by_time;                     /* times per run were compared */
    double busy;   /* the most that the machine did something else in a run, while the program could run: a share */
    size_t tests;  /* how many judgements share the confidence */
    double errors; /* how many standard errors the bounds of an interval are away */
    double spread; /* what a self or a total of both sides differs by, beyond the error of measuring each: a standard
                    * deviation, as a share */
};

/* Judges the items. The rows of compare->aggregate must be those of which the tree was made. */
void compare_judge(const struct compare *compare, const struct call_tree *tree, const struct compare_items *items,
                   const struct compare_style *style, struct judgement *judgement);

void judgement_free(struct judgement *judgement);

#endif
