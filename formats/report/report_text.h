/* SPDX-License-Identifier: MIT */
/* Writes a report as text, for a terminal or a log. Lines fit the screen: long names lose their middle, and sentences
 * are wrapped. Colours and lines of trees are there only when the screen shows them. */
#ifndef PYREEL_FORMATS_REPORT_REPORT_TEXT_H
#define PYREEL_FORMATS_REPORT_REPORT_TEXT_H

#include "formats/base/output.h"
#include "formats/report/report.h"
#include "formats/terminal/screen.h"

/* Writes the head, the sections, and a line for each group that has none. Write errors are kept in `to`. */
void report_text(struct output *to, const struct report *report, const struct screen *screen);

/* Writes the rows of one section, without its title. */
void report_text_rows(struct output *to, const struct report *report, const struct report_section *section,
                      const struct screen *screen);

/* Appends an amount of the weight, "1.234" or "310", and a share of the whole in percent, "39.1". */
void report_put_amount(struct bytes *to, const struct report *report, uint64_t amount);
void report_put_percent(struct bytes *to, uint64_t amount, uint64_t whole);

/* The unit of the weight behind an amount: " s" or "". */
const char *report_unit(const struct report *report);

/* Appends the sentence on a group that has no section: "price-updater waited 97 % of 12.0 s". The name is printable. */
void report_put_quiet(struct bytes *to, const struct report *report, const struct report_group *group, bool ascii);

/* The number of groups that have no section and are named instead, of which the first REPORT_QUIET_MOST are written. */
#define REPORT_QUIET_MOST 5
size_t report_count_quiet(const struct report *report);

#endif
