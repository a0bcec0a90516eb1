/* SPDX-License-Identifier: MIT */
/* Garbage collections and exceptions of a thread.
 *
 * A collection lasts as long as looks find the same <GC> on the thread's stack: the same callers below it. An exception
 * comes and goes with each try statement, so looks that are close together are one span, and the span says for how
 * long looks found an exception. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_SPANS_H
#define PYREEL_FORMATS_GECKO_MARKERS_SPANS_H

#include "formats/gecko/markers/look.h"

#define EXCEPTION_LEAST_NS 5000000
#define EXCEPTION_GAP_NS   10000000 /* no longer than this is between two looks of a span, or two intervals */

/* `= {0}`: nothing is open. */
struct spans {
    struct {
        uint32_t stack; /* ends with <GC>; 0: no collection */
        uint32_t collection, first_stack;
        uint64_t start_ns;
    } gc;
    struct {
        uint64_t start_ns, end_ns; /* end_ns: where the last look with an exception ended; 0: no exception */
        uint64_t amount_ns;
        uint32_t stack;
        bool now; /* the latest look had an exception */
    } exception;
};

/* Takes a look at a thread. */
void spans_take(struct spans *spans, const struct look *look, const struct tables *tables, struct marker_store *store);

/* Ends what is open. */
void spans_close(struct spans *spans, uint32_t thread, uint64_t ns, const struct tables *tables,
                 struct marker_store *store);

#endif
