/* SPDX-License-Identifier: MIT */
/* Self and total of each entry. A sample counts once in the total of an entry, however often the entry is in the stack:
 *
 *     main > walk > walk > walk      3 samples: total of walk is 3, self of walk is 3, total of main is 3 */
#ifndef PYREEL_FORMATS_CALLS_TOTALS_H
#define PYREEL_FORMATS_CALLS_TOTALS_H

#include "formats/calls/call_tree.h"

struct entry_totals {
    uint64_t self[SUMS], total[SUMS];
};

/* Returns the totals by entry, for the samples at and below a node: node 0 for all samples, or the node of a group.
 * The caller frees the array, which has entries->count rows. */
struct entry_totals *totals_of(const struct call_tree *tree, uint32_t node);

/* The same by code (entries_code()), with entries->codes_count rows: lines of one function are one. */
struct entry_totals *totals_of_codes(const struct call_tree *tree, uint32_t node);

/* The same by numbers of the caller's choice: `numbers` has a number for each entry, or 0 for an entry that counts
 * nowhere. The array has `count` rows, and all numbers are below `count`. */
struct entry_totals *totals_by(const struct call_tree *tree, uint32_t node, const uint32_t *numbers, size_t count);

#endif
