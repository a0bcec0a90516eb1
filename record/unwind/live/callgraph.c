/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/callgraph.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define ENOUGH          3          /* times that a call is to be seen for sure, ... */
#define SHOWN_ENOUGH    8          /* ... or shown by single copies, ... */
#define SHOWN_WITHIN    16384      /* ... in so many ticks */
#define CALLGRAPH_LIMIT (1u << 20) /* remembered at once; then we start anew */

bool callgraph_known(const struct callgraph *edges, uint32_t caller, uint32_t callee)
{
    const uint32_t place = intern_pairs_find(&edges->pairs, caller, callee);
    return place && edges->edges[place - 1].seen >= ENOUGH;
}

bool callgraph_odd(const struct callgraph *edges, const struct made_call *call)
{
    return intern_pairs_find(&edges->functions, call->caller, 0) &&
           !intern_pairs_find(&edges->functions, call->caller, call->function);
}

static struct edge *edge_of(struct callgraph *edges, uint32_t caller, uint32_t callee, uint32_t tick)
{
    if (edges->pairs.count >= CALLGRAPH_LIMIT) {
        intern_pairs_free(&edges->pairs);
        intern_pairs_free(&edges->functions);
    }
    bool added;
    const uint32_t place = intern_pairs_number(&edges->pairs, caller, callee, &added);
    edges->edges = alloc_grow(edges->edges, &edges->room, place, sizeof(*edges->edges));
    if (added)
        edges->edges[place - 1] = (struct edge){ .seen_last = tick - 1, .shown_last = tick - 1 };
    return &edges->edges[place - 1];
}

static void see(struct callgraph *edges, uint32_t caller, uint32_t callee, uint32_t tick)
{
    struct edge *edge = edge_of(edges, caller, callee, tick);
    edge->seen += edge->seen < ENOUGH && edge->seen_last != tick;
    edge->seen_last = tick;
}

void callgraph_see(struct callgraph *edges, const struct made_call *call, uint32_t tick)
{
    see(edges, call->caller, call->callee, tick);
    see(edges, call->caller, call->function | CALLGRAPH_FUNCTION, tick);
    if (callgraph_known(edges, call->caller, call->callee)) {
        bool added;
        intern_pairs_number(&edges->functions, call->caller, 0, &added);
        intern_pairs_number(&edges->functions, call->caller, call->function, &added);
    }
}

void callgraph_see_driven(struct callgraph *edges, uint32_t driver, uint32_t callee, uint32_t tick)
{
    see(edges, driver, callee | CALLGRAPH_DRIVEN, tick);
}

void callgraph_show(struct callgraph *edges, const struct made_call *call, uint32_t tick)
{
    if (!callgraph_known(edges, call->caller, call->function | CALLGRAPH_FUNCTION))
        return;
    struct edge *edge = edge_of(edges, call->caller, call->callee, tick);
    if (edge->shown_last == tick)
        return;
    edge->shown_last = tick;
    if (edge->shown == 0 || tick - edge->shown_since > SHOWN_WITHIN) {
        edge->shown_since = tick;
        edge->shown = 0;
    }
    if (++edge->shown >= SHOWN_ENOUGH)
        edge->seen = ENOUGH;
}

void callgraph_free(struct callgraph *edges)
{
    intern_pairs_free(&edges->pairs);
    intern_pairs_free(&edges->functions);
    free(edges->edges);
    *edges = (struct callgraph){ 0 };
}
