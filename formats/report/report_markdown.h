/* SPDX-License-Identifier: MIT */
/* Writes a report as Markdown, for a pull request or the summary of a job. Names are code spans, and what could end a
 * span or a cell of a table is escaped, so a name stays a name. */
#ifndef PYREEL_FORMATS_REPORT_REPORT_MARKDOWN_H
#define PYREEL_FORMATS_REPORT_REPORT_MARKDOWN_H

#include "formats/base/output.h"
#include "formats/report/report.h"

/* Write errors are kept in `to`. */
void report_markdown(struct output *to, const struct report *report);

/* Appends a text as code: `name`, or <code> with entities when a backtick, a bar or a mark of HTML is in it. */
void report_put_code(struct bytes *to, struct text text);

#endif
