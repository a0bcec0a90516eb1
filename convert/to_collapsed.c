/* SPDX-License-Identifier: MIT */
/* pyreel-collapsed: converts a recording to collapsed stacks, for flame graphs and text tools. */
#include "convert/sums.h"

#include "formats/base/replaced.h"
#include "formats/base/utf8.h"
#include "formats/collapsed/collapsed.h"

#include <stdio.h>
#include <string.h>

enum own_option {
    OPTION_WEIGHT = OPTION_OWN,
    OPTION_ROOTS,
    OPTION_IDS,
    OPTION_NO_THREADS,
    OPTION_SORT,
    OPTION_FULL_PATHS,
};

static const struct argument options[] = {
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0, "add up " SUM_NAMES " (samples)" },
    { OPTION_ROOTS, 0, "roots", "LIST", 0,
      "begin lines with recording,process,interpreter,\n"
      "thread,task; or with none" },
    { OPTION_IDS, 0, "ids", NULL, 0, "put numbers into root frames: MainThread (4313)" },
    { OPTION_NO_THREADS, 0, "no-threads", NULL, 0, "merge all threads and asyncio tasks" },
    { OPTION_SORT, 0, "sort", "ORDER", 0, "sort lines by stack|count (stack)" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "print file names unshortened" },
    { 0 },
};

static bool to_collapsed_apply(struct settings *settings, int number, const char *value)
{
    struct collapsed_style *style = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_WEIGHT:
        return sum_named(value, &style->weight);
    case OPTION_ROOTS:
        return collapsed_roots_named(value, &style->roots);
    case OPTION_IDS:
        return style->ids = true;
    case OPTION_NO_THREADS:
        return style->no_threads = true;
    case OPTION_SORT:
        style->by_count = strcmp(value, "count") == 0;
        return style->by_count || strcmp(value, "stack") == 0;
    case OPTION_FULL_PATHS:
        return style->full_paths = true;
    }
    return false;
}

static const struct collapsed_style *to_collapsed_style_of(const struct settings *settings)
{
    return settings->wanted;
}

/* Wall-clock time needs the status, too: a thread that is in another interpreter has its time there. */
static struct converter_plan to_collapsed_plan(const struct settings *settings)
{
    const bool counts = to_collapsed_style_of(settings)->weight == SUM_SAMPLES;
    return (struct converter_plan){ .without_status = counts, .only_counts = counts };
}

/* Warns of an output without a line, which is right if the sum of each stack is 0. */
static void warn_of_no_line(const struct sums *sums)
{
    const struct conversion *conversion = sums->conversion;
    const struct output *output = &conversion->output;
    if (sums->aggregate.count > 0 && output->written + output->used == 0)
        fprintf(stderr, "pyreel-collapsed: warning: %s is 0 in all samples of %s, so no line is written\n",
                sum_rows[to_collapsed_style_of(&conversion->settings)->weight].name,
                utf8_shown(conversion->settings.input));
}

static bool to_collapsed_finish(void *self, struct fault *why)
{
    struct sums *sums = self;
    const enum aggregate_sum weight = to_collapsed_style_of(&sums->conversion->settings)->weight;
    if (!sums_know(sums, weight, why))
        return false;
    sums_warn_of_unknown(sums, weight);
    struct conversion *conversion = sums->conversion;
    struct collapsed_style style = *to_collapsed_style_of(&conversion->settings);
    style.detail = conversion->settings.detail;
    style.opcodes = conversion->settings.opcodes;
    style.filter = conversion->settings.frames;
    aggregate_sort(&sums->aggregate);
    if (!collapsed_write(&conversion->output, &conversion->tables, &sums->aggregate, &style))
        return convert_nothing_left(conversion, why);
    warn_of_no_line(sums);
    return true;
}

/* A line ends in a blank and a count. A first line that is longer than the head has frames. */
static bool to_collapsed_recognises(struct text head)
{
    const char *end = memchr(head.bytes, '\n', head.size);
    if (!end && head.size == REPLACED_HEAD)
        return memchr(head.bytes, ';', head.size);
    const char *count = end ? end : head.bytes + head.size, *last = count;
    while (count > head.bytes && count[-1] >= '0' && count[-1] <= '9')
        count--;
    return count < last && count > head.bytes && count[-1] == ' ';
}

static const struct converter to_collapsed = {
    .name = "pyreel-collapsed",
    .makes = "Writes collapsed stacks, one per line: root;...;leaf COUNT.",
    .takes = TAKES_MODE | TAKES_SELECTION | TAKES_DETAIL | TAKES_COLUMNS | TAKES_OPCODES | TAKES_NO_IDLE |
             TAKES_FRAMES | TAKES_FOCUS,
    .options.rows = options,
    .options.size = sizeof(struct collapsed_style),
    .options.apply = to_collapsed_apply,
    .file.recognises = to_collapsed_recognises,
    .plan = to_collapsed_plan,
    .events.runs = true,
    .events.places_cpu = true,
    .events.take = sums_take,
    .start = sums_start,
    .finish = to_collapsed_finish,
    .drop = sums_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_collapsed);
}
