/* SPDX-License-Identifier: MIT */
/* The head of a recording: who made the recording, where, when and how. */
#ifndef PYREEL_RECORD_RECORDING_INFO_H
#define PYREEL_RECORD_RECORDING_INFO_H

#include "formats/model/event.h"
#include "record/options.h"

/* The description of a recording that starts now, `start_ns` on the monotonic clock. `argv` is our command line. */
void recording_info_describe(struct recording *recording, const struct options *options, char **argv,
                             uint64_t start_ns);

/* Frees its texts. */
void recording_info_forget(struct recording *recording);

#endif
