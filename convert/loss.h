/* SPDX-License-Identifier: MIT */
/* Whether a recording is damaged, and how many samples the damage removed. */
#ifndef PYREEL_CONVERT_LOSS_H
#define PYREEL_CONVERT_LOSS_H

#include "formats/model/source_kind.h"
#include "formats/model/tables.h"

/* The number of lost samples of a recording that was read to its end and gave `samples` samples. The number is exact
 * when the recording's end event was read, because that event has the total. Otherwise it is an estimate. */
uint64_t loss_of(const struct source_report *report, const struct tables *tables, uint64_t samples);

/* Whether anything of the recording was skipped, came twice, or is missing. */
bool loss_is_damage(const struct source_report *report, const struct tables *tables);

#endif
