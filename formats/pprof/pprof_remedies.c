/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_remedies.h"

static const struct {
    const char *options;
    bool no_labels, functions;
    uint64_t min_count;
} remedies[PPROF_REMEDIES] = {
    { "--no-labels", true, false, 0 },
    { "--functions", false, true, 0 },
    { "--no-labels --functions", true, true, 0 },
    { "--min-count 2", false, false, 2 },
};

static struct pprof_style with_remedy(const struct pprof_style *style, size_t remedy)
{
    struct pprof_style changed = *style;
    if (remedies[remedy].no_labels) {
        changed.chosen_labels = true;
        changed.labels = 0;
    }
    if (remedies[remedy].functions)
        changed.detail = DETAIL_FUNCTIONS;
    if (remedies[remedy].min_count > changed.min_count)
        changed.min_count = remedies[remedy].min_count;
    return changed;
}

/* Whether an option before these options makes the profile as small. */
static bool pprof_remedies_is_known(const struct pprof_remedy *found, size_t count, size_t samples)
{
    for (size_t i = 0; i < count; i++)
        if (found[i].samples == samples)
            return true;
    return false;
}

size_t pprof_remedies_find(struct pprof_remedy *found, const struct tables *tables, const struct aggregate *aggregate,
                           const struct pprof_style *style, size_t samples)
{
    size_t count = 0;
    for (size_t i = 0; i < PPROF_REMEDIES; i++) {
        const struct pprof_style changed = with_remedy(style, i);
        const size_t fewer = pprof_count(tables, aggregate, &changed);
        if (fewer < samples && !pprof_remedies_is_known(found, count, fewer))
            found[count++] = (struct pprof_remedy){ remedies[i].options, fewer };
    }
    return count;
}
