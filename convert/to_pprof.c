/* SPDX-License-Identifier: MIT */
/* pyreel-pprof: converts a recording for `go tool pprof`. */
#include "convert/convert.h"

#include "formats/base/alloc.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/pprof_label_names.h"
#include "formats/pprof/pprof_limits.h"
#include "formats/pprof/pprof_remedies.h"
#include "formats/pprof/pprof_status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* With more samples than this, pprof itself needs minutes and gigabytes: warn. */
#define MANY_SAMPLES 200000

enum own_option {
    OPTION_QUALIFY = OPTION_OWN,
    OPTION_LABELS,
    OPTION_NO_LABELS,
    OPTION_MIN_COUNT,
    OPTION_MAX_DEPTH,
    OPTION_NO_COMMENTS,
};

#define HELP_CONTINUES "\n                               "

static const struct argument options[] = {
    { OPTION_QUALIFY, 0, "qualify", NULL, 0, "name functions with modules: json.decoder.scan" },
    { OPTION_LABELS, 0, "labels", "LIST", 0,
      "give samples these labels only: thread,thread_id," HELP_CONTINUES
      "pid,interpreter,recording,task,task_id,status," HELP_CONTINUES "opcode,opcode_base" },
    { OPTION_NO_LABELS, 0, "no-labels", NULL, 0, "merge all threads and asyncio tasks" },
    { OPTION_MIN_COUNT, 0, "min-count", "N", 0, "merge stacks with fewer samples into <rest> (1)" },
    { OPTION_MAX_DEPTH, 0, "max-depth", "N", 0, "keep N frames of a deep stack, 3 or more (all)" },
    { OPTION_NO_COMMENTS, 0, "no-comments", NULL, 0, "write no command lines and other such comments" },
    { 0 },
};

/* Reads a number of `least` or more. */
static bool parse_number(const char *value, uint64_t least, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(value, &end, 10);
    return *value >= '0' && *value <= '9' && *end == '\0' && errno == 0 && *number >= least;
}

static bool apply(struct settings *settings, int number, const char *value)
{
    struct pprof_style *style = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_QUALIFY:
        return style->qualify = true;
    case OPTION_LABELS:
        style->chosen_labels = true;
        return pprof_label_names_parse(value, &style->labels);
    case OPTION_NO_LABELS:
        style->labels = 0;
        return style->chosen_labels = true;
    case OPTION_MIN_COUNT:
        return parse_number(value, 1, &style->min_count);
    case OPTION_MAX_DEPTH:
        return parse_number(value, PPROF_LEAST_DEPTH, &style->max_depth);
    case OPTION_NO_COMMENTS:
        return style->no_comments = true;
    }
    return false;
}

static const struct pprof_style *style_of(const struct settings *settings)
{
    return settings->wanted;
}

struct to_pprof {
    struct conversion *conversion;
    struct aggregate aggregate;
};

static void *start(struct conversion *conversion)
{
    struct to_pprof *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    if (style_of(&conversion->settings)->labels & 1u << LABEL_STATUS)
        to->aggregate.group_of = pprof_status_of;
    return to;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct to_pprof *to = self;
    if (event->kind == EVENT_SAMPLE)
        aggregate_sample(&to->aggregate, &event->sample);
    else if (event->kind == EVENT_LATE_CPU)
        aggregate_late_cpu(&to->aggregate, &event->sample);
    return true;
}

/* Warns of a profile that readers can hardly read, and names the options that help. */
static void warn_of_many_samples(const struct to_pprof *to, const struct pprof_style *style, size_t samples)
{
    struct pprof_remedy found[PPROF_REMEDIES];
    const size_t count = pprof_remedies_find(found, &to->conversion->tables, &to->aggregate, style, samples);
    fprintf(stderr,
            "pyreel-pprof: warning: the profile has %zu samples (distinct stacks with their labels), and go tool pprof "
            "will need much time and memory. Fewer with",
            samples);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s (%zu),", found[i].options, found[i].samples);
    fprintf(stderr, " --from and --to\n");
}

static bool finish(void *self, struct fault *why)
{
    (void)why;
    struct to_pprof *to = self;
    struct conversion *conversion = to->conversion;
    const struct settings *settings = &conversion->settings;
    const bool of_cpu = settings->mode == KEPT_CPU || mode_filter_named(conversion->tables.recording.mode) == KEPT_CPU;
    struct pprof_style style = *style_of(settings);
    style.detail = settings->detail;
    style.cpu_first = of_cpu;
    style.opcodes = settings->opcodes;
    style.unplaced_cpu_ns = conversion->cpu_owner.unplaced_ns;
    aggregate_sort(&to->aggregate);
    const size_t samples = pprof_write(&conversion->output, &conversion->tables, &to->aggregate, &style).samples;
    if (samples > MANY_SAMPLES && !settings->quiet)
        warn_of_many_samples(to, &style, samples);
    return true;
}

static void drop(void *self)
{
    struct to_pprof *to = self;
    aggregate_free(&to->aggregate);
    free(to);
}

/* A profile begins with a type of its values: field 1, whose field 1 comes first. */
static bool recognises(struct text head)
{
    return head.size > 2 && head.bytes[0] == 0x0A && head.bytes[2] == 0x08;
}

static const struct converter to_pprof = {
    .name = "pyreel-pprof",
    .makes = "Writes a profile for go tool pprof, with threads as labels.",
    .suffix = ".pb.gz",
    .binary = true,
    .recognises = recognises,
    .packing = PACKING_ALWAYS,
    .takes = TAKES_MODE | TAKES_SELECTION | TAKES_DETAIL | TAKES_OPCODES,
    .several = SEVERAL_MERGED,
    .options = options,
    .wanted_size = sizeof(struct pprof_style),
    .apply = apply,
    .runs = true,
    .places_cpu = true,
    .start = start,
    .take = take,
    .finish = finish,
    .drop = drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_pprof);
}
