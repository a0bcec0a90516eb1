/* SPDX-License-Identifier: MIT */
/* The table that pyreel-info shows of several recordings: a line for each, and a line of totals. A recording that
 * cannot be read has a line with the reason, and is not in the totals. So has a copy of a recording that the table has
 * already: it would count twice. */
#ifndef PYREEL_CONVERT_INFO_INFO_SEVERAL_H
#define PYREEL_CONVERT_INFO_INFO_SEVERAL_H

#include "convert/convert.h"
#include "formats/calls/account.h"

#include <jansson.h>

struct info_row;

/* `= {0}` is empty. */
struct info_several {
    struct info_row *rows;
    size_t count, room;
    bool too_few; /* one of the recordings has fewer samples than --min-kept asks for */
};

/* Adds a recording that was read. `json` is what --json shows of the recording alone, or NULL; the list owns it. False
 * with the reason when the list has the recording already. */
bool info_several_add(struct info_several *several, const struct conversion *conversion, const struct account *account,
                      json_t *json, struct fault *why);

/* Adds a recording that cannot be shown. */
void info_several_add_failed(struct info_several *several, const char *path, const char *reason);

/* The number of samples of all recordings. */
uint64_t info_several_samples(const struct info_several *several);

/* Prints the table. */
void info_several_print(struct output *to, const struct info_several *several);

/* Prints a line for each recording (info_summary.h). */
void info_several_print_summaries(struct output *to, const struct info_several *several);

/* The list as a JSON object, with a list "recordings" and an object "totals". The caller owns the object. */
json_t *info_several_json(const struct info_several *several);

/* Frees the rows. */
void info_several_free(struct info_several *several);

#endif
