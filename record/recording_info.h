/* SPDX-License-Identifier: MIT */
/* The head of a recording: who made the recording, where, when and how. */
#ifndef PYREEL_RECORD_RECORDING_INFO_H
#define PYREEL_RECORD_RECORDING_INFO_H

#include "formats/model/event.h"
#include "record/options.h"

/* Fills in the description of a recording that starts now. `start_ns` is the monotonic clock, `argv` the command line
 * of pyreel-record. recording_info_forget() frees the texts. */
void recording_info_describe(struct recording *recording, const struct options *options, char **argv,
                             uint64_t start_ns);

/* Frees the texts that recording_info_describe() made. */
void recording_info_forget(struct recording *recording);

#endif
