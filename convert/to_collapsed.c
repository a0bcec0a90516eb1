/* SPDX-License-Identifier: MIT */
/* pyreel-collapsed: converts a recording to collapsed stacks, for flame graphs and text tools. */
#include "convert/convert.h"

#include "formats/base/alloc.h"
#include "formats/collapsed/collapsed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum own_option { OPTION_WEIGHT = OPTION_OWN, OPTION_NO_THREADS, OPTION_FULL_PATHS };

static const struct argument options[] = {
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0, "count samples, or us of wall|cpu|gil|gil_wait" },
    { OPTION_NO_THREADS, 0, "no-threads", NULL, 0, "merge all threads and asyncio tasks" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "print file names unshortened" },
    { 0 },
};

static bool apply(struct settings *settings, int number, const char *value)
{
    struct collapsed_style *style = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_WEIGHT:
        return collapsed_weight_named(value, &style->weight);
    case OPTION_NO_THREADS:
        return style->no_threads = true;
    case OPTION_FULL_PATHS:
        return style->full_paths = true;
    }
    return false;
}

static const struct collapsed_style *style_of(const struct settings *settings)
{
    return settings->wanted;
}

struct to_collapsed {
    struct conversion *conversion;
    struct aggregate aggregate;
};

/* Wall-clock time needs the status, too: a thread that is in another interpreter has its time there. */
static bool needs_status(const struct settings *settings)
{
    return style_of(settings)->weight != WEIGHT_SAMPLES;
}

static bool only_counts(const struct settings *settings)
{
    return style_of(settings)->weight == WEIGHT_SAMPLES;
}

static void *start(struct conversion *conversion)
{
    struct to_collapsed *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    return to;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct to_collapsed *to = self;
    if (event->kind == EVENT_SAMPLE)
        aggregate_sample(&to->aggregate, &event->sample);
    else if (event->kind == EVENT_LATE_CPU)
        aggregate_late_cpu(&to->aggregate, &event->sample);
    return true;
}

/* Whether the recording has the values that --weight sums up. */
static bool check_weight(const struct to_collapsed *to, struct fault *why)
{
    const struct settings *settings = &to->conversion->settings;
    const struct aggregate *aggregate = &to->aggregate;
    const enum aggregate_sum sum = collapsed_weight_sum(style_of(settings)->weight);
    if (aggregate->samples > 0 && !aggregate_knows(aggregate, sum))
        return fault(why, "--weight %s cannot be applied to %s: %s", collapsed_weight_name(style_of(settings)->weight),
                     settings->input, aggregate_reason(sum));
    if (sum == SUM_CPU_NS && aggregate->known[SUM_CPU_NS] < aggregate->samples)
        fprintf(stderr,
                "pyreel-collapsed: warning: the CPU time of %" PRIu64 " of %" PRIu64
                " samples is unknown and counts as 0\n",
                aggregate->samples - aggregate->known[SUM_CPU_NS], aggregate->samples);
    return true;
}

static bool finish(void *self, struct fault *why)
{
    struct to_collapsed *to = self;
    if (!check_weight(to, why))
        return false;
    struct conversion *conversion = to->conversion;
    struct collapsed_style style = *style_of(&conversion->settings);
    style.detail = conversion->settings.detail;
    style.opcodes = conversion->settings.opcodes;
    aggregate_sort(&to->aggregate);
    collapsed_write(&conversion->output, &conversion->tables, &to->aggregate, &style);
    return true;
}

static void drop(void *self)
{
    struct to_collapsed *to = self;
    aggregate_free(&to->aggregate);
    free(to);
}

static const struct converter to_collapsed = {
    .name = "pyreel-collapsed",
    .makes = "Writes collapsed stacks, one per line: root;...;leaf COUNT.",
    .suffix = NULL,
    .binary = false,
    .packing = PACKING_NEVER,
    .takes = TAKES_MODE | TAKES_SELECTION | TAKES_DETAIL | TAKES_OPCODES,
    .several = SEVERAL_MERGED,
    .options = options,
    .wanted_size = sizeof(struct collapsed_style),
    .apply = apply,
    .runs = true,
    .places_cpu = true,
    .needs_status = needs_status,
    .only_counts = only_counts,
    .start = start,
    .take = take,
    .finish = finish,
    .drop = drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_collapsed);
}
