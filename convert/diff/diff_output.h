/* SPDX-License-Identifier: MIT */
/* The outputs of pyreel-diff: text for a terminal or a log, JSON for programs, Markdown for a pull request. Write
 * errors are kept in `to`. */
#ifndef PYREEL_CONVERT_DIFF_DIFF_OUTPUT_H
#define PYREEL_CONVERT_DIFF_DIFF_OUTPUT_H

#include "convert/diff/difference.h"
#include "formats/base/output.h"
#include "formats/terminal/screen.h"

enum diff_format { DIFF_TEXT, DIFF_JSON, DIFF_MARKDOWN };

/* Sentences fit the screen, and colours are there only when the screen has them. `fits`: names are shortened, so that
 * rows fit, too; a log has whole names. */
void diff_text(struct output *to, const struct difference *difference, const struct screen *screen, bool fits);

/* The law of the JSON is schemas/diff.schema.json. False with the reason when the JSON could not be made. */
bool diff_json(struct output *to, const struct difference *difference, struct fault *why);

void diff_markdown(struct output *to, const struct difference *difference);

#endif
