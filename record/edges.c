/* SPDX-License-Identifier: MIT */
#include "record/edges.h"

#include "formats/alloc.h"

#include <stdlib.h>

#define ENOUGH      3          /* times that a call is to be seen for sure */
#define EDGES_LIMIT (1u << 20) /* remembered at once; then we start anew */

bool edges_known(const struct edges *edges, uint32_t caller, uint32_t callee)
{
    const uint32_t place = pairs_find(&edges->pairs, caller, callee);
    return place && edges->seen[place - 1] >= ENOUGH;
}

bool edges_odd(const struct edges *edges, uint32_t caller, uint32_t function)
{
    return pairs_find(&edges->functions, caller, 0) && !pairs_find(&edges->functions, caller, function);
}

void edges_see(struct edges *edges, uint32_t caller, uint32_t callee, uint32_t function)
{
    if (edges->pairs.count >= EDGES_LIMIT) {
        pairs_free(&edges->pairs);
        pairs_free(&edges->functions);
    }
    bool added;
    const uint32_t place = pairs_number(&edges->pairs, caller, callee, &added);
    edges->seen = alloc_grow(edges->seen, &edges->seen_room, place, 1);
    if (added)
        edges->seen[place - 1] = 0;
    if (edges->seen[place - 1] < ENOUGH)
        edges->seen[place - 1]++;
    if (edges->seen[place - 1] == ENOUGH) {
        pairs_number(&edges->functions, caller, 0, &added);
        pairs_number(&edges->functions, caller, function, &added);
    }
}

void edges_free(struct edges *edges)
{
    pairs_free(&edges->pairs);
    pairs_free(&edges->functions);
    free(edges->seen);
    *edges = (struct edges){ 0 };
}
