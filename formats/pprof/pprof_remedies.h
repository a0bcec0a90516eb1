/* SPDX-License-Identifier: MIT */
/* Options of pyreel-pprof that make a profile smaller, and how many samples this profile has with each: counted, not
 * estimated. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_REMEDIES_H
#define PYREEL_FORMATS_PPROF_PPROF_REMEDIES_H

#include "formats/pprof/pprof.h"

#define PPROF_REMEDIES 4 /* at most */

struct pprof_remedy {
    const char *options; /* of the command line: "--no-labels --functions" */
    size_t samples;      /* the number of samples of the profile with these options */
};

/* Finds the options that make a profile of `samples` samples smaller, in addition to those of its style. An option that
 * merges no more than another one is left out. Returns how many there are in `found`, which has room for
 * PPROF_REMEDIES. Takes several times as long as pprof_write(), and as much memory. */
size_t pprof_remedies_find(struct pprof_remedy *found, const struct tables *tables, const struct aggregate *aggregate,
                           const struct pprof_style *style, size_t samples);

#endif
