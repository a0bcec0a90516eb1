/* SPDX-License-Identifier: MIT */
/* Amounts and sentences that text and Markdown have in common. */
#include "formats/report/report_text.h"

#include "formats/terminal/printable.h"

#include <inttypes.h>

const char *report_unit(const struct report *report)
{
    return report->weight == SUM_SAMPLES ? "" : " s";
}

void report_put_amount(struct bytes *to, const struct report *report, uint64_t amount)
{
    if (report->weight == SUM_SAMPLES)
        put_format(to, "%" PRIu64, amount);
    else
        put_format(to, "%.3f", (double)amount / 1e9);
}

void report_put_percent(struct bytes *to, uint64_t amount, uint64_t whole)
{
    if (whole)
        put_format(to, "%.1f", 100 * (double)amount / (double)whole);
    else
        put_format(to, "-");
}

void report_put_quiet(struct bytes *to, const struct report *report, const struct report_group *group, bool ascii)
{
    const double wall_s = (double)group->from->sums[SUM_WALL_NS] / 1e9;
    put_printable(to, group->name, ascii);
    if (group->waited >= 0.5) {
        put_format(to, " waited %.0f %% of %.1f s", group->waited * 100 - (group->waited < 1 ? 0.5 : 0), wall_s);
        return;
    }
    /* Whether the group waited may not be known, and the weight may be of any kind. */
    put_format(to, " had ");
    report_put_amount(to, report, group->sum);
    put_format(to, "%s of ", report_unit(report));
    report_put_amount(to, report, report->whole);
    put_format(to, "%s", report_unit(report));
}

size_t report_count_quiet(const struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report->groups_count && report->names_quiet; i++)
        count += report->groups[i].quiet;
    return count;
}
