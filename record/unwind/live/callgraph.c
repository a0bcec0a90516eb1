/* SPDX-License-Identifier: MIT */
#include "record/unwind/live/callgraph.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define ENOUGH          3          /* ticks in which enough copies in a row must show a call until it is known, ... */
#define SHOWN_ENOUGH    8          /* ... or ticks in which a single copy must show it, ... */
#define SHOWN_WITHIN    16384      /* ... within this many ticks */
#define CALLGRAPH_LIMIT (1u << 20) /* remembered calls; at this number all are forgotten */

bool callgraph_known(const struct callgraph *callgraph, uint32_t caller, uint32_t callee)
{
    const uint32_t number = intern_pairs_find(&callgraph->pairs, caller, callee);
    return number && callgraph->edges[number - 1].seen >= ENOUGH;
}

bool callgraph_odd(const struct callgraph *callgraph, const struct made_call *call)
{
    return intern_pairs_find(&callgraph->functions, call->caller, 0) &&
           !intern_pairs_find(&callgraph->functions, call->caller, call->function);
}

static struct edge *edge_of(struct callgraph *callgraph, uint32_t caller, uint32_t callee, uint32_t tick)
{
    if (callgraph->pairs.count >= CALLGRAPH_LIMIT) {
        intern_pairs_free(&callgraph->pairs);
        intern_pairs_free(&callgraph->functions);
    }
    bool added;
    const uint32_t number = intern_pairs_number(&callgraph->pairs, caller, callee, &added);
    callgraph->edges = alloc_grow(callgraph->edges, &callgraph->room, number, sizeof(*callgraph->edges));
    if (added)
        callgraph->edges[number - 1] = (struct edge){ .seen_last = tick - 1, .shown_last = tick - 1 };
    return &callgraph->edges[number - 1];
}

static void see(struct callgraph *callgraph, uint32_t caller, uint32_t callee, uint32_t tick)
{
    struct edge *edge = edge_of(callgraph, caller, callee, tick);
    edge->seen += edge->seen < ENOUGH && edge->seen_last != tick;
    edge->seen_last = tick;
}

void callgraph_see(struct callgraph *callgraph, const struct made_call *call, uint32_t tick)
{
    see(callgraph, call->caller, call->callee, tick);
    see(callgraph, call->caller, call->function | CALLGRAPH_FUNCTION, tick);
    if (callgraph_known(callgraph, call->caller, call->callee)) {
        bool added;
        intern_pairs_number(&callgraph->functions, call->caller, 0, &added);
        intern_pairs_number(&callgraph->functions, call->caller, call->function, &added);
    }
}

void callgraph_see_driven(struct callgraph *callgraph, uint32_t driver, uint32_t callee, uint32_t tick)
{
    see(callgraph, driver, callee | CALLGRAPH_DRIVEN, tick);
}

void callgraph_show(struct callgraph *callgraph, const struct made_call *call, uint32_t tick)
{
    if (!callgraph_known(callgraph, call->caller, call->function | CALLGRAPH_FUNCTION))
        return;
    struct edge *edge = edge_of(callgraph, call->caller, call->callee, tick);
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

void callgraph_free(struct callgraph *callgraph)
{
    intern_pairs_free(&callgraph->pairs);
    intern_pairs_free(&callgraph->functions);
    free(callgraph->edges);
    *callgraph = (struct callgraph){ 0 };
}
