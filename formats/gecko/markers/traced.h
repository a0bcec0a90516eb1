/* SPDX-License-Identifier: MIT */
/* On which span of OpenTelemetry a thread works. A marker lasts from the first look that finds the span to the next one
 * that does not, so a span to which the thread comes back has several. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_TRACED_H
#define PYREEL_FORMATS_GECKO_MARKERS_TRACED_H

#include "formats/gecko/markers/look.h"

/* `= {0}`: the thread works on none. */
struct traced {
    struct span_ids span; /* all 0: none */
    uint64_t start_ns;
};

/* Takes a look at a thread. */
void traced_take(struct traced *traced, const struct look *look, struct marker_store *store);

/* Ends the span at a time. */
void traced_close(struct traced *traced, uint32_t thread, uint64_t ns, struct marker_store *store);

#endif
