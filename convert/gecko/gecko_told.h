/* SPDX-License-Identifier: MIT */
/* What the user is told of a finished profile on standard error: what is not as in the recording, and what makes the
 * profile hard to use, with ways out. */
#ifndef PYREEL_CONVERT_GECKO_GECKO_TOLD_H
#define PYREEL_CONVERT_GECKO_GECKO_TOLD_H

#include "convert/gecko/to_gecko.h"

/* Tells of the profile's content. Call it after gecko_finish(). */
void gecko_told_content(const struct to_gecko *to);

/* The size of a profile, and what could be left out. */
struct gecko_size {
    uint64_t json_bytes;
    uint64_t packed_bytes; /* of the file for the store; 0: the file is not packed, so the store does not take it */
    bool several_threads;
    uint64_t samples, off_cpu; /* all, and those of threads that did not run */
};

/* What the user is told of the size, with the options that make the profile smaller; NULL: nothing, the size is no
 * problem for the viewer or for the store of profiles. The caller frees the text. */
char *gecko_told_size(const struct gecko_style *style, const struct gecko_size *size);

#endif
