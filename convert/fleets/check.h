/* SPDX-License-Identifier: MIT */
/* --check: says what a store would do with a profile that was written, and which options help. The options are tried on
 * this profile, so the number of samples that each leaves is counted. */
#ifndef PYREEL_CONVERT_FLEETS_CHECK_H
#define PYREEL_CONVERT_FLEETS_CHECK_H

#include "convert/fleets/stores.h"

/* A profile that was written, and what it was made from. */
struct checked {
    const char *path;
    uint64_t file_bytes;
    struct pprof_written written;
    const struct tables *tables;
    const struct aggregate *aggregate;
    const struct pprof_style *style;
};

/* Prints on standard error which options make the profile smaller, with the number of samples that each leaves: "Fewer
 * with --no-labels (3478), --from and --to, --every for one recording". */
void check_print_remedies(const struct checked *checked);

/* Prints on standard error what the store would refuse, cut or ignore; unless `quiet`, also that it refuses nothing.
 * Returns whether the store accepts the profile. */
bool check_profile(enum store store, const struct checked *checked, bool quiet);

#endif
