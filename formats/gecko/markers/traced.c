/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/traced.h"

void traced_close(struct traced *traced, uint32_t thread, uint64_t ns, struct marker_store *store)
{
    const uint64_t end_ns = ns > traced->start_ns ? ns : traced->start_ns;
    const struct marker marker = { .kind = MARKER_SPAN,
                                   .thread = thread,
                                   .start_ns = traced->start_ns,
                                   .end_ns = end_ns,
                                   .weight = end_ns - traced->start_ns,
                                   .span = traced->span };
    if (span_ids_some(traced->span))
        marker_store_add(store, &marker);
    *traced = (struct traced){ 0 };
}

void traced_take(struct traced *traced, const struct look *look, struct marker_store *store)
{
    const struct span_ids span = look->run->span;
    if (look->after && span_ids_equal(span, traced->span))
        return;
    traced_close(traced, look->thread, look->since_ns, store);
    *traced = (struct traced){ span, look->ns };
}
