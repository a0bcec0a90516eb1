/* SPDX-License-Identifier: MIT */
/* The head of a report: what was recorded and when, how exact the recording is, and what the numbers below are. The
 * words on exactness are those of model/exactness.h. */
#ifndef PYREEL_FORMATS_REPORT_REPORT_HEAD_H
#define PYREEL_FORMATS_REPORT_REPORT_HEAD_H

#include "formats/report/report.h"

/* What the tables do not say of the recording. */
struct report_origin {
    size_t recordings;      /* how many were read */
    const char *undated_by; /* who made a recording that has no date; NULL: it has one */
    const char *filters;    /* the options that leave out samples; NULL: none do */
    bool complete;          /* nothing is missing of the recordings */
};

/* Whether the report has the account of CPU time. Where samples were left out, the clock of a process says nothing of
 * the others. */
static inline bool report_knows_account(const struct report *report, const struct report_origin *origin)
{
    return report->account.known && !origin->filters;
}

/* Adds the facts of the head. Call this behind report_begin(). */
void report_add_head(struct report *report, const struct report_origin *origin);

/* Sums over all groups, of all weights. */
void report_sum_up(const struct report *report, uint64_t sums[SUMS]);

#endif
