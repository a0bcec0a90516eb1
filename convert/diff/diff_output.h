/* SPDX-License-Identifier: MIT */
/* The outputs of pyreel-diff: text for a terminal or a log, JSON for programs, Markdown for a pull request. Write errors
 * are kept in `to`. */
#ifndef PYREEL_CONVERT_DIFF_DIFF_OUTPUT_H
#define PYREEL_CONVERT_DIFF_DIFF_OUTPUT_H

#include "convert/diff/difference.h"
#include "formats/base/output.h"

enum diff_format { DIFF_TEXT, DIFF_JSON, DIFF_MARKDOWN, DIFF_FORMATS };

void diff_text(struct output *to, const struct difference *difference);

#endif
