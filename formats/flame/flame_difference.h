/* SPDX-License-Identifier: MIT */
/* The part of the page's data that compares two sides (--before). The nodes of both sides are in one tree, whose sums
 * are those of a mean run: the weight that is compared has the sums of after, and SUM_BEFORE the sums of before,
 * scaled. A stack that is lost has 0 of the one, and a new stack 0 of the other:
 *
 *     main    before 3.1 s    after 4.0 s
 *     ├─ old  before 1.0 s    after 0 s
 *     └─ new  before 0 s      after 1.9 s */
#ifndef PYREEL_FORMATS_FLAME_FLAME_DIFFERENCE_H
#define PYREEL_FORMATS_FLAME_FLAME_DIFFERENCE_H

#include "formats/base/json.h"
#include "formats/compare/compare.h"

#define SUM_BEFORE SUM_GIL_WAIT_NS /* in the tree of a comparison, which has no times of the lock */

#define FLAME_CONFIDENCE  0.95
#define FLAME_LEAST_SHARE 0.01 /* functions with a smaller share on both sides are not judged one by one */

struct flame_difference {
    const struct compare *compare;
    enum aggregate_sum weight;
    struct judgement judgement; /* of each code of the entries */
    size_t runs[COMPARE_SIDES];
};

/* Judges all functions of the tree, and replaces the tree's sums by those of both sides. The tree has all rows of
 * compare->aggregate. */
void flame_difference_find(struct flame_difference *difference, const struct compare *compare, struct call_tree *tree,
                           enum aggregate_sum weight);

/* Writes all of the difference but the column of the nodes, as members of an open object. `functions` has the index + 1
 * of the codes that the page has. */
void flame_difference_emit(struct json_emitter *json, const struct flame_difference *difference,
                           const uint32_t *functions);

/* Writes the array of facts of a comparison. `filters` as in flame_facts.h. */
void flame_difference_emit_facts(struct json_emitter *json, const struct flame_difference *difference,
                                 const char *filters);

void flame_difference_free(struct flame_difference *difference);

#endif
