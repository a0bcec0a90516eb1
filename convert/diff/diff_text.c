/* SPDX-License-Identifier: MIT */
#include "convert/diff/diff_output.h"

#include <math.h>

static void put_judged(struct output *to, const char *what, const struct difference *d, const struct diff_row *row, const struct judged *j)
{
    static const char *const words[] = {"~", "grew", "shrank"};
    if (!j->tested) return;
    output_format(to, "%-6s %-5s %8.3f %8.3f %5.1f %5.1f %+7.1f%% %+6.1f..%+6.1f%%  %.*s (%.*s:%u)\n", words[j->verdict], what,
      j->before/1e9, j->after/1e9, 100*difference_share(d, 0, j->before), 100*difference_share(d, 1, j->after), 100*j->growth, 100*j->low, 100*j->high,
      (int)row->name.size, row->name.bytes, (int)row->file.size, row->file.bytes, row->line);
}
void diff_text(struct output *to, const struct difference *difference)
{
    const struct judgement *g = &difference->items.judgement;
    output_format(to, "scale %.4f by_time %d tests %zu whole %.3f %.3f %+.1f%% %+.1f..%+.1f v%d\n", g->scale, g->by_time, g->tests, g->whole_before/1e9, g->whole_after/1e9,
       100*g->whole.growth, 100*g->whole.low, 100*g->whole.high, g->whole.verdict);
    for (size_t i = 0; i < difference->items.count; i++) {
        const struct diff_row *row = &difference->items.rows[i];
        put_judged(to, "self", difference, row, &row->judged.self);
        put_judged(to, "total", difference, row, &row->judged.total);
    }
}
