/* SPDX-License-Identifier: MIT */
/* How many samples of a recording are missing. */
#ifndef PYREEL_CONVERT_LOSS_H
#define PYREEL_CONVERT_LOSS_H

#include "formats/model/source_kind.h"
#include "formats/model/tables.h"

/* Of a recording that was read as far as it goes, `samples` of it. Where its end was read, that tells how many there
 * were; else it is an estimate. */
uint64_t loss_of(const struct source_report *report, const struct tables *tables, uint64_t samples);

#endif
