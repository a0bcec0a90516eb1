/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/spans.h"

#include "formats/model/attribute.h"

/* ---- collections ---- */

static void close_gc(struct spans *spans, uint32_t thread, uint64_t ns, const struct tables *tables,
                     struct marker_store *store)
{
    if (!spans->gc.stack)
        return;
    const uint32_t caller = tables->stacks[spans->gc.stack].caller;
    const uint64_t end_ns = ns > spans->gc.start_ns ? ns : spans->gc.start_ns;
    const struct marker marker = { .kind = MARKER_GC,
                                   .thread = thread,
                                   .start_ns = spans->gc.start_ns,
                                   .end_ns = end_ns,
                                   .weight = end_ns - spans->gc.start_ns,
                                   .stack = spans->gc.first_stack,
                                   .function = look_leaf(tables, caller),
                                   .count = spans->gc.collection };
    marker_store_add(store, &marker);
    spans->gc.stack = 0;
}

static void take_gc(struct spans *spans, const struct look *look, const struct tables *tables,
                    struct marker_store *store)
{
    const uint32_t stack = look->fact->gc;
    if (spans->gc.stack && (spans->gc.stack != stack || !look->after))
        close_gc(spans, look->thread, look->since_ns, tables, store);
    if (!stack)
        return;
    if (!spans->gc.stack) {
        spans->gc.start_ns = look->ns;
        spans->gc.first_stack = look->run->stack;
    }
    spans->gc.stack = stack;
    spans->gc.collection = look->run->collection;
}

/* ---- exceptions ---- */

static void close_exception(struct spans *spans, uint32_t thread, struct marker_store *store)
{
    const uint64_t lasted_ns = spans->exception.end_ns - spans->exception.start_ns;
    const struct marker marker = { .kind = MARKER_EXCEPTION,
                                   .thread = thread,
                                   .start_ns = spans->exception.start_ns,
                                   .end_ns = spans->exception.end_ns,
                                   .weight = lasted_ns,
                                   .amount_ns = spans->exception.amount_ns,
                                   .stack = spans->exception.stack };
    if (spans->exception.end_ns == 0)
        return;
    if (lasted_ns >= EXCEPTION_LEAST_NS)
        marker_store_add(store, &marker);
    else
        marker_store_leave_out(store, MARKER_EXCEPTION, lasted_ns);
    spans->exception.end_ns = 0;
}

/* Moves the end of the span to where the look before ended, now that this is known. */
static void spans_end_look(struct spans *spans, const struct look *look)
{
    if (!spans->exception.now)
        return;
    spans->exception.amount_ns += look->since_ns > spans->exception.end_ns ? look->since_ns - spans->exception.end_ns
                                                                           : 0;
    if (look->since_ns > spans->exception.end_ns)
        spans->exception.end_ns = look->since_ns;
}

static void take_exception(struct spans *spans, const struct look *look, struct marker_store *store)
{
    const uint64_t gap_ns = 2 * look->width_ns > EXCEPTION_GAP_NS ? 2 * look->width_ns : EXCEPTION_GAP_NS;
    const bool is = attribute_is(look->run->status, ATTRIBUTE_EXCEPTION);
    spans_end_look(spans, look);
    if (spans->exception.end_ns && (!look->after || look->ns - spans->exception.end_ns > gap_ns))
        close_exception(spans, look->thread, store);
    spans->exception.now = is;
    if (!is)
        return;
    if (spans->exception.end_ns == 0) {
        spans->exception.start_ns = look->ns;
        spans->exception.stack = look->run->stack;
        spans->exception.amount_ns = 0;
    }
    spans->exception.end_ns = look->ns;
}

/* ---- both ---- */

void spans_take(struct spans *spans, const struct look *look, const struct tables *tables, struct marker_store *store)
{
    take_gc(spans, look, tables, store);
    take_exception(spans, look, store);
}

void spans_close(struct spans *spans, uint32_t thread, uint64_t ns, const struct tables *tables,
                 struct marker_store *store)
{
    close_gc(spans, thread, ns, tables, store);
    if (spans->exception.now && ns > spans->exception.end_ns) {
        spans->exception.amount_ns += ns - spans->exception.end_ns;
        spans->exception.end_ns = ns;
    }
    close_exception(spans, thread, store);
}
