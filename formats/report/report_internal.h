/* SPDX-License-Identifier: MIT */
/* What the files of a report share: adding to the results, and the tree from which sections are made. */
#ifndef PYREEL_FORMATS_REPORT_REPORT_INTERNAL_H
#define PYREEL_FORMATS_REPORT_REPORT_INTERNAL_H

#include "formats/calls/totals.h"
#include "formats/report/report.h"

/* The entries of one kind and their tree, for a section. */
struct section_calls {
    struct entries entries;
    struct call_tree tree;
};

/* What a section shows. `= {0}` is functions of all groups. */
struct section_style {
    enum entry_kind kind;
    bool opcodes;         /* with instructions */
    bool folds_recursion; /* a function that calls itself is one node */
    bool without_quiet;   /* without the groups that are quiet */
};

/* Finds the entries and makes the tree. False when --focus leaves nothing. section_calls_free() frees both in any case.
 */
bool section_calls_make(struct section_calls *calls, const struct report *report, const struct section_style *style);
void section_calls_free(struct section_calls *calls);

/* The samples that count. The rows belong to the report or its aggregate. */
struct aggregate report_counted(const struct report *report);

/* A copy of a text, which the report owns. Below: of a string made as printf() does. */
struct text report_keep(struct report *report, struct text text);
struct text report_say(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds an empty section; a row to a section. Both stay where they are until the next one is added. */
struct report_section *report_add_section(struct report *report, enum report_section_kind kind, const char *what);
struct report_row *report_add_row(struct report_section *section);

/* Fills the texts of a row from an entry. */
void report_describe(struct report *report, struct report_row *row, const struct entries *entries, uint32_t entry);

/* Whether an entry is a wait, and no code. */
bool report_is_wait(const struct entries *entries, uint32_t entry);

/* Sorts the rows and keeps the first ones. */
void report_sort_rows(struct report_section *section, enum report_sort sort, size_t top);

/* The sum of the weight. */
static inline uint64_t report_sum(const struct report *report, const uint64_t *sums)
{
    return sums[report->weight];
}

/* Finds the entry that the user names: by its name, by the end of its name behind a dot, by file:line, or by a regular
 * expression. False with the reason, which lists the candidates, unless exactly one entry fits. `option` is for the
 * reason. */
bool report_find_entry(const struct entries *entries, const char *option, const char *wanted, uint32_t *entry,
                       struct fault *why);

/* The sections: of groups, of hottest entries, of callers and callees, of the tree, of source. */
bool report_find_groups(struct report *report);

/* The name of a group's thread, with the process where there are several: "app.py worker". With --ids the numbers tell
 * it from all others: "app.py (4242) worker (4243)". */
struct text report_thread_name(struct report *report, const struct group *group);
bool report_add_tables(struct report *report);
bool report_add_callers(struct report *report, struct fault *why);
bool report_add_callees(struct report *report, struct fault *why);
bool report_add_tree(struct report *report);
bool report_add_source(struct report *report, struct fault *why);

#endif
