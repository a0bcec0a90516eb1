/* SPDX-License-Identifier: MIT */
/* The results of a report: everything that its writers print, and nothing that they would have to look up. So text,
 * JSON and Markdown always say the same:
 *
 *     tables + aggregate  ->  report_make  ->  struct report  ->  report_text, report_json, report_markdown
 *
 * A report has a head of facts, the groups whose samples were counted (calls/groups.h), and sections: tables of the
 * hottest functions, a call tree, lines of source. Sums are in the unit of the report's weight: nanoseconds or samples.
 * Texts are as recorded, and whoever prints a text escapes it. */
#ifndef PYREEL_FORMATS_REPORT_REPORT_H
#define PYREEL_FORMATS_REPORT_REPORT_H

#include "formats/calls/account.h"
#include "formats/calls/by.h"
#include "formats/calls/groups.h"
#include "formats/frames/frame_filter.h"
#include "formats/model/aggregate.h"
#include "formats/sources/source_name.h"

enum report_sort { SORT_BOTH, SORT_SELF, SORT_TOTAL };

/* The report that the user asked for. `= {0}` asks for the hottest functions. */
struct report_style {
    bool weighted;             /* `weight` was asked for; else the report chooses */
    enum aggregate_sum weight; /* what 100 % is of */
    enum by by;                /* rows of a table */
    enum report_sort sort;
    uint64_t top;         /* most rows of a table; 0: as many as fit the writer */
    bool tree;            /* the call tree ... */
    double tree_least;    /* ... without calls below this share */
    const char *callers;  /* who calls this function; NULL: not asked for, here and below */
    const char *callees;  /* whom this function calls */
    const char *annotate; /* the source of this function or file */
    bool every_row;       /* for programs that read the report: all groups, each once, and without `top` all rows */
    bool ids;             /* each thread by itself */
    bool full_paths;
    const struct frame_filter *filter;
    const struct source_folders *maps; /* where sources lie on this machine; NULL: where they were recorded */
};

/* A line of the head: "python", "CPython 3.15.2". */
struct report_fact {
    const char *label;
    struct text text;
};

/* A line of a table, a call of the tree, or a line of source. */
struct report_row {
    struct text name; /* the function, file, module, thread, task or instruction; the text of a line of source */
    struct text file; /* as shown; empty: none */
    struct text path; /* as recorded; empty: none */
    uint32_t line;    /* 0: none, or not known */
    const char *kind; /* of the code (code_kind_name); NULL: it is no code */
    uint64_t self, total;
    uint64_t waits;   /* the part of `self` in which the thread waited; in "native": how long it waited */
    uint32_t depth;   /* in the tree: branches above */
    bool branches;    /* in the tree: the row is one of several calls of its caller, and they stand side by side */
    bool last;        /* in the tree: of these it is the last one; in source: lines behind this one are left out */
    uint32_t skipped; /* in the tree: so many calls without a branch are left out here, and this is no call */
    uint32_t parent;  /* in the tree: row of the caller + 1; 0: none */
};

enum report_section_kind { SECTION_TABLE, SECTION_TREE, SECTION_SOURCE };

/* Columns of a table that have something to say. */
enum report_column { COLUMN_SELF = 1 << 0, COLUMN_TOTAL = 1 << 1, COLUMN_WAITS = 1 << 2, COLUMN_PLACE = 1 << 3 };

struct report_section {
    enum report_section_kind kind;
    const char *what;     /* "hottest", "native", "callers", "tree", "source": for programs that read the report */
    struct text title;    /* for people */
    const char *rows_are; /* "function", "caller": the title of the column of names */
    enum report_sort sort;
    unsigned columns;
    size_t group;   /* index in report->groups + 1, of a section about one group; 0: about all that are shown */
    uint64_t whole; /* 100 % */
    struct report_row *rows;
    size_t count, room;
    size_t left_out;       /* rows that `top` leaves out */
    uint64_t left_out_sum; /* their self, or their total where rows have no self */
    struct text note;      /* what is to be known of the rows, such as why there is no source; empty: nothing */
};

/* Whose samples were counted. The groups stand in the order of their use of the processor or of the weight. */
struct report_group {
    struct text name;         /* for people: "app.py MainThread" */
    const struct group *from; /* with all sums */
    uint64_t sum;             /* of the weight */
    double waited;            /* share of its time in which the group waited; below 0: not known */
    bool quiet;               /* has no section of its own: it mostly waited, or used next to nothing */
};

/* `= {0}` is empty. */
struct report {
    struct report_style style;
    enum aggregate_sum weight;
    bool without_waits; /* the weight leaves out the samples of threads that waited */
    const char
        *why_not_cpu; /* why the report chose another weight than CPU time (weight_choice.reason); NULL: it did not */
    uint64_t whole;   /* sum of the weight over all that is shown */
    struct report_fact *facts;
    size_t facts_count, facts_room;
    struct report_group *groups;
    size_t groups_count;
    bool names_quiet; /* the sections leave out the groups that are quiet, so these are named */
    struct report_section *sections;
    size_t sections_count, sections_room;
    struct intern texts;    /* texts that the report owns */
    struct account account; /* of the CPU time of all processes */
    struct groups found;    /* of all samples; rows are those of report_group.from */
    const struct tables *tables;
    const struct aggregate *all; /* every sample */
    struct aggregate_row *busy;  /* the rows of samples that count, when the report leaves out waits; else NULL */
    size_t busy_count;
};

/* Returns the name of the weight for people. */
const char *report_weight_label(const struct report *report);

/* Chooses the weight and finds the groups. The aggregate is sorted and has the groups of waiting_group(); both must
 * outlive the report. False with the reason when the recording lacks the weight that was asked for. */
bool report_begin(struct report *report, const struct tables *tables, const struct aggregate *aggregate,
                  const struct report_style *style, struct fault *why);

/* Makes the sections. False when --focus leaves nothing, and then `why` stays empty; or with the reason, when a
 * function that the style names is not there or is not the only one. */
bool report_make(struct report *report, struct fault *why);

void report_free(struct report *report);

#endif
