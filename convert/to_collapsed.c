/* SPDX-License-Identifier: MIT */
/* pyreel-collapsed: converts a recording to collapsed stacks, for flame graphs and text tools. */
#include "convert/sums.h"

#include "formats/base/replaced.h"
#include "formats/base/utf8.h"
#include "formats/collapsed/collapsed.h"
#include "formats/frames/waiting.h"
#include "formats/frames/weight_choice.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum own_option {
    OPTION_WEIGHT = OPTION_OWN,
    OPTION_ROOTS,
    OPTION_IDS,
    OPTION_NO_THREADS,
    OPTION_SORT,
    OPTION_FULL_PATHS,
};

static const struct argument options[] = {
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0,
      "add up " SUM_NAMES " (cpu, where\n"
      "it is known)" },
    { OPTION_ROOTS, 0, "roots", "LIST", 0,
      "begin lines with recording,process,interpreter,\n"
      "thread,task; or with none" },
    { OPTION_IDS, 0, "ids", NULL, 0, "put numbers into root frames: MainThread (4313)" },
    { OPTION_NO_THREADS, 0, "no-threads", NULL, 0, "merge all threads and asyncio tasks" },
    { OPTION_SORT, 0, "sort", "ORDER", 0, "sort lines by stack|count (stack)" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "print file names unshortened" },
    { 0 },
};

/* The values of this program's own options. */
struct collapsed_wanted {
    struct collapsed_style style;
    bool weighted; /* style.weight was asked for */
};

static bool to_collapsed_apply(struct settings *settings, int number, const char *value)
{
    struct collapsed_wanted *wanted = settings->wanted;
    struct collapsed_style *style = &wanted->style;
    switch ((enum own_option)number) {
    case OPTION_WEIGHT:
        return wanted->weighted = sum_named(value, &style->weight);
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

/* Wall-clock time needs the status, too: a thread that is in another interpreter has its time there. */
static struct converter_plan to_collapsed_plan(const struct settings *settings)
{
    const struct collapsed_wanted *wanted = settings->wanted;
    const bool counts = wanted->weighted && wanted->style.weight == SUM_SAMPLES;
    return (struct converter_plan){ .without_status = counts, .only_counts = counts };
}

static void *to_collapsed_start(struct conversion *conversion)
{
    const struct collapsed_wanted *wanted = conversion->settings.wanted;
    struct sums *sums = sums_start(conversion);
    if (!wanted->weighted)
        sums->aggregate.group_of = waiting_group;
    return sums;
}

/* Tells a person what the numbers are, where they are not the usual ones. */
static void tell_of_choice(const struct sums *sums, const struct weight_choice *choice)
{
    const struct settings *settings = &sums->conversion->settings;
    const bool wanted = !settings->quiet && (settings->verbose || isatty(STDERR_FILENO));
    if (!wanted || sums->aggregate.samples == 0 || choice->weight == SUM_CPU_NS)
        return;
    if (choice->weight == SUM_SAMPLES)
        fprintf(stderr, "pyreel-collapsed: the lines count samples, which stand for no time in this recording\n");
    else
        fprintf(stderr, "pyreel-collapsed: the lines have microseconds of %s, because %s%s\n",
                weight_choice_label(choice), choice->reason,
                choice->without_waits ? "; --weight wall has waits, too" : "");
}

/* The numbers are those of a report without options. */
static enum aggregate_sum to_collapsed_choose_weight(struct sums *sums)
{
    struct aggregate *aggregate = &sums->aggregate;
    const struct weight_choice choice = weight_choose(aggregate);
    tell_of_choice(sums, &choice);
    if (choice.without_waits)
        aggregate->count = weight_take_busy(aggregate, aggregate->rows);
    return choice.weight;
}

/* Warns of an output without a line, which is right if the sum of each stack is 0. */
static void warn_of_no_line(const struct sums *sums, enum aggregate_sum weight)
{
    const struct conversion *conversion = sums->conversion;
    const struct output *output = &conversion->output;
    if (sums->aggregate.count > 0 && output->written + output->used == 0)
        fprintf(stderr, "pyreel-collapsed: warning: %s is 0 in all samples of %s, so no line is written\n",
                sum_rows[weight].name, utf8_shown(conversion->settings.input));
}

static bool to_collapsed_finish(void *self, struct fault *why)
{
    struct sums *sums = self;
    struct conversion *conversion = sums->conversion;
    const struct collapsed_wanted *wanted = conversion->settings.wanted;
    struct collapsed_style style = wanted->style;
    style.detail = conversion->settings.detail;
    style.opcodes = conversion->settings.opcodes;
    style.filter = conversion->settings.frames;
    aggregate_sort(&sums->aggregate);
    if (wanted->weighted && !sums_know(sums, style.weight, why))
        return false;
    if (wanted->weighted)
        sums_warn_of_unknown(sums, style.weight);
    else
        style.weight = to_collapsed_choose_weight(sums);
    if (!collapsed_write(&conversion->output, &conversion->tables, &sums->aggregate, &style))
        return convert_nothing_left(conversion, why);
    warn_of_no_line(sums, style.weight);
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
    .makes = "Writes collapsed stacks, one per line: root;...;leaf MICROSECONDS.",
    .takes = TAKES_DEBUG_INFO | TAKES_MODE | TAKES_SELECTION | TAKES_DETAIL | TAKES_COLUMNS | TAKES_OPCODES |
             TAKES_NO_IDLE | TAKES_FRAMES | TAKES_FOCUS,
    .options.rows = options,
    .options.size = sizeof(struct collapsed_wanted),
    .options.apply = to_collapsed_apply,
    .file.recognises = to_collapsed_recognises,
    .plan = to_collapsed_plan,
    .events.runs = true,
    .events.places_cpu = true,
    .events.take = sums_take,
    .start = to_collapsed_start,
    .finish = to_collapsed_finish,
    .drop = sums_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_collapsed);
}
