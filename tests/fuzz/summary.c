/* SPDX-License-Identifier: MIT */
/* The payload of a SUMMARY block → tables. Sums that are taken say the same when they are written and taken again, and
 * name nothing that is not there. */
#include "formats/base/alloc.h"
#include "formats/stream/stream_summary.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* What pyreel-info relies on. */
static void check(const struct tables *tables)
{
    require(stream_summary_fits(tables));
    for (size_t i = 1; i < tables->threads_count; i++) {
        const struct thread_row *row = &tables->threads[i];
        require(row->thread.number == i && row->thread.process < tables->processes_count);
        for (size_t state = 0; state < ATTRIBUTE_STATES; state++)
            require(row->states[state].was_ns <= row->states[state].known_ns);
    }
    for (size_t i = 1; i < tables->tasks_count; i++)
        require(tables->tasks[i].thread == 0 || tables->tasks[i].thread < tables->threads_count);
}

static void check_again(const struct stream_summary *summary, const struct tables *tables)
{
    struct bytes once = { 0 }, twice = { 0 };
    struct tables again = { 0 };
    struct stream_summary taken = { .unit_ns = summary->unit_ns };
    stream_summary_put(&once, summary, tables);
    require(stream_summary_take(cursor_of(once.at, once.size), &taken, &again));
    stream_summary_put(&twice, &taken, &again);
    require(once.size == twice.size && memcmp(once.at, twice.at, once.size) == 0);
    bytes_free(&once);
    bytes_free(&twice);
    tables_free(&again);
}

FUZZ_TARGET(summary)
{
    struct tables tables = { 0 };
    struct stream_summary summary = { .unit_ns = 1000 };
    if (stream_summary_take(cursor_of(bytes, size), &summary, &tables)) {
        check(&tables);
        check_again(&summary, &tables);
    }
    tables_free(&tables);
    return 0;
}
