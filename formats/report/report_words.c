/* SPDX-License-Identifier: MIT */
/* Amounts and sentences that text and Markdown have in common. */
#include "formats/report/report_text.h"

#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void put(struct bytes *to, const char *format, ...)
{
    char room[64];
    va_list values;
    va_start(values, format);
    const int size = vsnprintf(room, sizeof(room), format, values);
    va_end(values);
    if (size > 0)
        put_bytes(to, room, (size_t)size < sizeof(room) ? (size_t)size : sizeof(room) - 1);
}

const char *report_unit(const struct report *report)
{
    return report->weight == SUM_SAMPLES ? "" : " s";
}

void report_put_amount(struct bytes *to, const struct report *report, uint64_t amount)
{
    if (report->weight == SUM_SAMPLES)
        put(to, "%" PRIu64, amount);
    else
        put(to, "%.3f", (double)amount / 1e9);
}

void report_put_percent(struct bytes *to, uint64_t amount, uint64_t whole)
{
    if (whole)
        put(to, "%.1f", 100 * (double)amount / (double)whole);
    else
        put(to, "-");
}

void report_put_quiet(struct bytes *to, const struct report *report, const struct report_group *group, bool ascii)
{
    const double wall_s = (double)group->from->sums[SUM_WALL_NS] / 1e9;
    put_printable(to, group->name, ascii);
    if (group->waited >= 0.5) {
        put(to, " waited %.0f %% of %.1f s", group->waited * 100 - (group->waited < 1 ? 0.5 : 0), wall_s);
        return;
    }
    put(to, " used ");
    report_put_amount(to, report, group->sum);
    put(to, "%s of %.1f s", report_unit(report), wall_s);
}

size_t report_count_quiet(const struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->groups_count && report->names_quiet; i++)
        count += report->groups[i].quiet;
    return count;
}
