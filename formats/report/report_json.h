/* SPDX-License-Identifier: MIT */
/* Writes a report as JSON: schemas/report.schema.json says what each member means. Times are seconds. */
#ifndef PYREEL_FORMATS_REPORT_REPORT_JSON_H
#define PYREEL_FORMATS_REPORT_REPORT_JSON_H

#include "formats/base/output.h"
#include "formats/report/report_head.h"

/* False with the reason when a text cannot become JSON. Write errors are kept in `to`. */
bool report_json(struct output *to, const struct report *report, const struct report_origin *origin, struct fault *why);

#endif
