/* SPDX-License-Identifier: MIT */
/* Dumps a core file. Its memory never moves, so each stack is exact. */
#ifndef PYREEL_RECORD_DUMP_DUMP_CORE_H
#define PYREEL_RECORD_DUMP_DUMP_CORE_H

#include "record/dump/dump_live.h"

/* As dump_live(), for options->core. */
enum dump_result dump_core(struct dumped *dumped, const struct dump_options *options, struct fault *why);

#endif
