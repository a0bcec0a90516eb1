/* SPDX-License-Identifier: MIT */
/* Stores of profiles, and what each refuses, cuts or ignores with its default limits. A profile that go tool pprof
 * reads may be too large for a store, and the store says so only after the upload, or never:
 *
 *     Pyroscope refuses the profile: 139120 samples, at most 16000
 *     Pyroscope cuts the leaf side of stacks deeper than 1000 frames: 12 samples; --max-depth 1000 keeps both sides
 *
 * Limits that none of our profiles can break have no row: ids in order, texts in UTF-8, names of sample types without
 * "-", labels of a sample. docs/fleets.md has the limits, and the options of the servers that set them. */
#ifndef PYREEL_CONVERT_FLEETS_STORES_H
#define PYREEL_CONVERT_FLEETS_STORES_H

#include "formats/pprof/pprof.h"

enum store { STORE_NONE, STORE_PYROSCOPE, STORE_PARCA };

/* The store of this name; STORE_NONE: there is no such store. */
enum store store_named(const char *name);

/* The name of a store for people. */
const char *store_name(enum store store);

/* A profile, as far as stores have limits for it. */
struct store_profile {
    struct pprof_written written;
    uint64_t file_bytes;     /* of the file, which is what is sent */
    uint64_t start_s, now_s; /* when the profile begins, and the present time, in seconds since 1970 */
};

/* A limit that the profile is over, and the answer of the store. */
struct store_finding {
    bool refused;     /* the store does not take the profile; otherwise the store takes a part of it */
    bool by_size;     /* a profile with fewer samples is within the limit */
    const char *cure; /* what else helps; NULL: nothing else */
    char text[192];   /* for people: "refuses the profile: 139120 samples, at most 16000" */
};

#define STORE_FINDINGS 16 /* at most */

/* Puts the limits that the profile is over into `findings`. Returns how many there are. */
size_t store_check(enum store store, const struct store_profile *profile, struct store_finding *findings);

#endif
