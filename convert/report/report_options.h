/* SPDX-License-Identifier: MIT */
/* The options that only pyreel-report has: a table, which is also their help, what the user wants by them, and which of
 * them do not go together. */
#ifndef PYREEL_CONVERT_REPORT_REPORT_OPTIONS_H
#define PYREEL_CONVERT_REPORT_REPORT_OPTIONS_H

#include "convert/convert.h"
#include "formats/report/report.h"

/* The values of pyreel-report's own options: settings->wanted. */
struct report_wanted {
    struct report_style style;
    struct source_folders maps;
    bool least_given; /* --min */
    bool by_given;    /* --by */
    bool json, markdown, jsonl, pstats;
};

/* The table of the options. It ends in a row of zeros. */
extern const struct argument report_options[];

/* Applies an option to settings->wanted, and says what is wrong with all options together, see struct converter. */
bool report_options_apply(struct settings *settings, int number, const char *value);
const char *report_options_problem(const struct settings *settings);

/* Whether the output has all functions, or all stacks, for other tools. */
bool report_options_exchange(const struct report_wanted *wanted);

#endif
